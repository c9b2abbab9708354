"""What was set down before a run began: its row, and the scenarios of its plan. Two small queries, whatever its size."""

from __future__ import annotations

from dataclasses import dataclass

from sqlmodel import col, select

from crucible.store.tables import PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store


@dataclass(frozen=True)
class Declared:
    """A run as it was planned; `scenarios` by their hash."""

    run: RunRow
    scenarios: dict[str, ScenarioRow]


def declared(store: Store, run_id: int) -> Declared | None:
    """Of a run by its id; None when there is none."""
    with store.reading() as session:
        if (run := session.get(RunRow, run_id)) is None:
            return None
        hashes = select(PlannedRow.scenario_hash).where(PlannedRow.run_id == run_id).distinct()
        found = session.exec(select(ScenarioRow).where(col(ScenarioRow.hash).in_(hashes))).all()
        return Declared(run, {row.hash: row for row in found})
