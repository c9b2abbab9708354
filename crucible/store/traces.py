"""What attempts called and what it took, without what was said: the events of a run, thinned where they lie.

Texts are counted, in characters as the model was shown them, and not read. Unknown is None.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import String, case, cast, func
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
    for attempt_id, turn, uncached, cached, written, output, text, calls in thinned(session, run_id, REPLIED):
        whole = None if uncached is None else uncached + (cached or 0) + (written or 0)
        yield attempt_id, Reply(turn, whole, output, text + calls)


def _calls(session: Session, run_id: int) -> Iterator[tuple[int, Call]]:
    decided = thinned(session, run_id, DECIDED)
    refused = {(attempt_id, call_id) for attempt_id, _, call_id, action in decided if action in ("block", "fail")}
    for attempt_id, turn, call_id, tool, ok, shown, arguments in thinned(session, run_id, ANSWERED):
        yield (
            attempt_id,
            Call(
                turn=turn,
                tool=str(tool),
                ok=bool(ok),
                shown=shown,
                refused=(attempt_id, call_id) in refused,
                read=bool(ok) or arguments is not None,
                arguments="" if ok else _sorted(arguments),
            ),
        )


def _sorted(arguments: str | None) -> str:
    return "null" if arguments is None else json.dumps(json.loads(arguments), sort_keys=True)


def _offered(session: Session, run_id: int) -> Iterator[tuple[int, dict[str, tuple[str, ...]]]]:
    """The last time that an attempt was equipped comes last. Most attempts of an arm were offered the same."""
    read = cache(_tools_by_server)
    for attempt_id, _, offered in thinned(session, run_id, EQUIPPED):
        if offered is not None:
            yield attempt_id, read(offered)


def _tools_by_server(offered: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(tools) for name, tools in json.loads(offered).items()}


@dataclass(frozen=True, slots=True)
class Thin:
    """What is read of events of one kind: what SQLite is to take out of them, `in_place`, so that their texts need not
    travel; and the same of an event that another database sent `whole`."""

    kind: str
    in_place: Callable[[], tuple[Any, ...]]
    whole: Callable[[Mapping[str, Any]], tuple[Any, ...]]


def thinned(session: Session, run_id: int, thin: Thin) -> Iterable[tuple[Any, ...]]:
    """Attempt id, turn, and what is read of a run's events of one kind, in order."""
    in_place = session.get_bind().dialect.name == "sqlite"
    columns = thin.in_place() if in_place else (col(EventRow.data),)
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    query = (
        columns_of(EventRow.attempt_id, EventRow.turn, *columns)
        .where(col(EventRow.attempt_id).in_(mine), EventRow.kind == thin.kind)
        .order_by(col(EventRow.attempt_id), col(EventRow.seq))
    )
    rows = session.connection().execute(query)
    return rows.all() if in_place else ((attempt, turn, *thin.whole(json.loads(data))) for attempt, turn, data in rows)


def _at(name: str) -> Any:
    return func.json_extract(col(EventRow.data), f"$.{name}")


NUL = r"\u0000"
"""How JSON writes it."""


def _characters() -> Any:
    """A text that SQLite takes out of JSON ends at a NUL; where there is one, its length as JSON is near enough."""
    data = col(EventRow.data)
    as_json = func.length(func.json_extract(data, "$.text", "$.nothing")) - len('["",null]')
    return func.coalesce(case((data.contains(NUL), as_json), else_=func.length(_at("text"))), 0)


def _as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


REPLIED = Thin(
    "replied",
    lambda: (
        *map(_at, ("input_uncached", "input_cached", "cache_write", "output")),
        _characters(),
        func.coalesce(func.length(_at("tool_calls")), 0),
    ),
    lambda event: (
        *map(event.get, ("input_uncached", "input_cached", "cache_write", "output")),
        len(event.get("text") or ""),
        len(_as_json(event.get("tool_calls")) or ""),
    ),
)
"""Its usage, the characters of its text and of its calls as JSON."""
ANSWERED = Thin(
    "answered",
    lambda: (*map(_at, ("call_id", "tool", "ok")), _characters(), case((~_at("ok"), _at("arguments")))),
    lambda event: (
        *map(event.get, ("call_id", "tool", "ok")),
        len(event.get("text") or ""),
        None if event.get("ok") else _as_json(event.get("arguments")),
    ),
)
"""Its call, tool and whether it went well, the characters of its text, and the arguments of a failed one as JSON."""
DECIDED = Thin(
    "decided",
    lambda: (_at("call_id"), _at("action")),
    lambda event: (event["call_id"], event["action"]),
)
EQUIPPED = Thin(
    "equipped",
    lambda: (_at("offered"),),
    lambda event: (_as_json(event.get("offered")),),
)
