"""Answers as OpenAI chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crucible.llm.loopback.said import SSE, Said, SaidCall, pieces


def body(said: Said) -> dict[str, Any]:
    """The body of a completion."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.calls:
        message["tool_calls"] = [_call(call) for call in said.calls]
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    return _frame(said, "chat.completion") | {"choices": [choice]} | _usage(said)


def events(said: Said, request: dict[str, Any]) -> Iterator[SSE]:
    """The chunks of a stream; the count comes in one of its own, to those who ask for it."""
    options = request.get("stream_options")
    yield _chunk(said, {"role": "assistant", "content": ""})
    for piece in pieces(said.text or ""):
        yield _chunk(said, {"content": piece})
    for at, call in enumerate(said.calls):
        yield _chunk(said, {"tool_calls": [{"index": at, **_call(SaidCall(call.id, call.name, ""))}]})
        for piece in pieces(call.arguments):
            yield _chunk(said, {"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield _chunk(said, {}, said.finish_reason)
    if isinstance(options, dict) and options.get("include_usage") and said.usage is not None:
        yield None, _frame(said, "chat.completion.chunk") | {"choices": []} | _usage(said)
    yield None, "[DONE]"


def _chunk(said: Said, delta: dict[str, Any], finish_reason: str | None = None) -> SSE:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return None, _frame(said, "chat.completion.chunk") | {"choices": [choice]}


def _frame(said: Said, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{said.number}", "object": kind, "created": 0, "model": said.model}


def _usage(said: Said) -> dict[str, Any]:
    return {} if said.usage is None else {"usage": said.usage.as_json()}


def _call(call: SaidCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
