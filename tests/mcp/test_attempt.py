"""An attempt with a tool server through the runner: what is stored, what is no change, what does not count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crucible.agents.builtin import builtin_tools
from crucible.agents.mcp.agent import McpAgent
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.rehearsal import ScriptedCall, ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.runner.arms import Player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.plan import plan
from crucible.runner.prepare import prepare, resolve_mode
from crucible.runner.run import new_run, store_plan
from crucible.runner.validate import Validation, scenario_row
from crucible.scenario.load import load_scenario
from crucible.settings import load_settings
from crucible.store.tables import AttemptRow
from crucible.store.writes import Store
from tests.mcp.conftest import SERVERS, standin

CALLS = (
    ("demo__echo", {"text": "x"}),
    ("edit_file", {"path": "shelf/pages.py", "old": "size - 1]", "new": "size]"}),
    ("bash", {"command": "mkdir -p .demo && touch .demo/index"}),
    ("demo__die", {}),
    ("demo__echo", {"text": "y"}),
)


def stored(folder: Path, server: ServerPlan) -> AttemptRow:
    """The stored row of one scripted attempt with that server."""
    scenario = folder / "scenarios" / "first-bug.md"
    scenario.write_text(scenario.read_text().replace("python3 -m pytest -q", "'true'"))
    settings = load_settings(folder)
    ready = prepare(load_scenario(scenario, folder), folder, settings)
    mode, _ = resolve_mode(settings)
    if mode != "overlay":
        pytest.skip("no sandbox here")
    turns = [ScriptedTurn(calls=(ScriptedCall(tool=tool, args=args),)) for tool, args in CALLS]
    agent = McpAgent(ScriptedModel([*turns, ScriptedTurn(say="done")]), builtin_tools(), {"demo": server})
    plays = Player(agent, shown=(SERVERS,), leaves=(".demo/**",), setup="demo=stand-in")
    with Store(folder / "bench.db") as store:
        store.ensure(scenario_row(ready))
        slots = plan([(ready.hash, ready.scenario)], 1, 0)
        columns: dict[str, Any] = {"judge": "facts", "samples": 1, "parallel": 1, "max_cost": None}
        run = new_run(str(folder), mode, rehearsal=True, seed=0, blocks=1, without_extra_tools=False, **columns)
        where = Bench(store, settings, mode, folder / "scratch", store_plan(store, run, slots), rehearsal=True)
        made = asyncio.run(run_attempt(where, Job(slots[0], ready, Validation(), plays)))
        with store.reading() as session:
            row = session.get(AttemptRow, made)
            assert row is not None
            session.expunge(row)
            return row


@pytest.mark.slow
def test_what_really_ran_is_stored_with_the_attempt_and_what_it_leaves_is_no_change(bench: Path) -> None:
    row = stored(bench, standin(python="/usr/bin/python3"))
    assert ("finished", True, "demo=stand-in") == (row.ending, row.counted, row.setup)
    assert {"demo": "standin 1.2.3 (stand-in)"} == row.servers
    assert (5, 6) == (row.tool_calls, row.turns)
    assert ".demo" not in (row.diff or "")


@pytest.mark.slow
def test_a_server_that_does_not_start_is_the_harness_and_its_attempt_does_not_count(bench: Path) -> None:
    row = stored(bench, standin("print-and-die", python="/usr/bin/python3"))
    assert ("harness", "harness", False, 0) == (row.ending, row.cause, row.counted, row.turns)
    assert "tool server demo: did not shake hands: it ended with exit code 3; it said:\nno licence found" in row.detail
