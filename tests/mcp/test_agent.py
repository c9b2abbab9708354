"""A whole attempt with tool servers inside the sandbox: offered, called, ruled over, recorded and gone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from crucible.agents.builtin import builtin_tools
from crucible.agents.mcp.agent import McpAgent
from crucible.agents.mcp.naming import safe_names
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.rehearsal import ScriptedCall, ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.agents.types import Ending, Task
from crucible.errors import Cause, HarnessError
from crucible.scenario.schema import Budget, Matcher, Policy
from crucible.transcript.differing import differences
from crucible.transcript.events import Answered, Decided, Equipped, Event, Noted, Started
from crucible.transcript.opening import as_text, instructed, uninstructed
from crucible.world.types import Change, SandboxMode, World
from tests.mcp.conftest import HostWorld, Sandboxes, standin

KEY = "sk-standin-1234-5678"
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass
class Attempt:
    """One attempt by a script, and what was recorded of it."""

    servers: dict[str, ServerPlan]
    calls: list[tuple[str, dict[str, Any]]]
    policies: tuple[Policy, ...] = ()
    events: list[Event] = field(default_factory=list)

    async def run(self, world: World) -> Ending:
        turns = [ScriptedTurn(calls=(ScriptedCall(tool=tool, args=args),)) for tool, args in self.calls]
        agent = McpAgent(ScriptedModel([*turns, ScriptedTurn(say="done")]), builtin_tools(), self.servers)
        return await agent.attempt(Task("do it", "", self.policies, Budget()), world, self.events.append)

    async def change(self, world: World) -> Change:
        await self.run(world)
        return await world.change()

    def on_host(self, folder: Path) -> Ending:
        """Run it without a sandbox."""

        async def body() -> Ending:
            world = HostWorld(folder)
            try:
                return await self.run(world)  # type: ignore[arg-type]  # what the agent asks of a world is there
            finally:
                await world.close()

        return asyncio.run(body())

    def only(self, kind: type[Any]) -> Any:
        (event,) = self.of(kind)
        return event

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def answers(self) -> list[tuple[str, bool, str]]:
        return [(event.tool, event.ok, event.text) for event in self.of(Answered)]


def inside(*behaviour: str, **plan: Any) -> ServerPlan:
    return standin(*behaviour, python=SYSTEM_PYTHON, **plan)


# In the sandbox


@pytest.mark.parametrize("mode", ["overlay", "copy"])
def test_a_server_works_in_the_workspace_of_the_attempt_and_its_writes_are_the_change(
    sandboxes: Sandboxes, mode: SandboxMode
) -> None:
    attempt = Attempt({"demo": inside()}, [("demo__write", {"text": "hello"}), ("read_file", {"path": "written.txt"})])
    change = sandboxes.run(attempt.change, mode)
    assert ["written.txt"] == [file.path for file in change.files]
    assert [("demo__write", True, "written"), ("read_file", True)] == [attempt.answers[0], attempt.answers[1][:2]]
    assert "hello" in attempt.answers[1][2]


@pytest.mark.slow
def test_a_server_that_serves_http_inside_the_sandbox_is_asked_there(sandboxes: Sandboxes) -> None:
    attempt = Attempt(
        {
            "demo": inside("--port", "8123", port=8123),
            "slow": inside("--port", "8124", name="slow", port=8124, call_seconds=0.5),
        },
        [("demo__echo", {"text": "over http"}), ("slow__hang", {}), ("demo__die", {}), ("demo__echo", {"text": "?"})],
    )
    assert "finished" == sandboxes.run(attempt.run).what
    assert [(True, "over http"), (False, "hang of tool server slow did not answer within 0.5 seconds")] == [
        a[1:] for a in attempt.answers[:2]
    ]
    assert [(False, "tool server demo ended with exit code 7; it said:\nout of cheese")] * 2 == [
        a[1:] for a in attempt.answers[2:]
    ]


def test_an_agent_that_kills_its_server_goes_on_and_its_attempt_counts(sandboxes: Sandboxes) -> None:
    attempt = Attempt(
        {"demo": inside()}, [("bash", {"command": "pkill -f standin.py; sleep 0.2"}), ("demo__echo", {"text": "?"})]
    )
    ending = sandboxes.run(attempt.run)
    assert ("finished", Cause.AGENT) == (ending.what, ending.cause)
    assert ("demo__echo", False, "tool server demo was ended by SIGTERM") == attempt.answers[1]


def test_the_key_of_a_server_is_in_no_environment_of_the_agent_and_in_no_event(
    sandboxes: Sandboxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_KEY", KEY)
    attempt = Attempt(
        {"demo": inside(env_from=("STANDIN_KEY",), env={"PLAIN": "as it is"})},
        [("bash", {"command": "env"}), ("demo__environment", {})],
    )
    sandboxes.run(attempt.run)
    assert "STANDIN_KEY" not in attempt.answers[0][2]
    assert '"STANDIN_KEY": "[a key was here]"' in attempt.answers[1][2]
    opening = as_text(attempt.only(Started).opening)
    assert '"env":{"PLAIN":"as it is"},"env_from":["STANDIN_KEY"]' in opening
    assert KEY not in opening + "".join(event.model_dump_json() for event in attempt.events)


def test_nothing_of_a_server_is_left_after_the_attempt(sandboxes: Sandboxes) -> None:
    name = f"standin-{id(sandboxes)}"
    attempt = Attempt({"demo": inside(name), "other": inside(name, "hang-list", name="other", list_seconds=0.5)}, [])
    with pytest.raises(HarnessError):
        sandboxes.run(attempt.run)
    found = [p for p in Path("/proc").glob("[0-9]*/cmdline") if name.encode() in _read(p)]
    assert [] == found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_server_is_no_survivor(sandboxes: Sandboxes) -> None:
    attempt = Attempt({"demo": inside()}, [("demo__echo", {"text": "x"})])

    async def body(world: World) -> tuple[str, ...]:
        await attempt.change(world)
        return world.survivors

    assert () == sandboxes.run(body)


# What is recorded and offered


def test_what_was_started_is_recorded_before_the_first_request(tmp_path: Path) -> None:
    attempt = Attempt({"demo": standin("few"), "two": standin("few", name="two")}, [("two__echo", {"text": "x"})])
    attempt.on_host(tmp_path)
    equipped = attempt.events[0]
    assert isinstance(equipped, Equipped)
    assert {"demo": "standin 1.2.3 (stand-in)", "two": "standin 1.2.3 (stand-in)"} == equipped.servers
    assert {"demo": ("demo__echo",), "two": ("two__echo",)} == equipped.offered
    assert ("demo__echo", "two__echo") == attempt.only(Started).tools[-2:]
    assert [("two__echo", True, "x")] == attempt.answers


def test_noise_on_standard_output_is_recorded_once(tmp_path: Path) -> None:
    attempt = Attempt({"demo": standin("noise")}, [("demo__echo", {"text": "x"})])
    attempt.on_host(tmp_path)
    noted = attempt.only(Noted)
    assert ("server_noise", 1) == (noted.what, noted.turn - 1)
    assert noted.detail.startswith("demo: 3 lines of its standard output are no messages")


def test_equal_arms_have_equal_openings(tmp_path: Path) -> None:
    def opening() -> str:
        attempt = Attempt({"demo": standin("dotted")}, [])
        attempt.on_host(tmp_path)
        return as_text(attempt.only(Started).opening)

    assert opening() == opening()


def test_a_model_is_told_what_servers_want_it_to_know_and_that_is_a_difference_of_the_servers(tmp_path: Path) -> None:
    told, silent = (Attempt({"demo": inside(*how)}, []) for how in (["instructs"], []))
    for attempt in (told, silent):
        attempt.on_host(tmp_path)
    started, bare = told.only(Started), silent.only(Started)
    assert ("Instructions of the tool server demo:\nAsk echo first.?", "") == (
        started.system_prompt,
        bare.system_prompt,
    )
    assert started.system_prompt == started.opening["messages"][0]["content"]
    (part,) = differences(bare.opening, started.opening)
    assert ("server", "demo") == (part.kind, part.name)


@pytest.mark.parametrize("prompt", ["", "Work.", "Work.\n\n", "Instructions of the tool server a:\nx"])
def test_a_system_prompt_can_be_told_from_what_servers_added_to_it(prompt: str) -> None:
    said = {"b": "y\n\nz", "a": "x", "silent": ""}
    opening = {"environment": {"servers": {name: {"instructions": text} for name, text in said.items()}}}
    assert prompt == uninstructed(instructed(prompt, said), opening)
    assert prompt == instructed(prompt, {"silent": ""})
    assert "another" == uninstructed("another", opening)


@pytest.mark.parametrize(("name", "place"), [("demo__a.b", 0), ("demo__a_b", 1)])
def test_a_policy_names_a_tool_as_the_server_does_whatever_the_model_sees(
    tmp_path: Path, name: str, place: int
) -> None:
    matcher = Matcher(tool=name, arg_key="text", op="contains", value="secret")
    rule = Policy(id="no-echo", rule="Do not repeat secrets.", enforcement="block", matchers=(matcher,))
    seen = safe_names([("demo", "a.b"), ("demo", "a_b")], [])
    attempt = Attempt({"demo": standin("dotted")}, [(tool, {"text": "a secret"}) for tool in seen], policies=(rule,))
    attempt.on_host(tmp_path)
    assert (seen[place], False) == next((tool, ok) for tool, ok, text in attempt.answers if "policy no-echo" in text)
    assert ["no-echo"] == [event.policy_id for event in attempt.of(Decided)]


def test_a_call_that_does_not_fit_the_schema_never_reaches_the_server(tmp_path: Path) -> None:
    attempt = Attempt({"demo": standin()}, [("demo__echo", {}), ("demo__ekko", {})])
    attempt.on_host(tmp_path)
    assert "The arguments of demo__echo do not fit it" in attempt.answers[0][2]
    assert "There is no tool 'demo__ekko'; did you mean 'demo__echo'?" in attempt.answers[1][2]


def test_a_hanging_call_takes_no_more_than_the_attempt_has(tmp_path: Path) -> None:
    attempt = Attempt({"demo": standin(call_seconds=60.0)}, [("demo__hang", {})])

    async def body() -> Ending:
        world = HostWorld(tmp_path)
        # Twice, as the clock that ends a call may be a hair ahead of the budget's.
        hang = ScriptedTurn(calls=(ScriptedCall(tool="demo__hang", args={}),))
        model = ScriptedModel([hang, hang, ScriptedTurn(say="done")])
        task = Task("do it", "", (), Budget(max_wall_clock_seconds=1.5))
        try:
            agent = McpAgent(model, builtin_tools(), attempt.servers)
            return await agent.attempt(task, world, attempt.events.append)  # type: ignore[arg-type] # what it asks is there
        finally:
            await world.close()

    assert "budget_time" == asyncio.run(body()).what
    answers = [event for event in attempt.events if isinstance(event, Answered)]
    assert answers[0].timed_out


# What fails before the first request


def test_servers_start_side_by_side_and_the_first_failure_is_the_attempts(tmp_path: Path) -> None:
    attempt = Attempt(
        {"slow": standin("hang", name="slow", start_seconds=600.0), "bad": standin("print-and-die", name="bad")}, []
    )
    began = monotonic()
    with pytest.raises(HarnessError, match=r"tool server bad: .*exit code 3"):
        attempt.on_host(tmp_path)
    assert monotonic() - began < 300  # the slow one has ten minutes
    assert [] == attempt.events


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (standin("empty"), "lists no tools"),
        (standin("twice"), "lists 'echo' twice"),
        (standin(allow=("ecco",)), "has no tool 'ecco', which `allow` names; did you mean 'echo'?"),
        (standin(deny=("pictures",)), "has no tool 'pictures', which `deny` names; did you mean 'picture'?"),
        (standin(allow=("echo",), deny=("echo",)), "is left with no tools"),
        (standin("bad-schema"), "the input schema of 'strange' cannot be sent: its type is 'string'"),
        (standin("array-schema"), "the input schema of 'strange' cannot be sent: it is list, not an object"),
        (standin("ref-schema"), "the input schema of 'strange' cannot be sent: '#/$defs/A' leads nowhere"),
    ],
)
def test_tools_that_cannot_be_offered_are_named_before_the_first_request(
    tmp_path: Path, plan: ServerPlan, said: str
) -> None:
    attempt = Attempt({"demo": plan}, [])
    with pytest.raises(HarnessError) as caught:
        attempt.on_host(tmp_path)
    assert f"tool server demo {said}" in caught.value.message.replace("demo: the", "demo the")
    assert [] == attempt.events


def test_a_tool_that_cannot_be_sent_does_no_harm_when_it_is_denied(tmp_path: Path) -> None:
    attempt = Attempt({"demo": standin("bad-schema", deny=("strange",))}, [("demo__echo", {"text": "x"})])
    attempt.on_host(tmp_path)
    assert [("demo__echo", True, "x")] == attempt.answers
