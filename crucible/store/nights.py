"""The history of nightly suites: what each arm did on each scenario, night after night, as counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import text, update
from sqlmodel import col, select

from crucible.store.tables import RunRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True, order=True)
class ChartKey:
    """What is watched: one arm with one model on one scenario. An edited scenario, or another model, is another chart.

    So is an arm that was run otherwise than the scenario says: `setup`, empty for nothing.
    """

    scenario: str
    scenario_hash: str
    arm: str
    model: str
    setup: str = ""

    @property
    def arm_as_run(self) -> str:
        """The arm, with what was run otherwise than the scenario says."""
        return f"{self.arm} ({self.setup})" if self.setup else self.arm


@dataclass(frozen=True, slots=True)
class Night:
    """One run of a suite as one chart saw it; `at` is when the run was made, UTC."""

    run_id: int
    at: str
    passed: int
    counted: int
    not_counted: int


_NIGHTS = text("""
SELECT a.scenario, a.scenario_hash, a.arm, a.model, a.setup, r.id, r.created_at,
       SUM(CASE WHEN a.counted AND a.passed THEN 1 ELSE 0 END),
       SUM(CASE WHEN a.counted THEN 1 ELSE 0 END), SUM(CASE WHEN a.counted THEN 0 ELSE 1 END)
FROM run r JOIN attempt a ON a.run_id = r.id
WHERE r.suite = :suite AND r.rehearsal = :rehearsal AND r.id <= :last AND a.counted IS NOT NULL
GROUP BY a.scenario, a.scenario_hash, a.arm, a.model, a.setup, r.id, r.created_at ORDER BY r.id
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
        for scenario, digest, arm, model, setup, *night in session.connection().execute(_NIGHTS, given):
            found.setdefault(ChartKey(scenario, digest, arm, model, setup), []).append(Night(*night))
    return found


_CHARTS = text("""
SELECT DISTINCT s.name, s.hash, p.arm, p.model, a.setup
FROM planned p JOIN scenario s ON s.hash = p.scenario_hash
LEFT JOIN attempt a ON a.run_id = p.run_id AND a.scenario_hash = p.scenario_hash AND a.arm = p.arm
WHERE p.run_id = :run ORDER BY s.name, p.arm
""")


def charts_of(store: Store, run_id: int, set_up: Callable[[str, str], str]) -> list[ChartKey]:
    """What one night was planned to look at. `set_up` says of a scenario's hash and an arm how an arm that made no attempt
    would have been set up."""
    with store.reading() as session:
        rows = session.connection().execute(_CHARTS, {"run": run_id}).all()
    return sorted(
        ChartKey(name, digest, arm, model, set_up(digest, arm) if setup is None else setup)
        for name, digest, arm, model, setup in rows
    )
