"""Agents as real processes in a real sandbox, their model a scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crucible.agents.external.agent import ExternalCli
from crucible.agents.external.plans import AgentPlan, plan_agent
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.types import Ending, Task
from crucible.llm.loopback import LoopbackServer
from crucible.scenario.schema import Scenario
from crucible.settings import Settings
from crucible.transcript.events import Answered, Event, Noted, Replied, Started
from crucible.world import make_world
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Change, Limits, SandboxMode, Snapshot, WorldSpec

AGENTS = Path(__file__).parent / "agents"
MODEL = "openai/tiny"
KEY = "sk-loopback-0123456789abcdef"


def scenario_of(agent: dict[str, Any], **said: Any) -> Scenario:
    """A scenario whose first arm is that agent."""
    arm = {"id": "agent", "model": MODEL, "agent": agent, **said.pop("arm", {})}
    base = {
        "name": "tried",
        "fixture_path": "fixture",
        "test_command": "true",
        "reference_fix": "REFERENCE_FIX.md",
        "task_prompt": "Do it.",
        "arms": [arm, {"id": "baseline", "model": MODEL}],
        "rubric": {"dimensions": [{"name": "correctness", "weight": 1.0, "criteria": "works"}]},
    }
    return Scenario.model_validate(_frozen({**base, **said}))


def _frozen(value: Any) -> Any:
    """Lists as the tuples that a scenario file is read into."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def settings_for(url: str, model: str = MODEL) -> Settings:
    """Settings by which that model is the scripted server's."""
    # With a price, so that no list of prices has to be loaded.
    prices = {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0}
    return Settings.model_validate({"models": {model: {"api_base": url, "api_key_env": "TRIED_KEY", **prices}}})


def scripted(behaviour: str, **said: Any) -> dict[str, Any]:
    """The scripted agent as a scenario says it."""
    command = ["python3", str(AGENTS / "scripted.py"), behaviour, "{base_url}", "{model}", "{prompt}"]
    return {"command": command, "api": "openai", "format": "openai-chat", "folders": [str(AGENTS)], **said}


@dataclass
class Tried:
    """What came of an attempt."""

    ending: Ending
    events: list[Event]
    change: Change
    survivors: tuple[str, ...]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def replies(self) -> list[Replied]:
        return self.of(Replied)

    @property
    def answers(self) -> list[Answered]:
        return self.of(Answered)

    @property
    def started(self) -> Started:
        (started,) = self.of(Started)
        return started

    def noted(self, what: str) -> str | None:
        return next((note.detail for note in self.of(Noted) if note.what == what), None)


@dataclass
class Place:
    """Where attempts are tried. `events` are those of the last one, also when it raised."""

    snapshot: Snapshot
    scratch: Path
    events: list[Event] = field(default_factory=list)

    def attempt(
        self,
        script: Any,
        agent: dict[str, Any],
        *,
        mode: SandboxMode = "overlay",
        limits: Limits | None = None,
        protected: Sequence[str] = (),
        start_seconds: float = 600.0,
        servers: Mapping[str, ServerPlan] | None = None,
        base: str = "base_url",
        **said: Any,
    ) -> Tried:
        """One attempt by that agent, its model answering from the script."""
        with LoopbackServer(script) as server:
            scenario = scenario_of(agent, **said)
            settings = settings_for(getattr(server, base), scenario.arms[0].model)
            planned = plan_agent(scenario.arms[0], scenario, settings, servers or {})
            tried = asyncio.run(
                self._attempt(planned, scenario, mode, limits or Limits(), tuple(protected), start_seconds)
            )
            tried.requests = server.requests
            return tried

    async def _attempt(
        self,
        planned: AgentPlan,
        scenario: Scenario,
        mode: SandboxMode,
        limits: Limits,
        protected: tuple[str, ...],
        start_seconds: float,
    ) -> Tried:
        self.events = []
        shown = (*planned.shown, *(folder for server in planned.servers.values() for folder in server.shown))
        spec = WorldSpec(self.snapshot, protected=protected, shown=shown, limits=limits)
        world = make_world(spec, mode, self.scratch)
        task = Task(scenario.task_prompt, "not told to an agent CLI", scenario.policies, scenario.budget)
        try:
            await world.open()
            ending = await ExternalCli(planned, start_seconds).attempt(task, world, self.events.append)
            return Tried(ending, self.events, await world.change(), world.survivors)
        finally:
            await world.close()


@pytest.fixture
def make_place(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Place]:
    """A place with a small fixture, and the model's key in the environment."""

    def make() -> Place:
        monkeypatch.setenv("TRIED_KEY", KEY)
        folder = tmp_path / "fixture"
        (folder / "tests").mkdir(parents=True)
        (folder / "greeting.txt").write_text("hello\n")
        (folder / "tests" / "check.txt").write_text("check\n")
        return Place(take_snapshot(folder, cache), tmp_path / "scratch")

    return make


@pytest.fixture
def place(make_place: Callable[[], Place], sandbox: None) -> Place:
    """A place where the sandbox works; elsewhere the test is skipped with the reason."""
    return make_place()
