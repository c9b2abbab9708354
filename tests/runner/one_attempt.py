"""One attempt through the runner, of an agent that a test brings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from crucible.runner.arms import Player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.plan import plan
from crucible.runner.prepare import prepare, resolve_mode
from crucible.runner.run import new_run, store_plan
from crucible.runner.validate import Validation, scenario_row
from crucible.scenario.load import load_scenario
from crucible.settings import load_settings
from crucible.store import queries
from crucible.store.tables import AttemptRow
from crucible.store.writes import Store


def stored(folder: Path, plays: Player) -> AttemptRow:
    """The stored row of one attempt at the starter scenario, whose suite costs nothing."""
    scenario = folder / "scenarios" / "first-bug.md"
    scenario.write_text(scenario.read_text().replace("python3 -m pytest -q", "'true'"))
    settings = load_settings(folder)
    ready = prepare(load_scenario(scenario, folder), folder, settings)
    mode, _ = resolve_mode(settings)
    with Store(folder / "bench.db") as store:
        store.ensure(scenario_row(ready))
        slots = plan([(ready.hash, ready.scenario)], 1, 0)
        columns: dict[str, Any] = {"judge": "facts", "samples": 1, "parallel": 1, "max_cost": None}
        run = new_run(str(folder), mode, rehearsal=True, seed=0, blocks=1, without_extra_tools=False, **columns)
        where = Bench(store, settings, mode, folder / "scratch", store_plan(store, run, slots), rehearsal=True)
        found = queries.attempt_row(store, asyncio.run(run_attempt(where, Job(slots[0], ready, Validation(), plays))))
    assert found is not None
    return found
