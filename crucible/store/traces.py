"""What attempts called and what it took, without what was said: the events of a run, thinned where they lie.

Texts are counted, in characters as the model was shown them, and not read. Unknown is None.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import String, cast, literal_column
from sqlmodel import Session, col, select

from crucible.store.pages import columns_of
from crucible.store.tables import AttemptRow, EventRow
from crucible.store.writes import Store

One = TypeVar("One")


class Call(NamedTuple):
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


class Reply(NamedTuple):
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


def traces(store: Store, run_id: int) -> dict[int, Trace]:
    """The traces of a run's attempts, by attempt id."""
    with store.reading() as session:
        columns = columns_of(AttemptRow.id, cast(AttemptRow.servers, String), AttemptRow.agent, AttemptRow.setup)
        attempts = session.connection().execute(columns.where(col(AttemptRow.run_id) == run_id)).all()
        replies, calls = _by_attempt(_replies(session, run_id)), _by_attempt(_calls(session, run_id))
        offered = dict(_offered(session, run_id))
    read = cache(json.loads)
    return {
        i: Trace(i, tuple(replies.get(i, ())), tuple(calls.get(i, ())), read(servers), offered.get(i), agent, setup)
        for i, servers, agent, setup in attempts
    }


def _by_attempt(found: Iterable[tuple[int, One]]) -> dict[int, list[One]]:
    by_attempt: dict[int, list[One]] = defaultdict(list)
    for attempt_id, one in found:
        by_attempt[attempt_id].append(one)
    return by_attempt


def _replies(session: Session, run_id: int) -> Iterator[tuple[int, Reply]]:
    for attempt_id, turn, uncached, cached, written, output, said in thinned(session, run_id, REPLIED):
        whole = None if uncached is None else uncached + (cached or 0) + (written or 0)
        yield attempt_id, Reply(turn, whole, output, said)


def _calls(session: Session, run_id: int) -> Iterator[tuple[int, Call]]:
    decided = thinned(session, run_id, DECIDED)
    refused = {(attempt_id, call_id) for attempt_id, _, call_id, action, _ in decided if action in ("block", "fail")}
    for attempt_id, turn, call_id, tool, ok, arguments, shown in thinned(session, run_id, ANSWERED):
        told = "" if ok else json.dumps(arguments, sort_keys=True)
        was_refused = (attempt_id, call_id) in refused
        yield attempt_id, Call(turn, str(tool), bool(ok), shown, was_refused, bool(ok) or arguments is not None, told)


def _offered(session: Session, run_id: int) -> Iterator[tuple[int, dict[str, tuple[str, ...]]]]:
    """The last time that an attempt was equipped comes last."""
    for attempt_id, _, offered, _ in thinned(session, run_id, EQUIPPED):
        if offered is not None:
            yield attempt_id, {name: tuple(tools) for name, tools in offered.items()}


@dataclass(frozen=True, slots=True)
class Thin:
    """Events of one kind, and the fields that are read of them; the arguments of a call only where it failed."""

    kind: str
    names: tuple[str, ...]

    def whole(self, event: Mapping[str, Any]) -> tuple[Any, ...]:
        """The fields of an event that another database than SQLite sent whole, and the characters of its text and calls."""
        left_out = "arguments" if event.get("ok") else ""
        calls = event.get("tool_calls")
        as_json = "" if calls is None else json.dumps(calls, separators=(",", ":"), ensure_ascii=False)
        fields = (None if name == left_out else event.get(name) for name in self.names)
        return *fields, len(event.get("text") or "") + len(as_json)


EQUIPPED = Thin("equipped", ("offered",))
REPLIED = Thin("replied", ("input_uncached", "input_cached", "cache_write", "output"))
ANSWERED = Thin("answered", ("call_id", "tool", "ok", "arguments"))
DECIDED = Thin("decided", ("call_id", "action"))

# As the index `event_thin` has them, word for word: what is in the index SQLite takes from there, and parses no event.
FIELDS = """CASE kind
WHEN 'equipped' THEN json_array(json_extract(data, '$.offered'))
WHEN 'replied' THEN json_extract(data, '$.input_uncached', '$.input_cached', '$.cache_write', '$.output')
WHEN 'answered' THEN json_extract(data, '$.call_id', '$.tool', '$.ok',
  CASE WHEN json_extract(data, '$.ok') THEN '$.nothing' ELSE '$.arguments' END)
WHEN 'decided' THEN json_extract(data, '$.call_id', '$.action') END"""
"""What is read of an event, as a JSON array. NULL of other kinds, which need not even be JSON."""
CHARACTERS = r"""CASE WHEN kind IN ('equipped', 'replied', 'answered', 'decided')
THEN coalesce(CASE WHEN instr(data, '\u0000') THEN length(json_extract(data, '$.text', '$.nothing')) - 9
  ELSE length(json_extract(data, '$.text')) END, 0) + coalesce(length(json_extract(data, '$.tool_calls')), 0) END"""
"""A text that SQLite takes out of JSON ends at a NUL; where there is one, its length as JSON is near enough."""


def thinned(session: Session, run_id: int, thin: Thin) -> Iterator[tuple[Any, ...]]:
    """Attempt id, turn, fields and characters of a run's events of one kind, in order; their texts do not travel."""
    in_place = session.get_bind().dialect.name == "sqlite"
    columns = (literal_column(FIELDS), literal_column(CHARACTERS)) if in_place else (col(EventRow.data),)
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    query = (
        columns_of(EventRow.attempt_id, EventRow.turn, *columns)
        .where(col(EventRow.attempt_id).in_(mine), EventRow.kind == thin.kind)
        .order_by(col(EventRow.attempt_id), col(EventRow.seq))
    )
    for attempt, turn, data, *characters in session.connection().execute(query):
        said = json.loads(data)
        yield attempt, turn, *(said if in_place else thin.whole(said)), *characters
