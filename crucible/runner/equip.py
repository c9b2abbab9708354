"""What arms bring, checked before it costs anything: everything they name is there, and every tool server starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from crucible.errors import HarnessError, PreflightError, UsageError, nearest
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
from crucible.world.types import SandboxMode, World, WorldSpec

if TYPE_CHECKING:
    from crucible.agents.mcp.plans import ServerPlan
    from crucible.runner.choose import Chosen

Plans = Mapping[str, "ServerPlan"]


@dataclass(frozen=True, slots=True)
class Tried:
    """A tool server that was started once. `says`: who it says it is.

    `tools`: each tool offered, with the bytes the model is sent for it.
    """

    name: str
    what: str
    says: str
    tools: Mapping[str, int]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "bytes": sum(self.tools.values())}

    def line(self) -> str:
        """For a person, before the run."""
        size = sum(self.tools.values()) / 1000
        return f"{self.name}: {self.what}, {len(self.tools)} tools, {size:.1f} KB of schemas, started in {self.seconds:.1f} s"


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


async def check_equipment(bench: Path, chosen: Chosen, settings: Settings, say: Say) -> None:
    """Start every tool server of a run once, before anything is spent. Raises PreflightError."""
    if chosen.options.rehearse:
        return
    for one in chosen.loaded:
        arms = [arm for arm in one.scenario.arms if chosen.options.arm in (None, arm.id)]
        await check_servers(one, arms, bench, settings, chosen.mode, chosen.options.instead, say)


async def check_servers(
    loaded: LoadedScenario, arms: Sequence[Arm], bench: Path, settings: Settings, mode: SandboxMode, instead: Instead,
    say: Say,
) -> None:  # fmt: skip
    """Start each arm's tool servers once, in a fresh world of the scenario, and say what they are.

    Raises PreflightError with what a server said when one does not start. No model is asked.
    """
    done: list[Plans] = []
    for arm in arms:
        plans = planned(loaded.scenario, arm, settings, instead)
        if not plans or plans in done:
            continue
        done.append(plans)
        try:
            for tried in await try_servers(plans, loaded, bench, settings, mode):
                say(tried.line())
        except HarnessError as error:
            raise PreflightError(
                f"{loaded.scenario.name}, {arm.id}: {error.message}",
                hint=error.hint or f"look closer: crucible tools check {next(iter(plans))}",
            ) from error


async def try_servers(
    plans: Plans, loaded: LoadedScenario, bench: Path, settings: Settings, mode: SandboxMode
) -> list[Tried]:
    """Start servers in a fresh world of a scenario, list their tools, and end them. Raises HarnessError."""
    spec = prepare(loaded, bench, settings).world_spec(settings)
    with TemporaryDirectory(prefix="crucible-") as scratch:
        return await _try(plans, replace(spec, shown=_shown(plans)), mode, Path(scratch))


def _shown(plans: Plans) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folder for plan in plans.values() for folder in plan.shown))


async def _try(plans: Plans, spec: WorldSpec, mode: SandboxMode, scratch: Path) -> list[Tried]:
    world = make_world(spec, mode, scratch)
    try:
        await world.open()
        return [await _try_one(plan, world) for plan in plans.values()]
    finally:
        await world.close()


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
    return Tried(plan.name, plan.what, f"{server.hello.name} {server.hello.version}".strip(), sizes, seconds)


def _as_sent(spec: ToolSpec) -> dict[str, Any]:
    """As an opening holds it, so that the report says the same size."""
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
