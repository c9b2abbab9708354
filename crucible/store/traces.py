"""What attempts called and what it took, without what was said: the events of a run, thinned where they lie.

Texts are counted, in characters as the model was shown them, and not read. Unknown is None.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import case, func
from sqlalchemy import select as columns_of
from sqlmodel import Session, col, select

from crucible.store.tables import AttemptRow, EventRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `shown`: characters of its result. `refused`: by a policy. `arguments` are kept of failed calls only."""

    turn: int
    tool: str
    ok: bool
    shown: int
    refused: bool = False
    read: bool = True
    arguments: str = ""

    @property
    def reached(self) -> bool:
        """Whether the tool itself was asked: the call was understood and not refused. An error is an answer too."""
        return self.ok or (self.read and not self.refused)


@dataclass(frozen=True, slots=True)
class Reply:
    """One model reply. `input` and `output` are tokens as the provider counted them; `said` is in characters."""

    turn: int
    input: int | None
    output: int | None
    said: int


@dataclass(frozen=True, slots=True)
class Trace:
    """One attempt's replies and calls in order, and what its arm brought.

    `servers`: what each tool server really was, by the arm's name for it. `offered`: names of its tools as the model
    sees them, None where that was not recorded. `setup` as in the attempt's row.
    """

    attempt_id: int
    replies: tuple[Reply, ...] = ()
    calls: tuple[Call, ...] = ()
    servers: Mapping[str, str] = field(default_factory=dict)
    offered: Mapping[str, tuple[str, ...]] | None = None
    agent: str | None = None
    setup: str = ""


NUL = r"\u0000"
"""How JSON writes it."""
_PICKED = {
    "answered": ("call_id", "tool", "ok"),
    "replied": ("input_uncached", "input_cached", "cache_write", "output"),
    "decided": ("call_id", "action"),
    "equipped": ("offered",),
}
"""What is read of an event, by its kind."""


def traces(store: Store, run_id: int) -> dict[int, Trace]:
    """The traces of a run's attempts, by attempt id."""
    with store.reading() as session:
        columns = select(AttemptRow.id, AttemptRow.servers, AttemptRow.agent, AttemptRow.setup)
        attempts = session.exec(columns.where(AttemptRow.run_id == run_id)).all()
        events = _events(session, run_id)
    return {
        attempt_id: _trace(attempt_id, events.get(attempt_id, []), servers=servers or {}, agent=agent, setup=setup)
        for attempt_id, servers, agent, setup in attempts
        if attempt_id is not None
    }


@dataclass(frozen=True, slots=True)
class Thin:
    """An event without its texts. `picked` as _PICKED says; `text` and `calls` are lengths; `arguments` of a failed call."""

    kind: str
    turn: int
    picked: list[Any]
    text: int
    calls: int
    arguments: str = ""


def _events(session: Session, run_id: int) -> dict[int, list[Thin]]:
    in_place = session.get_bind().dialect.name == "sqlite"
    columns = _thinned() if in_place else (col(EventRow.data),)
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    query = (
        columns_of(EventRow.attempt_id, EventRow.kind, EventRow.turn, *columns)  # type: ignore[call-overload] # any columns
        .where(col(EventRow.attempt_id).in_(mine), col(EventRow.kind).in_(_PICKED))
        .order_by(col(EventRow.attempt_id), col(EventRow.seq))
    )
    found: dict[int, list[Thin]] = {}
    for attempt_id, kind, turn, *said in session.execute(query):
        event = Thin(kind, turn, *_read(kind, *said)) if in_place else thin(kind, turn, json.loads(said[0]))
        found.setdefault(attempt_id, []).append(event)
    return found


def _thinned() -> tuple[Any, ...]:
    """What SQLite is to send of an event: each text is parsed once, where it lies, and only its length travels."""
    data, kind = col(EventRow.data), col(EventRow.kind)
    picked = case(*((kind == one, func.json_extract(data, *_paths(one))) for one in _PICKED))
    # A text that SQLite takes out of JSON ends at a NUL; where there is one, its length as JSON is near enough.
    quoted = func.length(func.json_extract(data, "$.text", "$.nothing")) - len('["",null]')
    size = case((func.instr(data, NUL) > 0, quoted), else_=func.length(func.json_extract(data, "$.text")))
    texts = case((kind.in_(("answered", "replied")), size))
    more = case(
        (kind == "replied", func.length(func.json_extract(data, "$.tool_calls"))),
        ((kind == "answered") & func.json_extract(data, "$.ok").is_(False), func.json_extract(data, "$.arguments")),
    )
    return picked, texts, more


def _paths(kind: str) -> list[str]:
    # With a path of its own for nothing the result is an array, also where there is one thing to read.
    return [*(f"$.{name}" for name in _PICKED[kind]), "$.nothing"]


def _read(kind: str, picked: str, text: int | None, more: Any) -> tuple[list[Any], int, int, str]:
    values = json.loads(picked)
    failed = kind == "answered" and not values[2]
    return values, text or 0, (more or 0) if kind == "replied" else 0, _sorted(more) if failed else ""


def _sorted(arguments: str | None) -> str:
    return json.dumps(None if arguments is None else json.loads(arguments), sort_keys=True)


def thin(kind: str, turn: int, event: Mapping[str, Any]) -> Thin:
    """The same of an event that was sent whole."""
    failed = kind == "answered" and not event.get("ok")
    calls = (
        len(json.dumps(event["tool_calls"], separators=(",", ":"), ensure_ascii=False)) if "tool_calls" in event else 0
    )
    return Thin(
        kind,
        turn,
        [event.get(name) for name in (*_PICKED[kind], "nothing")],
        len(event.get("text") or ""),
        calls,
        json.dumps(event.get("arguments"), sort_keys=True) if failed else "",
    )


def _trace(attempt_id: int, events: Iterable[Thin], **brought: Any) -> Trace:
    events = list(events)
    refused = {e.picked[0] for e in events if e.kind == "decided" and e.picked[1] in ("block", "fail")}
    offered = [e.picked[0] for e in events if e.kind == "equipped" and e.picked[0] is not None]
    return Trace(
        attempt_id,
        tuple(_reply(e) for e in events if e.kind == "replied"),
        tuple(_call(e, refused) for e in events if e.kind == "answered"),
        offered={name: tuple(tools) for name, tools in offered[-1].items()} if offered else None,
        **brought,
    )


def _reply(event: Thin) -> Reply:
    uncached, cached, written, output, _ = event.picked
    whole = None if uncached is None else uncached + (cached or 0) + (written or 0)
    return Reply(event.turn, whole, output, event.text + event.calls)


def _call(event: Thin, refused: set[str]) -> Call:
    call_id, tool, ok, _ = event.picked
    return Call(
        turn=event.turn,
        tool=str(tool),
        ok=bool(ok),
        shown=event.text,
        refused=call_id in refused,
        read=bool(ok) or event.arguments != "null",
        arguments=event.arguments,
    )
