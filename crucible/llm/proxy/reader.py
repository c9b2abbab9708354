"""A reply, read beside being passed on: what every dialect's reader gathers. Nothing in a reply makes a reader fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

from crucible.llm.proxy.stream import Event
from crucible.llm.usage import json_safe, read_usage
from crucible.redaction import redact
from crucible.transcript.messages import ToolCall, Usage

_USUAL = frozenset(("", "standard", "default", "auto"))


@dataclass(slots=True)
class CallParts:
    """A tool call while its parts come in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self) -> ToolCall:
        """The call; without arguments its text is empty."""
        return ToolCall(storable(self.id), storable(self.name), storable("".join(self.arguments)))


class ReplyReader(ABC):
    """Gathers one reply from its body (`whole`) or its events (`event`).

    `finished`: nothing that counts can follow. `unpriced`: something in it is billed by other than tokens.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: dict[Any, CallParts] = {}
        self.said: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self.model: str | None = None
        self.error: str | None = None
        self.finished = False
        self.unpriced = False

    @abstractmethod
    def whole(self, body: dict[str, Any]) -> None:
        """Read the body of a reply that is not streamed."""

    @abstractmethod
    def part(self, data: dict[str, Any]) -> None:
        """Read the JSON of one event."""

    @abstractmethod
    def counted(self) -> dict[str, Any]:
        """The provider's count in `said`, in the words of the chat dialect; a count that may still grow is left out."""

    def event(self, event: Event) -> None:
        """Read one event of a stream."""
        if event.done:
            self.finished = True
        elif event.data is not None:
            self.part(event.data)

    @property
    def text(self) -> str:
        """The text so far, without thinking."""
        return storable("".join(self.texts))

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in order."""
        return tuple(call.whole() for call in self.calls.values())

    def usage(self) -> Usage:
        """The provider's count, without a cost."""
        read = read_usage(json_safe(self.counted()), answered=bool(self.text or self.calls))
        return replace(read, raw=json_safe(self.said))

    def tier(self, said: dict[str, Any]) -> None:
        """Read how a reply was served: any but the usual way costs more or less than the price list says."""
        served = {string(said.get("service_tier")), string(said.get("speed"))}
        self.unpriced = self.unpriced or not served <= _USUAL

    def refused(self, error: Any) -> None:
        """Keep the words of an error."""
        message = obj(error).get("message") if isinstance(error, dict) else error
        self.error = storable(message if isinstance(message, str) and message else "an error without words")


def obj(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """The objects in the value, if it is a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def plus(*counts: Any) -> int | None:
    """The sum of those that are counts; None when none is."""
    known = [one for one in counts if isinstance(one, int) and not isinstance(one, bool)]
    return sum(known) if known else None


def storable(text: str) -> str:
    """The text without keys, and without lone surrogates, which nothing can store."""
    return redact(text).encode("utf-8", "replace").decode("utf-8")
