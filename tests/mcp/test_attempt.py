"""An attempt with a tool server through the runner: what is stored, what is no change, what does not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.agents.builtin import builtin_tools
from crucible.agents.mcp.agent import McpAgent
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.rehearsal import ScriptedCall, ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.runner.arms import Player
from crucible.store.tables import AttemptRow
from tests.mcp.conftest import SERVERS, standin
from tests.runner.one_attempt import stored

CALLS = (
    ("demo__echo", {"text": "x"}),
    ("edit_file", {"path": "shelf/pages.py", "old": "size - 1]", "new": "size]"}),
    ("bash", {"command": "mkdir -p .demo && touch .demo/index"}),
    ("demo__die", {}),
    ("demo__echo", {"text": "y"}),
)


def row_with(folder: Path, server: ServerPlan) -> AttemptRow:
    """The stored row of one scripted attempt with that server."""
    turns = [ScriptedTurn(calls=(ScriptedCall(tool=tool, args=args),)) for tool, args in CALLS]
    agent = McpAgent(ScriptedModel([*turns, ScriptedTurn(say="done")]), builtin_tools(), {"demo": server})
    return stored(folder, Player(agent, shown=(SERVERS,), leaves=(".demo/**",), setup="demo=stand-in"))


@pytest.mark.slow
def test_what_really_ran_is_stored_with_the_attempt_and_what_it_leaves_is_no_change(bench: Path) -> None:
    row = row_with(bench, standin(python="/usr/bin/python3"))
    assert ("finished", True, "demo=stand-in") == (row.ending, row.counted, row.setup)
    assert {"demo": "standin 1.2.3 (stand-in)"} == row.servers
    assert (5, 6) == (row.tool_calls, row.turns)
    assert ".demo" not in (row.diff or "")


@pytest.mark.slow
def test_a_server_that_does_not_start_is_the_harness_and_its_attempt_does_not_count(bench: Path) -> None:
    row = row_with(bench, standin("print-and-die", python="/usr/bin/python3"))
    assert ("harness", "harness", False, 0) == (row.ending, row.cause, row.counted, row.turns)
    assert "tool server demo: did not shake hands: it ended with exit code 3; it said:\nno licence found" in row.detail
