"""Answers as Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crucible.llm.loopback.said import SSE, Said, pieces
from crucible.llm.loopback.script import Counts, known

_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"}


def body(said: Said) -> dict[str, Any]:
    """The body of a response."""
    text = [{"text": said.text}] if said.text else []
    return _response(said, [*text, *_calls(said)], _REASONS.get(said.finish_reason, said.finish_reason))


def events(said: Said, _request: dict[str, Any]) -> Iterator[SSE]:
    """The responses of a stream, which add up; the last one has the count."""
    for piece in pieces(said.text or ""):
        yield None, _response(said, [{"text": piece}])
    yield None, _response(said, _calls(said), _REASONS.get(said.finish_reason, said.finish_reason))


def _calls(said: Said) -> list[dict[str, Any]]:
    return [{"functionCall": {"id": call.id, "name": call.name, "args": call.object}} for call in said.calls]


def _response(said: Said, parts: list[dict[str, Any]], finished: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    whole = {"candidates": [candidate], "modelVersion": said.model, "responseId": f"gemini-{said.number}"}
    if finished is None:
        return whole
    candidate["finishReason"] = finished
    return whole | ({} if said.usage is None else {"usageMetadata": _usage(said.usage)})


def _usage(counts: Counts) -> dict[str, Any]:
    # The provider counts thoughts beside the candidates, not among them.
    return {
        "promptTokenCount": counts.prompt_tokens,
        "candidatesTokenCount": counts.completion_tokens - (counts.reasoning_tokens or 0),
        "totalTokenCount": counts.prompt_tokens + counts.completion_tokens,
        **known(cachedContentTokenCount=counts.cached_tokens, thoughtsTokenCount=counts.reasoning_tokens),
    }
