"""What arms bring, checked before it costs anything: everything they name is there, and every tool server starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from crucible.errors import HarnessError, PreflightError, SandboxError, UsageError, nearest
from crucible.runner.arms import Instead, player
from crucible.runner.checks import Say
from crucible.runner.models import make_model
from crucible.runner.prepare import prepare
from crucible.scenario.load import LoadedScenario
from crucible.scenario.schema import Arm, Scenario
from crucible.settings import Settings
from crucible.transcript.messages import ToolSpec
from crucible.transcript.opening import as_text
from crucible.world import make_world
from crucible.world.leavings import without_leavings
from crucible.world.types import SandboxMode, World, WorldSpec

if TYPE_CHECKING:
    from crucible.agents.mcp.plans import ServerPlan
    from crucible.agents.mcp.server import ToolServer
    from crucible.runner.choose import Chosen

MOST_NAMED = 5
"""Files a warning names."""
Plans = Mapping[str, "ServerPlan"]
Equipment = Mapping[str, Mapping[str, Sequence["Tried"]]]
"""The tool servers that were tried, by scenario, then by arm."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A tool server that was started once, and ended. `says`: who it says it is.

    `tools`: each tool offered, with the bytes the model is sent for it; `instructions`: the bytes of those it is given
    with every request. `server` holds all that it said.
    """

    name: str
    what: str
    says: str
    tools: Mapping[str, int]
    seconds: float
    instructions: int
    server: ToolServer = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        said = {key: getattr(self, key) for key in ("name", "what", "says", "tools", "instructions", "seconds")}
        return {**said, "bytes": sum(self.tools.values())}

    def line(self) -> str:
        """For a person, before the run."""
        size = sum(self.tools.values()) / 1000
        told = f" and {self.instructions:,} bytes of instructions" if self.instructions else ""
        tools = f"{len(self.tools)} tools, {size:.1f} KB of schemas{told}"
        return f"{self.name}: {self.what}, {tools}, started in {self.seconds:.1f} s"


def check_replaced(tools: Mapping[str, str], arms: Iterable[Arm]) -> None:
    """Every tool server that another is put in the place of is one an arm has. Raises UsageError."""
    known = sorted({name for arm in arms for name in arm.extra_tools})
    for name, other in tools.items():
        if name not in known:
            raise UsageError(
                f"--tools {name}={other}: no arm that is run has a tool server {name!r}{nearest(name, known)}",
                hint=f"they have {', '.join(known)}" if known else "they have none (extra_tools)",
            )


def check_arms(scenario: Scenario, arms: Iterable[Arm], settings: Settings, instead: Instead) -> None:
    """Everything that arms bring is there; nothing is started. Raises PreflightError or UsageError."""
    for arm in arms:
        try:
            player(arm, scenario, settings, instead, lambda name: make_model(name, settings))
        except UsageError as error:
            raise PreflightError(f"{scenario.name}: {error.message}", hint=error.hint) from None


def planned(scenario: Scenario, arm: Arm, settings: Settings, instead: Instead) -> Plans:
    """The plan of each tool server an arm gets in a run."""
    if not arm.extra_tools or instead.without:
        return {}
    from crucible.agents.mcp.plans import plan_servers

    return plan_servers(arm.extra_tools, scenario.servers, settings, instead.tools or {})


def what_runs(scenario: Scenario, arms: Iterable[Arm], settings: Settings, instead: Instead) -> Iterator[str]:
    """For a dry run: which tool servers each arm gets."""
    for arm in arms:
        if arm.extra_tools and instead.without:
            yield f"{scenario.name}  {arm.id}: without {', '.join(arm.extra_tools)}"
        for name, plan in planned(scenario, arm, settings, instead).items():
            yield f"{scenario.name}  {arm.id}: {name} is {plan.what}"


async def check_equipment(bench: Path, chosen: Chosen, settings: Settings, say: Say) -> Equipment:
    """Start every tool server of a run once, before anything is spent. Raises PreflightError."""
    tried: dict[str, Mapping[str, Sequence[Tried]]] = {}
    for one in () if chosen.options.rehearse else chosen.loaded:
        arms = [arm for arm in one.scenario.arms if chosen.options.arm in (None, arm.id)]
        found = await check_servers(one, arms, bench, settings, chosen.mode, chosen.options.instead, say)
        tried[one.scenario.name] = found
    return tried


async def check_servers(
    loaded: LoadedScenario, arms: Sequence[Arm], bench: Path, settings: Settings, mode: SandboxMode, instead: Instead,
    say: Say,
) -> dict[str, list[Tried]]:  # fmt: skip
    """Start each arm's tool servers once, in a fresh world of the scenario, and say what they are.

    What was tried, by arm. Raises PreflightError with what a server said when one does not start. No model is asked.
    """
    done: list[tuple[Plans, list[Tried]]] = []
    by_arm: dict[str, list[Tried]] = {}
    for arm in arms:
        plans = planned(loaded.scenario, arm, settings, instead)
        if (before := next((tried for same, tried in done if same == plans), None)) is not None or not plans:
            by_arm[arm.id] = before or []
            continue
        try:
            by_arm[arm.id] = await try_servers(plans, loaded, bench, settings, mode, say)
            done.append((plans, by_arm[arm.id]))
            for tried in by_arm[arm.id]:
                say(tried.line())
        except HarnessError as error:
            raise PreflightError(
                f"{loaded.scenario.name}, {arm.id}: {error.message}",
                hint=error.hint or f"look closer: crucible tools check {next(iter(plans))}",
            ) from error
    return by_arm


async def try_servers(
    plans: Plans, loaded: LoadedScenario, bench: Path, settings: Settings, mode: SandboxMode, say: Say
) -> list[Tried]:
    """Start servers in a fresh world of a scenario, list their tools, and end them. Raises HarnessError.

    Says what they leave in the workspace that nobody declared: it would be in the change of every attempt.
    """
    spec = prepare(loaded, bench, settings).world_spec(settings)
    with TemporaryDirectory(prefix="crucible-") as scratch:
        tried, left = await _try(plans, replace(spec, shown=_shown(plans)), mode, Path(scratch))
    if left:
        more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
        say(f"warning: {', '.join(plans)}: left {', '.join(left[:MOST_NAMED])}{more} in the workspace by starting, which "
            "will count as the agent's change: name it under `leaves`")  # fmt: skip
    return tried


def _shown(plans: Plans) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folder for plan in plans.values() for folder in plan.shown))


async def _try(plans: Plans, spec: WorldSpec, mode: SandboxMode, scratch: Path) -> tuple[list[Tried], list[str]]:
    """The servers, and what they left in the workspace that is not among their `leaves`."""
    world = make_world(spec, mode, scratch)
    try:
        await world.open()
        tried = [await _hinted(plan, world, spec) for plan in plans.values()]
        change = without_leavings(await world.change(), [glob for plan in plans.values() for glob in plan.leaves])
        return tried, sorted(change.paths)
    finally:
        await world.close()


async def _hinted(plan: ServerPlan, world: World, spec: WorldSpec) -> Tried:
    """Try one server; where it fails, with what may be the reason."""
    from crucible.agents.mcp.plans import startup_hint

    try:
        return await _try_one(plan, world)
    except HarnessError as error:
        if error.hint is None and world.mode == "overlay" and not isinstance(error, SandboxError):
            seen = (*spec.shown, *spec.toolchain)
            error.hint = startup_hint(plan, error.message, seen, network=spec.network)
        raise


async def _try_one(plan: ServerPlan, world: World) -> Tried:
    from crucible.agents.mcp.naming import offered
    from crucible.agents.mcp.server import ToolServer

    server, began = ToolServer(plan, world), monotonic()
    try:
        await server.start()
        seconds = monotonic() - began
        specs = [tool.spec for tool in offered([(plan, server.listed)], ())]
    finally:
        await server.close()
    sizes = {spec.name: len(as_text(_as_sent(spec))) for spec in specs}
    says, told = f"{server.hello.name} {server.hello.version}".strip(), len(server.hello.instructions.encode())
    return Tried(plan.name, plan.what, says, sizes, seconds, told, server)


def _as_sent(spec: ToolSpec) -> dict[str, Any]:
    """As an opening holds it, so that the report says the same size."""
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
