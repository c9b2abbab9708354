"""`crucible run` before anything is spent: which scenarios, arms, models and judge, and every check that costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crucible.errors import UsageError, nearest
from crucible.judging.versions import FACTS
from crucible.runner.arms import Instead
from crucible.runner.checks import Say, announced_mode, refuse_unenforceable
from crucible.runner.declare import Declared, blocks_of, check_declared
from crucible.runner.equip import check_arms, check_replaced
from crucible.runner.judge import SCRIPTED, JudgeChoice
from crucible.runner.models import check_models, check_prices
from crucible.runner.twins import twinned
from crucible.scenario.catalog import get_scenario
from crucible.scenario.load import LoadedScenario
from crucible.scenario.schema import Arm, Scenario
from crucible.settings import Settings
from crucible.world.types import SandboxMode


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asked of one run. `against_itself` names the arm of an A/A run; `tools`, for tool servers by name,
    those that take their place.
    """

    names: tuple[str, ...]
    blocks: int | None = None
    seed: int | None = None
    arm: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    parallel: int | None = None
    max_cost: float | None = None
    judge: str | None = None
    judge_samples: int | None = None
    rehearse: bool = False
    without_extra_tools: bool = False
    tools: Mapping[str, str] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    against_itself: str | None = None

    @property
    def instead(self) -> Instead:
        """What the run puts in the place of tool servers."""
        return Instead(self.without_extra_tools, self.tools)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run that passed every check that costs nothing. Each scenario's `blocks` are those that will be planned."""

    options: Options
    loaded: tuple[LoadedScenario, ...]
    judge: JudgeChoice
    mode: SandboxMode


def choose(bench: Path, options: Options, settings: Settings, say: Say) -> Chosen:
    """Load the scenarios with the models asked for, and check all that can be checked for free."""
    check_declared(options.declared, blocks=options.blocks, arm=options.arm)
    found = [get_scenario(bench, name) for name in dict.fromkeys(options.names)]
    blocks = blocks_of(options.declared, options.blocks, [one.scenario.blocks for one in found])
    loaded = tuple(_as_asked(one, options, planned) for one, planned in zip(found, blocks, strict=True))
    _check_tools(options, [arm for one in loaded for arm in arms_of(one.scenario, options)])
    mode = announced_mode(settings, say)
    judge = _judge_choice(options, settings, [one.scenario for one in loaded])
    for one in loaded:
        refuse_unenforceable(one, mode)
        if not options.rehearse:
            arms = arms_of(one.scenario, options)
            check_arms(one.scenario, arms, settings, options.instead)
            check_prices(one.scenario, arms, settings, options.max_cost)
    if not options.rehearse:
        names = [arm.model for one in loaded for arm in arms_of(one.scenario, options)]
        check_models([*names, *([judge.model] if judge.model != FACTS else [])], settings)
        warn_of_family(judge.model, names, say)
    return Chosen(options, loaded, judge, mode)


def warn_of_family(judge: str, models: Sequence[str], say: Say) -> None:
    """Say when a judge would score models of its own kind."""
    if judge == FACTS:
        return
    from crucible.llm.keys import family

    for model in sorted({m for m in models if family(m) == family(judge)}):
        say(f"warning: the judge {judge} is of the same family as {model}; a judge tends to prefer its own kind")


def _check_tools(options: Options, arms: Sequence[Arm]) -> None:
    """Other tool servers can only take the place of servers that would be started. Raises UsageError."""
    if options.tools and options.without_extra_tools:
        raise UsageError("--tools and --without-extra-tools contradict each other", hint="give one of them")
    if options.tools and options.rehearse:
        raise UsageError("--tools: a rehearsal starts no tool servers", hint="leave it out, or leave out --rehearse")
    check_replaced(options.tools, arms)


def arms_of(scenario: Scenario, options: Options) -> list[Arm]:
    """The arms that are run."""
    return [arm for arm in scenario.arms if options.arm in (None, arm.id)]


def _as_asked(loaded: LoadedScenario, options: Options, blocks: int) -> LoadedScenario:
    """The scenario with the models, the number of blocks and, for an A/A run, the one arm asked for."""
    scenario = loaded.scenario
    known = [arm.id for arm in scenario.arms]
    named = [*options.models, *(arm for arm in (options.arm, options.against_itself) if arm is not None)]
    for arm in named:
        if arm not in known:
            raise UsageError(
                f"{scenario.name} has no arm {arm!r}{nearest(arm, known)}", hint=f"its arms: {', '.join(known)}"
            )
    arms = tuple(arm.model_copy(update={"model": options.models.get(arm.id, arm.model)}) for arm in scenario.arms)
    asked = replace(loaded, scenario=scenario.model_copy(update={"arms": arms, "blocks": blocks}))
    return asked if options.against_itself is None else twinned(asked, options.against_itself)


def _judge_choice(options: Options, settings: Settings, scenarios: Sequence[Scenario]) -> JudgeChoice:
    if options.rehearse and options.judge is None:
        return JudgeChoice(SCRIPTED, options.judge_samples or 1)
    named = {s.judge.model: s.judge.samples for s in scenarios if s.judge is not None}
    model = options.judge or (next(iter(named)) if len(named) == 1 else None) or settings.judge or FACTS
    if options.judge is None and len(named) > 1:
        raise UsageError(
            f"the scenarios name different judges: {', '.join(sorted(named))}", hint="name one with --judge"
        )
    return JudgeChoice(model, options.judge_samples or named.get(model) or settings.judge_samples)
