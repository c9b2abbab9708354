"""One attempt by pages of turns: its head without its texts, the events of a few turns, and every turn as a few numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from crucible.store.pages import columns_of
from crucible.store.queries import AttemptRecord
from crucible.store.tables import (
    AttemptRow,
    ChangedFileRow,
    EventRow,
    FlagRow,
    JudgeRow,
    ScenarioRow,
    ScoreRow,
    TestReportRow,
    TotalRow,
    ValidationRow,
)
from crucible.store.writes import Store

_FILE = tuple(name for name in ChangedFileRow.model_fields if name != "after")


def attempt_head(store: Store, attempt_id: int) -> AttemptRecord | None:
    """An attempt with its newest scores, without events, judgements and contents of files; None when there is none."""
    with store.reading() as session:
        if (attempt := session.get(AttemptRow, attempt_id)) is None:
            return None
        newest = select(TotalRow).where(TotalRow.attempt_id == attempt_id).order_by(col(TotalRow.seq).desc())
        total = session.exec(newest).first()
        files = session.execute(
            columns_of(*(getattr(ChangedFileRow, name) for name in _FILE))
            .where(col(ChangedFileRow.attempt_id) == attempt_id)
            .order_by(col(ChangedFileRow.path))
        )
        return AttemptRecord(
            attempt=attempt,
            scenario=session.get_one(ScenarioRow, attempt.scenario_hash),
            events=(),
            files=[ChangedFileRow(**dict(zip(_FILE, row, strict=True))) for row in files],
            report=session.get(TestReportRow, attempt_id),
            judge=session.get(JudgeRow, total.judge_id) if total else None,
            scores=_scores(session, total),
            total=total,
            judgements=(),
            flags=session.exec(
                select(FlagRow).where(FlagRow.attempt_id == attempt_id).order_by(col(FlagRow.seq))
            ).all(),
        )


def _scores(session: Session, total: TotalRow | None) -> Sequence[ScoreRow]:
    if total is None:
        return ()
    mine = (ScoreRow.attempt_id == total.attempt_id, ScoreRow.judge_id == total.judge_id)
    return session.exec(select(ScoreRow).where(*mine).order_by(col(ScoreRow.dimension))).all()


def tests_before(store: Store, scenario_hash: str) -> ValidationRow | None:
    """The newest check of a scenario: what fails and what passes before any change."""
    with store.reading() as session:
        mine = select(ValidationRow).where(ValidationRow.scenario_hash == scenario_hash)
        return session.exec(mine.order_by(col(ValidationRow.id).desc())).first()


def events_of_turns(store: Store, attempt_id: int, first: int, last: int) -> Sequence[EventRow]:
    """The events of some turns, in order; turn 0 is before the first model call."""
    with store.reading() as session:
        query = select(EventRow).where(EventRow.attempt_id == attempt_id, col(EventRow.turn).between(first, last))
        return session.exec(query.order_by(col(EventRow.seq))).all()


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn in numbers: when it began, what it took, tokens as the provider counted them (None where it did not), and
    its calls. Those `failed` that gave an error, or an exit code that is not 0. `seconds` are of the reply and the calls,
    without waiting; `size` is its transcript's, bytes."""

    turn: int
    at: float
    seconds: float = 0.0
    input: int | None = None
    cached: int | None = None
    output: int | None = None
    cost_usd: float | None = None
    calls: int = 0
    failed: int = 0
    blocked: int = 0
    size: int = 0


_PICKED = (
    "input_uncached",
    "input_cached",
    "cache_write",
    "output",
    "cost_usd",
    "seconds",
    "ok",
    "exit_code",
    "action",
)


def turn_line(store: Store, attempt_id: int) -> list[Turn]:
    """Every turn of an attempt; texts stay where they are."""
    with store.reading() as session:
        in_place = session.get_bind().dialect.name == "sqlite"
        data = col(EventRow.data)
        picked = func.json_extract(data, *(f"$.{name}" for name in _PICKED)) if in_place else data
        query = columns_of(EventRow.turn, EventRow.at, EventRow.kind, func.length(data), picked)
        query = query.where(col(EventRow.attempt_id) == attempt_id, col(EventRow.kind).in_(_KINDS))
        rows = session.execute(query.order_by(col(EventRow.seq))).all()
    return list(_turns((turn, at, kind, size, _values(said, in_place)) for turn, at, kind, size, said in rows))


_KINDS = ("replied", "answered", "decided")


def _values(said: str, in_place: bool) -> dict[str, Any]:
    read = json.loads(said)
    return dict(zip(_PICKED, read, strict=True)) if in_place else read


def _turns(events: Iterable[tuple[int, float, str, int, dict[str, Any]]]) -> Iterable[Turn]:
    found: dict[int, Turn] = {}
    for number, at, kind, size, said in events:
        turn = found.get(number) or Turn(number, at)
        found[number] = _with(replace(turn, size=turn.size + size), kind, said)
    return found.values()


def _with(turn: Turn, kind: str, said: dict[str, Any]) -> Turn:
    if kind == "replied":
        uncached, cached = said["input_uncached"], said["input_cached"]
        whole = None if uncached is None else uncached + (cached or 0) + (said["cache_write"] or 0)
        took = turn.seconds + (said["seconds"] or 0)
        return replace(turn, input=whole, cached=cached, output=said["output"], cost_usd=said["cost_usd"], seconds=took)
    if kind == "answered":
        took, failed = turn.seconds + (said["seconds"] or 0), turn.failed + (not said["ok"] or bool(said["exit_code"]))
        return replace(turn, calls=turn.calls + 1, failed=failed, seconds=took)
    return replace(turn, blocked=turn.blocked + (said["action"] in ("block", "fail")))


def where_said(store: Store, attempt_id: int, quote: str) -> tuple[int, int] | None:
    """Turn and number of the first event that holds these words; None when none does."""
    if not (needle := json.dumps(quote, ensure_ascii=False)[1:-1]):
        return None
    with store.reading() as session:
        query = columns_of(EventRow.turn, EventRow.seq).where(
            col(EventRow.attempt_id) == attempt_id, col(EventRow.data).contains(needle, autoescape=True)
        )
        found = session.execute(query.order_by(col(EventRow.seq)).limit(1)).first()
        return None if found is None else (found[0], found[1])
