"""A real agent CLI with a tool server: it starts the server itself, inside, and sees only the tools it may."""

from __future__ import annotations

from functools import partial

import pytest

from crucible.agents.mcp.plans import ServerPlan
from crucible.errors import HarnessError
from crucible.llm.loopback import Calls, Text, for_agent
from crucible.transcript.events import Equipped
from tests.external.conftest import AGENTS, Place
from tests.external.real import from_npm

pytestmark = pytest.mark.slow
COMMAND = ("python3", str(AGENTS / "counting_server.py"))
CLAUDE = {"arm": {"model": "anthropic/claude-sonnet-4-6", "extra_tools": ["graph"]}, "base": "root_url"}


def claude_code() -> dict[str, object]:
    folder = from_npm("claude-code", "@anthropic-ai/claude-code").parent
    return {"preset": "claude-code", "folders": [str(folder)]}


def test_an_allowed_tool_is_offered_called_and_named_as_ours_and_the_others_are_hidden(place: Place) -> None:
    script = for_agent([Calls([("mcp__graph__callers", {})]), Text("done")])
    graph = ServerPlan("graph", "a counter", COMMAND, allow=("callers",), shown=(AGENTS,))
    tried = place.attempt(script, claude_code(), servers={"graph": graph}, **CLAUDE)
    (equipped,) = tried.of(Equipped)
    assert ({"graph": "counting 4.5.6 (a counter)"}, {"graph": ("graph__callers",)}) == (
        equipped.servers,
        equipped.offered,
    )
    assert ["graph__callers"] == [name for name in tried.started.tools if name.startswith("graph__")]
    assert [("graph__callers", "called callers", True)] == [(a.tool, a.text, a.ok) for a in tried.answers]
    assert tried.started.opening is not None
    assert "a counter" == tried.started.opening["environment"]["servers"]["graph"]["what"]


OPENAI = {"arm": {"model": "openai/gpt-5-mini", "extra_tools": ["graph"]}}


def openai_agent(preset: str, package: str) -> dict[str, object]:
    return {"preset": preset, "folders": [str(from_npm(preset, package).parent)]}


WAITING = {
    "claude-code": (claude_code, CLAUDE, "mcp__graph__callers", 8),
    "codex": (partial(openai_agent, "codex", "@openai/codex"), OPENAI, "mcp__graph__callers", 8),
    "opencode": (partial(openai_agent, "opencode", "opencode-ai"), OPENAI, "graph_callers", 35),
}
"""An agent, the name of a tool as it has it, and seconds for which it does not wait by itself."""


@pytest.mark.parametrize("agent", WAITING)
def test_an_agent_waits_for_a_server_that_takes_its_time_to_start(place: Place, agent: str) -> None:
    """Else the model is asked without the tools, on a busy machine more often, and the treatment is never tried. What the
    server takes is not taken from the time that the agent itself has to start."""
    made, said, tool, seconds = WAITING[agent]
    graph = ServerPlan("graph", "a slow counter", (*COMMAND, str(seconds)), shown=(AGENTS,), start_seconds=600)
    script = for_agent([Calls([(tool, {})]), Text("done")])
    tried = place.attempt(script, made(), servers={"graph": graph}, start_seconds=1, **said)
    assert "graph__callers" in tried.started.tools
    assert [("graph__callers", True)] == [(a.tool, a.ok) for a in tried.answers]
    assert None is tried.noted("tools_not_offered")


def test_codex_which_groups_tools_by_server_calls_one_in_its_group(place: Place) -> None:
    folder = from_npm("codex", "@openai/codex").parent
    graph = ServerPlan("graph", "a counter", COMMAND, shown=(AGENTS,))
    script = for_agent([Calls([("mcp__graph__callers", {})]), Text("done")])
    codex = {"preset": "codex", "folders": [str(folder)]}
    arm = {"model": "openai/gpt-5-mini", "extra_tools": ["graph"]}
    tried = place.attempt(script, codex, servers={"graph": graph}, arm=arm)
    assert "graph__callers" in tried.started.tools
    assert [("graph__callers", True)] == [(a.tool, a.ok) for a in tried.answers]
    assert "called callers" in tried.answers[0].text


def test_a_server_that_does_not_start_is_the_harness_s_fault_and_no_model_is_asked(place: Place) -> None:
    graph = ServerPlan("graph", "broken", ("python3", "-c", "raise SystemExit('no licence')"))
    with pytest.raises(HarnessError, match=r"(?s)tool server graph.*no licence"):
        place.attempt([], claude_code(), servers={"graph": graph}, **CLAUDE)
    assert [] == place.events
