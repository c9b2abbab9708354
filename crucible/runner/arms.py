"""From an arm to what plays it: the built-in loop, with or without tool servers, or a whole agent CLI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crucible.agents.builtin import builtin_tools
from crucible.agents.loop import LoopAgent
from crucible.agents.types import Agent
from crucible.llm.types import Model
from crucible.scenario.schema import Arm, Scenario
from crucible.settings import Settings

WITHOUT = "without extra tools"
"""How attempts are marked whose arm's tool servers were left out."""


@dataclass(frozen=True, slots=True)
class Player:
    """What plays an arm. `shown`: host folders its world shows; `leaves`: globs of what it leaves, never part of a change.

    `setup`: what is otherwise than the scenario says, empty for nothing.
    """

    agent: Agent
    shown: tuple[Path, ...] = ()
    leaves: tuple[str, ...] = ()
    setup: str = ""


@dataclass(frozen=True, slots=True)
class Instead:
    """What a run puts in the place of the tool servers a scenario names: nothing, or others by name."""

    without: bool = False
    tools: Mapping[str, str] | None = None

    def setup(self, arm: Arm) -> str:
        """The mark of an arm's attempts."""
        if self.without:
            return WITHOUT if arm.extra_tools else ""
        changed = {name: self.tools[name] for name in arm.extra_tools if self.tools and name in self.tools}
        return ", ".join(f"{name}={other}" for name, other in sorted(changed.items()))


AS_SAID = Instead()
"""What the scenario says, and nothing else."""


def player(arm: Arm, scenario: Scenario, settings: Settings, instead: Instead, model: Callable[[str], Model]) -> Player:
    """What plays an arm. Raises PreflightError or UsageError when it cannot be had here; nothing is started yet."""
    if arm.agent is not None:
        return _external(arm, scenario, settings, instead)
    asked = model(arm.model)
    if arm.tool_protocol == "json":
        from crucible.agents.json_actions import JsonActions

        asked = JsonActions(asked)
    if not arm.extra_tools or instead.without:
        return Player(LoopAgent(asked, builtin_tools()), setup=instead.setup(arm))
    from crucible.agents.mcp.agent import McpAgent
    from crucible.agents.mcp.plans import plan_servers

    servers = plan_servers(arm.extra_tools, scenario.servers, settings, instead.tools or {})
    return Player(
        McpAgent(asked, builtin_tools(), servers),
        shown=tuple(folder for server in servers.values() for folder in server.shown),
        leaves=tuple(glob for server in servers.values() for glob in server.leaves),
        setup=instead.setup(arm),
    )


def _external(arm: Arm, scenario: Scenario, settings: Settings, instead: Instead) -> Player:
    from crucible.agents.external.agent import ExternalCli
    from crucible.agents.external.plans import plan_agent
    from crucible.agents.mcp.plans import plan_servers

    names = () if instead.without else arm.extra_tools
    servers = plan_servers(names, scenario.servers, settings, instead.tools or {})
    planned = plan_agent(arm, scenario, settings, servers)
    return Player(
        ExternalCli(planned),
        shown=(*planned.shown, *(folder for server in servers.values() for folder in server.shown)),
        leaves=(*planned.leaves, *(glob for server in servers.values() for glob in server.leaves)),
        setup=instead.setup(arm),
    )
