"""A successful answer, ready to be put in any dialect's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crucible.llm.loopback.script import Calls, Counts, Text

PIECES = 3
"""Into how many pieces a stream cuts texts and arguments, so that a client has to join them."""


@dataclass(frozen=True, slots=True)
class SaidCall:
    """One call: its id ("" or None when it has none), name, arguments as text, and the namespace of its tool."""

    id: str | None
    name: str
    arguments: str
    namespace: str | None = None

    @property
    def object(self) -> dict[str, Any]:
        """The arguments as an object; those that are none under the key `malformed`, for dialects that send objects."""
        try:
            parsed = json.loads(self.arguments)
        except ValueError:
            parsed = None
        return parsed if isinstance(parsed, dict) else {"malformed": self.arguments}


@dataclass(frozen=True, slots=True)
class Said:
    """What the model says. `number` is unique over the server's life; `finish_reason` is in chat's words."""

    number: int
    model: str
    text: str | None
    calls: tuple[SaidCall, ...]
    usage: Counts | None
    finish_reason: str


SSE = tuple[str | None, dict[str, Any] | str]
"""A server-sent event: its name, and its data."""


def said(answer: Text | Calls, model: str, number: int) -> Said:
    """An answer with the ids of its calls."""
    if isinstance(answer, Text):
        return Said(number, model, answer.text, (), answer.usage, answer.finish_reason)
    ids = answer.ids if answer.ids is not None else [f"call_{number}_{n}" for n in range(1, len(answer.calls) + 1)]
    calls = tuple(
        SaidCall(call_id, name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for call_id, (name, arguments) in zip(ids, answer.calls, strict=True)
    )
    return Said(number, model, answer.text, calls, answer.usage, "tool_calls")


def pieces(text: str) -> Iterator[str]:
    """The text in about PIECES pieces; none when it is empty."""
    step = max(1, -(-len(text) // PIECES))
    return (text[at : at + step] for at in range(0, len(text), step))


def encoded(event: SSE) -> bytes:
    """The bytes of an event."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
