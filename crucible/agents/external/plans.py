"""From an arm to the agent CLI that plays it: found, checked against what it can do, and its model's provider known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, get_args

from crucible.agents.external.connections import Connection
from crucible.agents.external.launch import Api, Launch, Source, Values, fill, places, reaching
from crucible.agents.external.locate import locate
from crucible.agents.external.presets import PRESETS, Preset
from crucible.agents.mcp.plans import ServerPlan
from crucible.errors import PreflightError, nearest
from crucible.llm.proxy import Dialect, Upstream, upstream_of
from crucible.policy.rules import guards_path
from crucible.scenario.schema import Arm, ExternalAgent, Scenario
from crucible.settings import Settings
from crucible.transcript.readers import FORMATS

APIS: Final[tuple[str, ...]] = get_args(Api)
DIALECTS: Final[Mapping[Api, Dialect]] = {
    "anthropic": "anthropic",
    "openai": "chat",
    "openai-responses": "responses",
    "gemini": "gemini",
}
LONGEST_ARGUMENT = 128 * 1024 - 1024
"""Bytes of the longest single argument that a program may be given, with some room."""


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """An agent CLI ready to be started. `shown`: host folders its sandbox shows; `version`: the command that prints it.

    `format` names the reader of its transcript, None when there is none for it; `source` says where the transcript is.
    `system_prompt` is the arm's own, None when it has none. `network`: whether the
    scenario has one. `leaves`: globs of what it leaves in the workspace.
    """

    name: str
    said: ExternalAgent
    preset: Preset | None
    program: tuple[str, ...]
    api: Api
    format: str | None
    source: Source
    upstream: Upstream
    version: tuple[str, ...]
    system_prompt: str | None = None
    network: bool = False
    shown: tuple[Path, ...] = ()
    leaves: tuple[str, ...] = ()
    servers: Mapping[str, ServerPlan] = field(default_factory=dict)

    @property
    def acp(self) -> bool:
        """Whether it is spoken to in the Agent Client Protocol."""
        return self.said.protocol == "acp"

    def launch(self, values: Values, connections: Sequence[Connection]) -> Launch:
        """The command, environment and files of one attempt."""
        if self.preset is None:
            command = (*self.program, *(fill(word, values) for word in (self.said.command or ())[1:]))
            launch = Launch(command, reaching(self.api, values.base_url))
        elif self.acp:
            # Its tool servers are told in the protocol.
            built = self.preset.build(self.program, values, ())
            speaking = (fill(word, values) for word in self.preset.acp or ())
            launch = Launch((*self.program, *speaking, *values.args), built.env, built.files)
        else:
            launch = self.preset.build(self.program, values, tuple(connections))
        own = {name: fill(value, values) for name, value in self.said.env.items()}
        return Launch(launch.command, {**launch.env, **own}, launch.files)


def plan_agent(arm: Arm, scenario: Scenario, settings: Settings, servers: Mapping[str, ServerPlan]) -> AgentPlan:
    """How the agent of an arm is started. Raises PreflightError for what cannot be had, or cannot be enforced on it."""
    said = arm.agent
    if said is None:
        raise PreflightError(f"{scenario.name}: arm {arm.id} has no agent")
    where = f"{scenario.name}: arm {arm.id}"
    preset = None if said.preset is None else PRESETS[said.preset]
    _refuse_policies(where, scenario)
    _refuse_texts(where, said, arm, scenario)
    _refuse_format(where, said)
    _refuse_folders(where, said)
    _refuse_servers(where, said, scenario, servers)
    if preset is not None:
        _refuse_lacking(where, preset, arm, servers)
    else:
        _refuse_incomplete(where, said, arm, scenario)
        _refuse_servers_of_own(where, said, servers)
    upstream = upstream_of(arm.model, settings)
    api = said.api or (preset.api if preset else "openai")
    if DIALECTS[api] not in upstream.dialects:
        raise PreflightError(
            f"{where}: {_name(said)} asks its model in the {api} API, which {arm.model} is not offered in",
            hint="choose a model of that provider, or give the address of a gateway under [models] in crucible.toml",
        )
    program = (said.command or (preset.program if preset else "",))[0]
    found = locate(program, said.folders)
    if found is None:
        raise _not_found(where, program, said, preset)
    return AgentPlan(
        name=_name(said),
        said=said,
        preset=preset,
        program=found.command,
        api=api,
        format=said.format or (preset.format if preset else None),
        source=preset.source if preset and said.format is None else "stdout",
        upstream=upstream,
        version=said.version or (preset.version(found.command) if preset else ()),
        system_prompt=arm.system_prompt,
        network=scenario.network,
        shown=found.shown,
        leaves=preset.leaves if preset else (),
        servers=servers,
    )


def _name(said: ExternalAgent) -> str:
    return said.preset or Path((said.command or ("agent",))[0]).name


def _not_found(where: str, program: str, said: ExternalAgent, preset: Preset | None) -> PreflightError:
    looked = f" in {', '.join(said.folders)}," if said.folders else ""
    get = f"install it ({preset.get}), or say" if preset else "say"
    return PreflightError(
        f"{where}: {_name(said)} is not here: no {program!r}{looked} on PATH or among npm's global packages",
        hint=f"{get} where it is with agent.folders in the scenario",
    )


def _refuse_policies(where: str, scenario: Scenario) -> None:
    """What an agent CLI calls is seen afterwards only: a rule that cannot be a wall is refused, not left out."""
    for policy in scenario.policies:
        loose = [matcher for matcher in policy.matchers if not guards_path(matcher)]
        if policy.enforcement != "warn" and loose:
            about = f"{loose[0].tool}.{loose[0].arg_key}"
            raise PreflightError(
                f"{where}: policy {policy.id!r} has `enforcement: {policy.enforcement}` on {about}, which cannot be enforced"
                " on an agent CLI: its calls are known only after they were made",
                hint="use `enforcement: warn`, which records them; paths of writing tools are protected by the sandbox",
            )


def _refuse_texts(where: str, said: ExternalAgent, arm: Arm, scenario: Scenario) -> None:
    """A program cannot be given an argument of any length, nor one with a zero byte in it."""
    told = {
        "system_prompt": arm.system_prompt or "",
        **({} if said.protocol == "acp" else {"task_prompt": scenario.task_prompt}),
    }
    for name, text in told.items():
        if "\0" in text or len(text.encode("utf-8", "replace")) > LONGEST_ARGUMENT:
            raise PreflightError(
                f"{where}: the {name} is longer than an argument of a program may be ({LONGEST_ARGUMENT:,} bytes), or has"
                " a zero byte in it",
                hint="put the long part into a file of the fixture and name it in the prompt",
            )


def _refuse_folders(where: str, said: ExternalAgent) -> None:
    for folder in said.folders:
        if not Path(folder).expanduser().is_dir():
            raise PreflightError(f"{where}: agent.folders names {folder!r}, which is no folder here")


def _refuse_format(where: str, said: ExternalAgent) -> None:
    if said.format is not None and said.format not in FORMATS:
        raise PreflightError(
            f"{where}: no transcript format {said.format!r}{nearest(said.format, FORMATS)}",
            hint=f"known: {', '.join(FORMATS)}",
        )


def _refuse_servers(where: str, said: ExternalAgent, scenario: Scenario, servers: Mapping[str, ServerPlan]) -> None:
    for name, server in servers.items():
        if server.url is not None and not scenario.network:
            raise PreflightError(
                f"{where}: tool server {name!r} is at {server.url}, which an agent CLI cannot reach from its sandbox",
                hint="give the server a command, so that it runs inside, or the scenario `network: true`",
            )
        if said.protocol == "acp" and (server.allow or server.deny):
            raise PreflightError(
                f"{where}: tool server {name!r} has `allow` or `deny`, which the Agent Client Protocol has no words for",
                hint="use `protocol: cli`, or offer all of its tools",
            )


def _refuse_lacking(where: str, preset: Preset, arm: Arm, servers: Mapping[str, ServerPlan]) -> None:
    """What the arm asks for and the agent has no way to take."""
    if arm.system_prompt is not None and not preset.system_prompt:
        raise PreflightError(
            f"{where}: {preset.name} takes no system prompt from outside, and the arm has one",
            hint="drop system_prompt; put the words into the task, or into a file the agent reads (AGENTS.md), for both arms",
        )
    if servers and not preset.extra_tools:
        raise PreflightError(
            f"{where}: {preset.name} has no tool servers, and the arm names {', '.join(servers)}",
            hint=f"agents that have them: {', '.join(name for name, one in PRESETS.items() if one.extra_tools)}",
        )
    if arm.agent is not None and arm.agent.protocol == "acp" and preset.acp is None:
        raise PreflightError(
            f"{where}: {preset.name} does not speak the Agent Client Protocol itself",
            hint="name its adapter with agent.command, or use `protocol: cli`",
        )


def _refuse_incomplete(where: str, said: ExternalAgent, arm: Arm, scenario: Scenario) -> None:
    """What a command of the user's own has to say, and what its places need."""
    if said.args:
        raise PreflightError(f"{where}: agent.args goes with a preset; put the arguments into agent.command")
    if said.api is None:
        raise PreflightError(
            f"{where}: agent.api is missing", hint=f"one of {', '.join(APIS)}: what it asks its model in"
        )
    if said.protocol == "cli" and said.format is None:
        raise PreflightError(f"{where}: agent.format is missing", hint=f"what it prints, one of {', '.join(FORMATS)}")
    held = places((*(said.command or ()), *said.env.values()))
    if said.protocol == "cli" and "prompt" not in held:
        raise PreflightError(
            f"{where}: agent.command has no place for {{prompt}}: the agent would not be told its task"
        )
    if arm.system_prompt is not None and "system_prompt" not in held:
        raise PreflightError(f"{where}: agent.command has no place for {{system_prompt}}, and the arm has one")
    if "max_cost_usd" in held and scenario.budget.max_cost_usd is None:
        raise PreflightError(f"{where}: agent.command has {{max_cost_usd}}, but the budget has no max_cost_usd")


def _refuse_servers_of_own(where: str, said: ExternalAgent, servers: Mapping[str, ServerPlan]) -> None:
    if servers and said.protocol == "cli":
        raise PreflightError(
            f"{where}: tool servers cannot be given to a command of your own: how it is configured is not known",
            hint="use a preset, or an agent that speaks the Agent Client Protocol",
        )
