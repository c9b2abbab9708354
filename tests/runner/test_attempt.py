"""An attempt through the runner: what is charged to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from crucible.agents.replies import reply_event
from crucible.agents.types import Ending, Record, Task
from crucible.errors import Cause
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
from crucible.transcript.messages import Usage
from crucible.world.types import World

HOUR = 3600.0
REPLY = reply_event("done", (), Usage(), at=0.0, turn=1, seconds=0.1, waited=HOUR)


class Patient:
    """An agent whose provider made it wait for an hour, by its account. Implements Agent."""

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:  # noqa: ARG002 - it does no work
        """Record one reply."""
        record(REPLY)
        return Ending("finished", Cause.AGENT, "done")


def stored(folder: Path) -> AttemptRow:
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
        made = asyncio.run(run_attempt(where, Job(slots[0], ready, Validation(), Player(Patient()))))
        found = queries.attempt_row(store, made)
    assert found is not None
    return found


def test_waiting_for_a_provider_is_neither_the_attempts_time_nor_overhead(bench: Path) -> None:
    row = stored(bench)
    assert (HOUR, 0.0, 0.0) == (row.waited_seconds, row.seconds, row.overhead_seconds)
