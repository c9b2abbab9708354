"""What tools answered, as an agent told its model: for transcripts that leave results out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from crucible.llm.proxy import Asked
from crucible.transcript.readers.values import content, mapping, objects, text


def answers_on_the_wire(requests: Iterable[Asked]) -> dict[str, str]:
    """The text of each call's result by its id, as it was first sent to the model."""
    found: dict[str, str] = {}
    for asked in requests:
        for call_id, result in _results(asked):
            if isinstance(call_id, str) and call_id:
                found.setdefault(call_id, result if isinstance(result, str) else json.dumps(result, default=str))
    return found


def _results(asked: Asked) -> Iterator[tuple[Any, Any]]:
    """Call id and result of every answer in a request."""
    readers = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}
    return readers[asked.dialect](asked.body)


def _anthropic(body: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    blocks = (block for message in objects(body.get("messages")) for block in objects(message.get("content")))
    return ((b.get("tool_use_id"), content(b.get("content"))) for b in blocks if b.get("type") == "tool_result")


def _chat(body: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    messages = (message for message in objects(body.get("messages")) if message.get("role") == "tool")
    return ((message.get("tool_call_id"), content(message.get("content"))) for message in messages)


def _responses(body: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    items = (item for item in objects(body.get("input")) if (text(item.get("type")) or "").endswith("_call_output"))
    return ((item.get("call_id"), content(item.get("output"))) for item in items)


def _gemini(body: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    parts = (part for message in objects(body.get("contents")) for part in objects(message.get("parts")))
    for answer in (mapping(part.get("functionResponse")) for part in parts):
        response = mapping(answer.get("response"))
        yield answer.get("id"), response.get("output", response)
