"""Agents that speak the Agent Client Protocol, as real processes in the real sandbox."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from crucible.agents.mcp.plans import ServerPlan
from crucible.errors import Cause, HarnessError
from crucible.llm.loopback import Calls, Text
from crucible.transcript.events import Decided, Equipped
from tests.external.conftest import AGENTS, Place

pytestmark = pytest.mark.slow


def speaking(behaviour: str) -> dict[str, Any]:
    command = [sys.executable, str(AGENTS / "speaks_acp.py"), behaviour, "{base_url}", "{model}"]
    return {"command": command, "api": "openai", "protocol": "acp", "folders": [str(AGENTS)]}


def edit(path: str, text: str) -> Calls:
    return Calls([("edit", {"path": path, "text": text})])


def protecting(path: str, enforcement: str) -> list[dict[str, Any]]:
    matcher = {"tool": "write_file", "arg_key": "path", "op": "starts_with", "value": path}
    return [{"id": "P1", "rule": "Leave it alone.", "enforcement": enforcement, "matchers": [matcher]}]


def test_it_works_in_the_workspace_and_its_calls_and_usage_are_recorded(place: Place) -> None:
    script = [edit("greeting.txt", "bye\n"), Calls([("bash", {"command": "cat greeting.txt; pwd"})]), Text("done")]
    tried = place.attempt(script, speaking("plain"))
    assert ("finished", Cause.AGENT, "done") == (tried.ending.what, tried.ending.cause, tried.ending.detail)
    assert [(1, "edit", "written", True), (2, "execute", "bye\n/workspace\n", True)] == [
        (a.turn, a.tool, a.text, a.ok) for a in tried.answers
    ]
    assert [110, 110, 110] == [reply.billed for reply in tried.replies]
    assert ["greeting.txt"] == [file.path for file in tried.change.files]
    assert tried.requests[0]["messages"][0]["content"].startswith("Do it.\n\nYour budget: ")


def test_what_a_policy_blocks_gets_no_permission(place: Place) -> None:
    script = [edit("tests/check.txt", "x"), edit("greeting.txt", "bye\n"), Text("done")]
    tried = place.attempt(script, speaking("plain"), policies=protecting("tests/", "block"))
    assert [False, True] == [answer.ok for answer in tried.answers]
    (decided,) = tried.of(Decided)
    assert ("P1", "block", 1) == (decided.policy_id, decided.action, decided.turn)
    assert decided.call_id == tried.answers[0].call_id
    assert ["greeting.txt"] == [file.path for file in tried.change.files]


def test_a_policy_that_fails_ends_the_attempt(place: Place) -> None:
    script = [edit("tests/check.txt", "x"), edit("greeting.txt", "bye\n"), Text("done")]
    tried = place.attempt(script, speaking("plain"), policies=protecting("tests/", "fail"))
    assert ("policy_fail", Cause.AGENT) == (tried.ending.what, tried.ending.cause)


def test_tools_that_an_agent_did_not_offer_its_model_are_missed(place: Place) -> None:
    """This one takes no notice of the servers it is given."""
    graph = ServerPlan("graph", "a counter", ("python3", str(AGENTS / "counting_server.py")), shown=(AGENTS,))
    arm = {"extra_tools": ["graph"]}
    tried = place.attempt([Text("done")], speaking("plain"), servers={"graph": graph}, arm=arm)
    assert {"graph": ("graph__callers", "graph__rename")} == tried.of(Equipped)[0].offered
    assert "without the tools of graph" in (tried.noted("tools_not_offered") or "")


def test_a_limit_that_the_agent_reports_is_its_budget(place: Place) -> None:
    tried = place.attempt([Text("so far")], speaking("capped"))
    assert ("budget_turns", Cause.BUDGET) == (tried.ending.what, tried.ending.cause)


def test_an_agent_that_does_not_end_its_turn_meets_the_clock(place: Place) -> None:
    tried = place.attempt([Text("hm")], speaking("sleeps"), budget={"max_wall_clock_seconds": 6})
    assert ("budget_time", 1) == (tried.ending.what, len(tried.replies))


def test_an_agent_that_hangs_at_initialize_does_not_count(place: Place) -> None:
    with pytest.raises(HarnessError, match=r"did not initialize within 10 seconds; it said: I wait for something"):
        place.attempt([Text("hm")], speaking("hangs"), start_seconds=10)


def test_an_agent_that_dies_at_initialize_does_not_count(place: Place) -> None:
    with pytest.raises(HarnessError, match=r"did not initialize: .*; it said: no licence"):
        place.attempt([Text("hm")], speaking("dies"))
