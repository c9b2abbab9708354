"""`crucible run` from its options to a stored run: choose, check, plan, execute."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crucible.agents.rehearsal import load_rehearsal, rehearsal_path
from crucible.errors import PreflightError, UsageError, nearest
from crucible.judging.versions import FACTS
from crucible.runner.attempt import Bench
from crucible.runner.checks import Say, announced_mode, check_subject, refuse_unenforceable
from crucible.runner.judge import SCRIPTED, JudgeChoice, JudgeQueue
from crucible.runner.models import check_extra_tools, check_models, check_prices, close_models
from crucible.runner.plan import Slot, plan
from crucible.runner.recorder import Progress
from crucible.runner.run import Result, Subject, execute, new_run, store_plan
from crucible.scenario.catalog import get_scenario
from crucible.scenario.load import LoadedScenario
from crucible.scenario.schema import Arm, Scenario
from crucible.settings import Settings
from crucible.store.queries import RunRecord, run_record, unjudged
from crucible.store.writes import Store, is_alive
from crucible.world.types import SandboxMode


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asked of one run."""

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


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run that passed every check that costs nothing."""

    options: Options
    loaded: tuple[LoadedScenario, ...]
    judge: JudgeChoice
    mode: SandboxMode


def choose(bench: Path, options: Options, settings: Settings, say: Say) -> Chosen:
    """Load the scenarios with the models asked for, and check all that can be checked for free."""
    loaded = tuple(_with_models(get_scenario(bench, name), options) for name in dict.fromkeys(options.names))
    mode = announced_mode(settings, say)
    judge = _judge_choice(options, settings, [one.scenario for one in loaded])
    for one in loaded:
        refuse_unenforceable(one, mode)
        if not options.rehearse:
            arms = _arms(one.scenario, options)
            check_extra_tools(one.scenario, arms, without=options.without_extra_tools)
            check_prices(one.scenario, arms, settings, options.max_cost)
    if not options.rehearse:
        names = [arm.model for one in loaded for arm in _arms(one.scenario, options)]
        check_models([*names, *([judge.model] if judge.model != FACTS else [])], settings)
        _warn_of_family(judge.model, names, say)
    return Chosen(options, loaded, judge, mode)


def _arms(scenario: Scenario, options: Options) -> list[Arm]:
    return [arm for arm in scenario.arms if options.arm in (None, arm.id)]


def _with_models(loaded: LoadedScenario, options: Options) -> LoadedScenario:
    scenario = loaded.scenario
    known = [arm.id for arm in scenario.arms]
    for arm in [*options.models, *([options.arm] if options.arm else [])]:
        if arm not in known:
            raise UsageError(
                f"{scenario.name} has no arm {arm!r}{nearest(arm, known)}", hint=f"its arms: {', '.join(known)}"
            )
    arms = tuple(arm.model_copy(update={"model": options.models.get(arm.id, arm.model)}) for arm in scenario.arms)
    return replace(loaded, scenario=scenario.model_copy(update={"arms": arms}))


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


def _warn_of_family(judge: str, models: Sequence[str], say: Say) -> None:
    if judge == FACTS:
        return
    from crucible.llm.keys import family

    for model in sorted({m for m in models if family(m) == family(judge)}):
        say(f"warning: the judge {judge} is of the same family as {model}; a judge tends to prefer its own kind")


async def start(
    bench: Path, chosen: Chosen, settings: Settings, store: Store, say: Say, progress: Progress | None
) -> Result:
    """Check the fixtures, store the plan and make every attempt of it."""
    options = chosen.options
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    with TemporaryDirectory(prefix="crucible-") as scratch:
        subjects = await _subjects(bench, chosen, settings, store, Path(scratch), say)
        slots = _slots(subjects, options, seed)
        row = new_run(
            str(bench),
            chosen.mode,
            rehearsal=options.rehearse,
            seed=seed,
            blocks=max((slot.block for slot in slots), default=0),
            judge=chosen.judge.model,
            samples=chosen.judge.samples,
            parallel=options.parallel or settings.parallel,
            max_cost=options.max_cost,
            without_extra_tools=options.without_extra_tools,
        )
        run_id = store_plan(store, row, slots)
        say(f"run {run_id}: {len(slots)} attempts, seed {seed}")
        where = Bench(store, settings, chosen.mode, Path(scratch), run_id, options.rehearse, progress)
        return await _execute(where, subjects, chosen.judge, row.parallel, options.max_cost, say)


def _slots(subjects: Mapping[str, Subject], options: Options, seed: int) -> list[Slot]:
    scenarios = [(digest, subject.prepared.scenario) for digest, subject in subjects.items()]
    slots = plan(scenarios, options.blocks, seed, options.arm)
    if not options.rehearse:
        return slots
    return [replace(slot, arm=slot.arm.model_copy(update={"model": SCRIPTED})) for slot in slots]


async def _subjects(
    bench: Path, chosen: Chosen, settings: Settings, store: Store, scratch: Path, say: Say
) -> dict[str, Subject]:
    subjects = {}
    for loaded in chosen.loaded:
        say(f"checking {loaded.scenario.name}: unfixed is red, the reference is green ...")
        subject = await check_subject(loaded, bench, settings, store, chosen.mode, scratch)
        if chosen.options.rehearse:
            rehearsal = load_rehearsal(rehearsal_path(loaded.path), [arm.id for arm in loaded.scenario.arms])
            subject = replace(subject, rehearsal=rehearsal)
        subjects[subject.prepared.hash] = subject
    return subjects


async def _execute(
    where: Bench, subjects: Mapping[str, Subject], judge: JudgeChoice, parallel: int, max_cost: float | None, say: Say
) -> Result:
    rehearsals = {digest: s.rehearsal for digest, s in subjects.items() if s.rehearsal is not None}
    queue = JudgeQueue(where.store, judge, where.settings, rehearsals)
    await _judge_open(queue, where.run_id, subjects)
    try:
        result = await execute(where, subjects, queue.judge, parallel=parallel, max_cost=max_cost)
    finally:
        await close_models()
    if queue.pending:
        reason = next(iter(queue.pending.values()))
        say(f"{len(queue.pending)} attempts are not judged ({reason}); later: crucible rejudge {where.run_id}")
    return result


async def _judge_open(queue: JudgeQueue, run_id: int, subjects: Mapping[str, Subject]) -> None:
    """Counted attempts that an earlier process stored but did not get to judge."""
    for subject in subjects.values():
        for attempt_id in unjudged(
            queue.store, run_id, queue.choice.version(subject.prepared.scenario), subject.prepared.hash
        ):
            await queue.judge(attempt_id)


async def resume(
    bench: Path, run_id: int, settings: Settings, store: Store, say: Say, progress: Progress | None
) -> Result:
    """Go on with a stored run: attempts that stand are kept, the rest is made. Raises UsageError when it cannot be."""
    record = run_record(store, run_id)
    if record is None:
        raise UsageError(f"there is no run {run_id} in this store", hint="crucible runs")
    if record.run.status == "running" and is_alive(record.run.owner):
        raise UsageError(
            f"run {run_id} is being worked on by process {record.run.owner}", hint="wait for it, or stop it first"
        )
    if interrupted := store.mark_interrupted(run_id):
        say(f"{interrupted} attempts were in flight when the run ended; they are made again")
    run = record.run
    options = _options_of(record)
    loaded = tuple(get_scenario(bench, row.name) for row in record.scenarios.values())
    chosen = Chosen(options, loaded, JudgeChoice(run.judge, run.judge_samples), _mode(record))
    if announced_mode(settings, say) != chosen.mode:
        raise PreflightError(
            f"run {run_id} was made with `{chosen.mode}`, which is not what this machine would use now"
        )
    if not options.rehearse:
        check_models([p.model for p in record.plan], settings)
    with TemporaryDirectory(prefix="crucible-") as scratch:
        subjects = await _subjects(bench, chosen, settings, store, Path(scratch), say)
        if edited := sorted(record.scenarios[h].name for h in set(record.scenarios) - set(subjects)):
            raise UsageError(
                f"run {run_id} cannot go on: {', '.join(edited)} was edited since; an edited scenario is another scenario",
                hint="undo the edit, or start a new run",
            )
        where = Bench(store, settings, chosen.mode, Path(scratch), run_id, run.rehearsal, progress)
        return await _execute(where, subjects, chosen.judge, run.parallel, run.max_cost_usd, say)


def _options_of(record: RunRecord) -> Options:
    run = record.run
    return Options(
        names=tuple(row.name for row in record.scenarios.values()),
        blocks=run.blocks,
        seed=run.seed,
        parallel=run.parallel,
        max_cost=run.max_cost_usd,
        rehearse=run.rehearsal,
        without_extra_tools=run.without_extra_tools,
    )


def _mode(record: RunRecord) -> SandboxMode:
    return "copy" if record.run.sandbox == "copy" else "overlay"


async def rejudge(
    run_id: int, choice: JudgeChoice, settings: Settings, store: Store, say: Say
) -> tuple[int, dict[int, str]]:
    """Judge a run's stored attempts again under another judge. How many were judged, and those still pending with why."""
    from crucible.scenario.load import parse_stored

    record = run_record(store, run_id)
    if record is None:
        raise UsageError(f"there is no run {run_id} in this store", hint="crucible runs")
    if choice.model != FACTS:
        check_models([choice.model], settings)
        _warn_of_family(choice.model, [p.model for p in record.plan], say)
    queue = JudgeQueue(store, choice, settings)
    todo = [
        attempt_id
        for digest, row in record.scenarios.items()
        for attempt_id in unjudged(store, run_id, choice.version(parse_stored(row.text)), digest)
    ]
    for number, attempt_id in enumerate(todo, 1):
        say(f"judging attempt {attempt_id} ({number} of {len(todo)})")
        await queue.judge(attempt_id)
    await close_models()
    return len(todo) - len(queue.pending), queue.pending
