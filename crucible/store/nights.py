"""The history of nightly suites: what each arm did on each scenario, night after night, as counts."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text, update
from sqlmodel import col, select

from crucible.store.tables import PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True, order=True)
class ChartKey:
    """What is watched: one arm with one model on one scenario. An edited scenario, or another model, is another chart."""

    scenario: str
    scenario_hash: str
    arm: str
    model: str


@dataclass(frozen=True, slots=True)
class Night:
    """One run of a suite as one chart saw it; `at` is when the run was made, UTC."""

    run_id: int
    at: str
    passed: int
    counted: int
    not_counted: int


_NIGHTS = text("""
SELECT a.scenario, a.scenario_hash, a.arm, a.model, r.id, r.created_at,
       SUM(CASE WHEN a.counted AND a.passed THEN 1 ELSE 0 END),
       SUM(CASE WHEN a.counted THEN 1 ELSE 0 END), SUM(CASE WHEN a.counted THEN 0 ELSE 1 END)
FROM run r JOIN attempt a ON a.run_id = r.id
WHERE r.suite = :suite AND r.rehearsal = :rehearsal AND r.id <= :last AND a.counted IS NOT NULL
GROUP BY a.scenario, a.scenario_hash, a.arm, a.model, r.id, r.created_at ORDER BY r.id
""")


def mark_night(store: Store, run_id: int, suite: str) -> None:
    """Make a run a night of a suite."""
    with store.writing() as session:
        session.execute(update(RunRow).where(col(RunRow.id) == run_id).values(suite=suite))


def last_night(store: Store, suite: str, *, rehearsal: bool) -> int | None:
    """The newest night of a suite; None when there is none."""
    with store.reading() as session:
        query = select(RunRow.id).where(RunRow.suite == suite, RunRow.rehearsal == rehearsal)
        return session.exec(query.order_by(col(RunRow.id).desc()).limit(1)).first()


def history(store: Store, suite: str, last: int, *, rehearsal: bool) -> dict[ChartKey, list[Night]]:
    """Every chart of a suite with its nights in order, up to run `last`. Real nights and rehearsals never mix."""
    found: dict[ChartKey, list[Night]] = {}
    with store.reading() as session:
        given = {"suite": suite, "rehearsal": rehearsal, "last": last}
        for scenario, digest, arm, model, *night in session.connection().execute(_NIGHTS, given):
            found.setdefault(ChartKey(scenario, digest, arm, model), []).append(Night(*night))
    return found


def charts_of(store: Store, run_id: int) -> list[ChartKey]:
    """What one night was planned to look at, in the order of its plan."""
    with store.reading() as session:
        query = (
            select(ScenarioRow.name, ScenarioRow.hash, PlannedRow.arm, PlannedRow.model)
            .join(PlannedRow, col(PlannedRow.scenario_hash) == col(ScenarioRow.hash))
            .where(PlannedRow.run_id == run_id)
            .order_by(col(PlannedRow.baseline), col(PlannedRow.arm))
        )
        return sorted({ChartKey(*row) for row in session.exec(query).all()})
