"""Events of an attempt on their way to the store: kept a turn, then written; and the counts they add up to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from pydantic_core import PydanticSerializationError

from crucible.agents.calls import DEEPEST, is_deeper
from crucible.store.tables import EventRow, FirstRequestRow
from crucible.store.writes import Store
from crucible.transcript.events import CALLS_UNKNOWN, Answered, Decided, Equipped, Event, Noted, Replied, Started
from crucible.transcript.opening import as_text, complete

Progress = Callable[[int, Event, str], None]
MOST_KEPT = 64
SECONDS_KEPT = 1.0
_TOO_DEEP = "[nested too deeply]"


@dataclass
class Recorder:
    """Takes events in order and writes them with the next reply, or when a second has passed.

    A process that is killed loses no reply, which was paid for: the next event may be minutes away.

    `surroundings` is what the runner knows of the opening, which the agent cannot.
    """

    store: Store
    attempt_id: int
    progress: Progress | None = None
    label: str = ""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    _written: int = 0
    _flushed_at: float = float("-inf")

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Started) and event.opening is not None:
            event = complete(event, self.surroundings)
            self.store.ensure(FirstRequestRow(sha256=event.first_request_sha256, data=as_text(event.opening or {})))
        self.events.append(event)
        if self.progress is not None:
            self.progress(self.attempt_id, event, self.label)
        if isinstance(event, Replied) or self._is_due():
            self.flush()

    def _is_due(self) -> bool:
        return len(self.events) - self._written >= MOST_KEPT or monotonic() - self._flushed_at >= SECONDS_KEPT

    def flush(self) -> None:
        """Write the events not yet written."""
        self._flushed_at = monotonic()
        self.store.add_events(self.take())

    def take(self) -> list[EventRow]:
        """Rows of the events not yet written; the caller writes them."""
        rows = [_row(self.attempt_id, seq, e) for seq, e in enumerate(self.events[self._written :], self._written)]
        self._written = len(self.events)
        return rows

    @property
    def bringing_seconds(self) -> float:
        """What starting the arm's tool servers or its agent took, which is not the attempt's time."""
        return sum(e.seconds for e in self.events if isinstance(e, Equipped))

    @property
    def waited_seconds(self) -> float:
        """What went on a provider's retries, and once on loading its library: the first attempt's arm must not pay for it."""
        return sum(e.waited_seconds for e in self.events if isinstance(e, Replied))


def totals_of(events: Sequence[Event]) -> dict[str, Any]:
    """Columns of the attempt row that are sums over its events; None where a part is unknown."""
    replies = [e for e in events if isinstance(e, Replied)]
    decided = [e for e in events if isinstance(e, Decided)]
    sums: dict[str, Any] = {
        name: _sum([getattr(e, name) for e in replies])
        for name in ("input_uncached", "input_cached", "cache_write", "output", "reasoning", "cost_usd")
    }
    equipped = [e for e in events if isinstance(e, Equipped)]
    brought = {"servers": equipped[-1].servers, "agent": equipped[-1].agent} if equipped else {}
    return (
        sums
        | brought
        | {
            "tokens": _sum([e.billed for e in replies]),
            "turns": len(replies),
            "tool_calls": _tool_calls(events),
            "blocked": sum(e.action in ("block", "fail") for e in decided),
            "warned": sum(e.action == "warn" for e in decided),
            "got_past": sum(e.action == "got_past" for e in decided),
            "waited_seconds": sum(e.waited_seconds for e in replies),
        }
    )


def _tool_calls(events: Sequence[Event]) -> int | None:
    """None where an agent CLI's transcript does not say what it called."""
    if any(isinstance(e, Noted) and e.what == CALLS_UNKNOWN for e in events):
        return None
    return sum(isinstance(e, Answered) for e in events)


def _row(attempt_id: int, seq: int, event: Event) -> EventRow:
    data = _as_json(event)
    return EventRow(attempt_id=attempt_id, seq=seq, kind=event.kind, turn=event.turn, at=event.at, data=data)


def _as_json(event: Event) -> str:
    """The event as JSON text that can be read again, whatever a model wrote into it.

    Half a surrogate pair is no text; what nests too deeply is left out from there on.
    """
    with suppress(PydanticSerializationError):
        if not (isinstance(event, Answered) and is_deeper(event.arguments, DEEPEST)):
            return event.model_dump_json()
    return json.dumps(_encodable(event.model_dump(), DEEPEST + 1), ensure_ascii=True)


def _encodable(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, dict | list | tuple):
        return value
    if levels <= 0:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {_encodable(key, levels): _encodable(item, levels - 1) for key, item in value.items()}
    return [_encodable(item, levels - 1) for item in value]


def _sum(values: list[Any]) -> Any:
    """The sum, or None when any part is unknown or there is none."""
    return None if not values or any(v is None for v in values) else sum(values)
