"""How a run goes: its pulse, its pace, what is being made now, and what does not count. A few small queries each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from crucible.store.pages import columns_of
from crucible.store.tables import AttemptRow, EventRow, JudgementRow, RunRow, TotalRow
from crucible.store.writes import Store

LATELY = 200
"""Attempts that a pace is taken from: a run may get slower or faster."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What changes whenever a run goes on: `counts` of attempts made and ended, of judgings, of running attempts' events."""

    status: str
    owner: str | None
    counts: tuple[int, ...]


def run_pulse(store: Store, run_id: int) -> Pulse | None:
    """The pulse of a run, in one query; None when there is no such run."""
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    counts = (
        select(func.count(col(AttemptRow.id))).where(AttemptRow.run_id == run_id),
        select(func.count(col(AttemptRow.ending))).where(AttemptRow.run_id == run_id),
        select(func.count(col(TotalRow.seq))).where(col(TotalRow.attempt_id).in_(mine)),
        select(func.count(col(EventRow.seq))).where(
            col(EventRow.attempt_id).in_(mine.where(col(AttemptRow.ending).is_(None)))
        ),
    )
    with store.reading() as session:
        query = columns_of(RunRow.status, RunRow.owner, *(one.scalar_subquery() for one in counts))
        found = session.execute(query.where(col(RunRow.id) == run_id)).first()
        return None if found is None else Pulse(found[0], found[1], tuple(found[2:]))


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and dear a run's finished attempts were: their number, and means of what is known. The time of an attempt is
    all of it, from its start to when it was stored: preparing, waiting and grading too."""

    finished: int
    seconds: float | None
    cost_usd: float | None


def run_pace(store: Store, run_id: int) -> Pace:
    """Of the attempts that count; the time is that of the newest LATELY."""
    mine = (AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True))
    with store.reading() as session:
        finished, cost = session.execute(columns_of(func.count(), func.avg(AttemptRow.cost_usd)).where(*mine)).one()
        times = columns_of(AttemptRow.started_at, AttemptRow.ended_at).where(*mine).order_by(col(AttemptRow.id).desc())
        took = [_seconds(*row) for row in session.execute(times.limit(LATELY)) if row[1] is not None]
    return Pace(finished, sum(took) / len(took) if took else None, cost)


def _seconds(started: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()


@dataclass(frozen=True, slots=True)
class JudgeSpend:
    """What judging a run took: replies of model judges, all versions and retries included, and US dollars as far as known.

    `unpriced` are replies of no known cost; those of a scripted judge cost nothing and are not among them.
    """

    replies: int
    cost_usd: float | None
    unpriced: int


def judge_spend(store: Store, run_id: int) -> JudgeSpend:
    """It is no part of what the attempts cost."""
    cost, scripted = col(JudgementRow.usage)["cost_usd"].as_float(), col(JudgementRow.usage)["scripted"].as_boolean()
    unpriced = case((cost.is_(None) & scripted.is_(False), 1), else_=0)
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    with store.reading() as session:
        query = columns_of(func.count(), func.sum(cost), func.coalesce(func.sum(unpriced), 0))
        return JudgeSpend(*session.execute(query.where(col(JudgementRow.attempt_id).in_(mine))).one())


@dataclass(frozen=True, slots=True)
class NotCounted:
    """An attempt that counts for neither arm, and why; `again` is the attempt that was made in its place, if any."""

    attempt: int
    scenario: str
    arm: str
    block: int
    ending: str | None
    cause: str | None
    detail: str
    again: int | None


def not_counted(store: Store, run_id: int) -> list[NotCounted]:
    """Every such attempt of a run, retries included, oldest first."""
    later = aliased(AttemptRow)
    same = (getattr(later, name) == getattr(AttemptRow, name) for name in ("run_id", "scenario_hash", "arm", "block"))
    again = select(later.id).where(*same, later.retry == AttemptRow.retry + 1).scalar_subquery()
    mine = (AttemptRow.id, AttemptRow.scenario, AttemptRow.arm, AttemptRow.block, AttemptRow.ending, AttemptRow.cause)
    with store.reading() as session:
        query = columns_of(*mine, AttemptRow.detail, again).where(
            AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(False)
        )
        return [NotCounted(*row) for row in session.execute(query.order_by(col(AttemptRow.id)))]


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt that is being made; `turn` is the newest that something is stored of."""

    attempt: int
    scenario: str
    arm: str
    block: int
    started: str
    turn: int | None


def running(store: Store, run_id: int) -> list[Running]:
    """The attempts of a run without an ending, oldest first."""
    turn = select(func.max(col(EventRow.turn))).where(EventRow.attempt_id == AttemptRow.id).scalar_subquery()
    with store.reading() as session:
        query = columns_of(
            *(AttemptRow.id, AttemptRow.scenario, AttemptRow.arm, AttemptRow.block, AttemptRow.started_at), turn
        ).where(AttemptRow.run_id == run_id, col(AttemptRow.ending).is_(None))
        return [Running(*row) for row in session.execute(query.order_by(col(AttemptRow.id)))]
