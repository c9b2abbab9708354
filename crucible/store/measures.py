"""What a run measured, read for reports: attempts as numbers, without their texts, so that a large run is read at once.

Unknown is None. Attempts are all of a run, those that do not count included; scores and totals are the newest judging's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, select

from crucible.store.tables import AttemptRow, PlannedRow, RunRow, ScenarioRow, ScoreRow, TotalRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Measured:
    """One attempt of a run. `total` is the weighted score, `scores` its dimensions, `unscored` why one is missing."""

    id: int
    scenario_hash: str
    arm: str
    block: int
    retry: int
    model: str
    sandbox: str
    session: str | None
    ending: str | None
    cause: str | None
    detail: str
    counted: bool | None
    passed: bool | None
    turns: int | None
    tool_calls: int | None
    blocked: int | None
    warned: int | None
    got_past: int | None
    seconds: float | None
    input_uncached: int | None
    input_cached: int | None
    cache_write: int | None
    output: int | None
    tokens: int | None
    cost_usd: float | None
    similarity: float | None
    total: float | None = None
    partial: float | None = None
    judge_id: str | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)

    @property
    def timed_out(self) -> bool:
        """Whether the clock ended it: it would have taken longer than `seconds`."""
        return self.ending == "budget_time"


_OF_ATTEMPT = (
    "id", "scenario_hash", "arm", "block", "retry", "model", "sandbox", "session", "ending", "cause", "detail", "counted",
    "passed", "turns", "tool_calls", "blocked", "warned", "got_past", "seconds", "input_uncached", "input_cached",
    "cache_write", "output", "tokens", "cost_usd", "similarity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned attempt; `position` is its place in the order of the run."""

    position: int
    scenario_hash: str
    block: int
    arm: str
    model: str
    baseline: bool


@dataclass(frozen=True)
class RunMeasures:
    """A stored run as numbers; `plan` in the order it was to be made, `attempts` in the order they were made."""

    run: RunRow
    plan: tuple[Slot, ...]
    scenarios: dict[str, ScenarioRow]
    attempts: tuple[Measured, ...]

    @property
    def hashes(self) -> list[str]:
        """The scenarios in the order of the plan."""
        return list(dict.fromkeys(slot.scenario_hash for slot in self.plan))

    def by_scenario(self) -> dict[str, tuple[list[Slot], list[Measured]]]:
        """The plan and the attempts of each scenario, by its hash."""
        found: dict[str, tuple[list[Slot], list[Measured]]] = {digest: ([], []) for digest in self.hashes}
        for slot in self.plan:
            found[slot.scenario_hash][0].append(slot)
        for attempt in self.attempts:
            found[attempt.scenario_hash][1].append(attempt)
        return found

    def standing(self) -> dict[tuple[str, str, int], Measured]:
        """The attempt that stands for each (scenario hash, arm, block): the one with the highest retry."""
        return {(a.scenario_hash, a.arm, a.block): a for a in sorted(self.attempts, key=lambda a: a.retry)}


def run_measures(store: Store, run_id: int) -> RunMeasures | None:
    """A run by its id; None when there is none."""
    with store.reading() as session:
        if (run := session.get(RunRow, run_id)) is None:
            return None
        plan = tuple(
            Slot(*row)
            for row in _rows(
                session,
                _columns(PlannedRow, Slot.__slots__)
                .where(col(PlannedRow.run_id) == run_id)
                .order_by(col(PlannedRow.position)),
            )
        )
        hashes = {slot.scenario_hash for slot in plan}
        scenarios = session.exec(select(ScenarioRow).where(col(ScenarioRow.hash).in_(hashes))).all()
        return RunMeasures(run, plan, {s.hash: s for s in scenarios}, tuple(_attempts(session, run_id)))


def any_aa(store: Store) -> bool:
    """Whether an arm was ever run against itself: only then is there a noise floor to look for."""
    with store.reading() as session:
        return session.exec(select(RunRow.id).where(RunRow.kind == "aa").limit(1)).first() is not None


def _attempts(session: Session, run_id: int) -> Sequence[Measured]:
    totals, scores = _totals(session, run_id), _scores(session, run_id)
    query = _columns(AttemptRow, _OF_ATTEMPT).where(col(AttemptRow.run_id) == run_id).order_by(col(AttemptRow.id))
    attempts = []
    for row in _rows(session, query):
        total, partial, judge_id = totals.get(row.id, (None, None, None))
        values, unscored = scores.get((row.id, judge_id), ({}, {}))
        given: tuple[Any, ...] = (*row, total, partial, judge_id, values, unscored)
        attempts.append(Measured(*given))
    return attempts


def _totals(session: Session, run_id: int) -> dict[int, tuple[float | None, float | None, str]]:
    """Newest total of each attempt."""
    query = (
        _columns(TotalRow, ("attempt_id", "value", "partial", "judge_id"))
        .where(col(TotalRow.attempt_id).in_(_mine(run_id)))
        .order_by(col(TotalRow.seq))
    )
    return {row[0]: (row[1], row[2], row[3]) for row in _rows(session, query)}


def _scores(
    session: Session, run_id: int
) -> dict[tuple[int, str | None], tuple[dict[str, float | None], dict[str, str]]]:
    """Of each attempt and judge version the values by dimension, and why one is missing."""
    query = _columns(ScoreRow, ("attempt_id", "judge_id", "dimension", "value", "reason"))
    found: dict[tuple[int, str | None], tuple[dict[str, float | None], dict[str, str]]] = {}
    mine = query.where(col(ScoreRow.attempt_id).in_(_mine(run_id)))
    for attempt, judge, name, value, reason in _rows(session, mine):
        values, unscored = found.setdefault((attempt, judge), ({}, {}))
        values[name] = value
        if value is None:
            unscored[name] = reason or "no reason given"
    return found


def _mine(run_id: int) -> Any:
    return select(AttemptRow.id).where(AttemptRow.run_id == run_id)


def _rows(session: Session, query: Any) -> Sequence[Any]:
    """Past the ORM, which takes as long over a row as everything that is then made of it."""
    return session.connection().execute(query).all()


def _columns(table: Any, names: Sequence[str]) -> Any:
    """A query for columns only: rows made into objects would cost more than everything a report computes."""
    from sqlalchemy import select as columns

    return columns(*(getattr(table, name) for name in names))
