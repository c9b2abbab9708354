"""Answers as Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crucible.llm.loopback.said import SSE, Said, SaidCall, pieces
from crucible.llm.loopback.script import Counts, known

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def body(said: Said) -> dict[str, Any]:
    """The body of a message."""
    text = [{"type": "text", "text": said.text}] if said.text else []
    calls = [_call(call) | {"input": call.object} for call in said.calls]
    reason = _REASONS.get(said.finish_reason, said.finish_reason)
    return _message(said) | {"content": [*text, *calls], "stop_reason": reason} | _usage(said.usage)


def events(said: Said, _request: dict[str, Any]) -> Iterator[SSE]:
    """The events of a stream. What is known of the output at its start is a first guess, as the provider's is."""
    counts = said.usage
    first = (
        None
        if counts is None
        else Counts(counts.prompt_tokens, 1, counts.cached_tokens, None, counts.cache_write_tokens)
    )
    yield _event("message_start", message=_message(said) | _usage(first))
    blocks: list[str | SaidCall] = [*(["text"] if said.text else []), *said.calls]
    for index, block in enumerate(blocks):
        yield from _block(index, said.text or "", block)
    delta = {"stop_reason": _REASONS.get(said.finish_reason, said.finish_reason), "stop_sequence": None}
    yield _event("message_delta", delta=delta, **_usage(counts))
    yield _event("message_stop")


def _block(index: int, text: str, block: str | SaidCall) -> Iterator[SSE]:
    if isinstance(block, SaidCall):
        start = _call(block) | {"input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(block.arguments)]
    else:
        start = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text)]
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(name: str, **data: Any) -> SSE:
    return name, {"type": name, **data}


def _message(said: Said) -> dict[str, Any]:
    return {
        "id": f"msg_{said.number}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _call(call: SaidCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id or "", "name": call.name}


def _usage(counts: Counts | None) -> dict[str, Any]:
    if counts is None:
        return {}
    cached, written = counts.cached_tokens, counts.cache_write_tokens
    rest = counts.prompt_tokens - (cached or 0) - (written or 0)
    return {
        "usage": {
            "input_tokens": rest,
            **known(cache_read_input_tokens=cached, cache_creation_input_tokens=written),
            "output_tokens": counts.completion_tokens,
        }
    }
