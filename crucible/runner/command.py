"""`crucible run` from its options to a stored run: choose, check, plan, execute."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from crucible.agents.rehearsal import Rehearsal, load_rehearsal, rehearsal_path
from crucible.errors import PreflightError, UsageError
from crucible.runner.arm_proof import check_before, planned_openings
from crucible.runner.arms import Instead
from crucible.runner.attempt import Bench
from crucible.runner.checks import Say, announced_mode, check_subject
from crucible.runner.choose import Chosen, Options, choose
from crucible.runner.control_run import KIND as CONTROL
from crucible.runner.declare import Declared
from crucible.runner.equip import Equipment, check_equipment
from crucible.runner.judge import SCRIPTED, JudgeChoice, JudgeQueue
from crucible.runner.models import check_models, close_models, make_model
from crucible.runner.plan import Slot, plan
from crucible.runner.recorder import Progress
from crucible.runner.run import Result, Subject, execute, new_run, store_plan
from crucible.runner.taking import end_in_flight, taken_over
from crucible.runner.twins import twin_rehearsal, twinned
from crucible.runner.until_decided import AllAtOnce, Pace, UntilDecided
from crucible.scenario.catalog import get_scenario
from crucible.scenario.load import LoadedScenario
from crucible.settings import Settings
from crucible.store.queries import RunRecord, run_record, unjudged
from crucible.store.tables import RunRow
from crucible.store.writes import Store
from crucible.world.types import SandboxMode

__all__ = ["Chosen", "Options", "choose", "resume", "start"]


async def start(
    bench: Path, chosen: Chosen, settings: Settings, store: Store, say: Say, progress: Progress | None,
    equipped: Equipment | None = None,
) -> Result:  # fmt: skip
    """Check what the arms bring, unless that was done (`equipped`), and the fixtures; store the plan and make its attempts."""
    options = chosen.options
    if equipped is None:
        equipped = await check_equipment(bench, chosen, settings, say)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    with TemporaryDirectory(prefix="crucible-") as scratch:
        subjects = await _subjects(bench, chosen, settings, store, Path(scratch), say)
        slots = _slots(subjects, options, seed)
        _prove_arms(subjects, options, settings, chosen.mode, equipped)
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
            declared=options.declared,
            tools=options.tools,
            kind="comparison" if options.against_itself is None else "aa",
        )
        run_id = store_plan(store, row, slots)
        at_most = "at most " if row.sequential else ""
        say(f"run {run_id}: {at_most}{len(slots)} attempts, seed {seed}")
        where = Bench(store, settings, chosen.mode, Path(scratch), run_id, options.rehearse, progress, instead_of(row))
        return await _execute(where, subjects, chosen.judge, row, say)


def _prove_arms(
    subjects: Mapping[str, Subject], options: Options, settings: Settings, mode: SandboxMode, equipped: Equipment
) -> None:
    """That arms differ as declared, as far as it can be told before any model is asked. Raises PreflightError."""
    if options.rehearse or options.arm is not None:
        return
    instead, models = options.instead, partial(make_model, settings=settings)
    for subject in subjects.values():
        scenario = subject.prepared.scenario
        tried = equipped.get(scenario.name, {})
        found = planned_openings(subject.prepared, settings, mode, instead, models, tried)
        check_before(found, scenario, without=instead.without)


def _slots(subjects: Mapping[str, Subject], options: Options, seed: int) -> list[Slot]:
    scenarios = [(digest, subject.prepared.scenario) for digest, subject in subjects.items()]
    slots = plan(scenarios, None, seed, options.arm)
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
            subject = replace(subject, rehearsal=_rehearsal(loaded, chosen.options.against_itself))
        subjects[subject.prepared.hash] = subject
    return subjects


def _rehearsal(loaded: LoadedScenario, against_itself: str | None) -> Rehearsal:
    path = rehearsal_path(loaded.path)
    if against_itself is not None:
        return twin_rehearsal(load_rehearsal(path, [against_itself]), against_itself)
    return load_rehearsal(path, [arm.id for arm in loaded.scenario.arms])


async def _execute(where: Bench, subjects: Mapping[str, Subject], judge: JudgeChoice, run: RunRow, say: Say) -> Result:
    pace = _pace(where.store, where.run_id, run, say)
    rehearsals = {digest: s.rehearsal for digest, s in subjects.items() if s.rehearsal is not None}
    queue = JudgeQueue(where.store, judge, where.settings, rehearsals)
    await _judge_open(queue, where.run_id, subjects)
    try:
        result = await execute(where, subjects, queue.judge, pace, parallel=run.parallel, max_cost=run.max_cost_usd)
    finally:
        await close_models()
    for line in result.undeclared:
        say(line)
    if queue.pending:
        reason = next(iter(queue.pending.values()))
        say(f"{len(queue.pending)} attempts are not judged ({reason}); later: crucible rejudge {where.run_id}")
    return result


def _pace(store: Store, run_id: int, run: RunRow, say: Say) -> Pace:
    return UntilDecided(store, run_id, say) if run.sequential else AllAtOnce(store, run_id)


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
    if record.run.kind == CONTROL:
        raise UsageError(
            f"run {run_id} only shows that the tool servers can be used; there is nothing in it to go on with",
            hint="do it again, before the comparison, with: crucible run SCENARIO --control",
        )
    with taken_over(store, run_id):
        return await _go_on(bench, record, settings, store, say, progress)


async def _go_on(
    bench: Path, record: RunRecord, settings: Settings, store: Store, say: Say, progress: Progress | None
) -> Result:
    run, run_id = record.run, record.run.id or 0
    if interrupted := end_in_flight(store, run_id):
        say(f"{interrupted} attempts were in flight when the run ended; they are made again")
    options = _options_of(record)
    loaded = tuple(_as_planned(bench, row.name, options) for row in record.scenarios.values())
    chosen = Chosen(options, loaded, JudgeChoice(run.judge, run.judge_samples), _mode(record))
    if announced_mode(settings, say) != chosen.mode:
        raise PreflightError(
            f"run {run_id} was made with `{chosen.mode}`, which is not what this machine would use now"
        )
    if not options.rehearse:
        check_models([p.model for p in record.plan], settings)
    if not _pace(store, run_id, run, say).finished():
        await check_equipment(bench, chosen, settings, say)
    with TemporaryDirectory(prefix="crucible-") as scratch:
        subjects = await _subjects(bench, chosen, settings, store, Path(scratch), say)
        if edited := sorted(record.scenarios[h].name for h in set(record.scenarios) - set(subjects)):
            raise UsageError(
                f"run {run_id} cannot go on: {', '.join(edited)} was edited since; an edited scenario is another scenario",
                hint="undo the edit, or start a new run",
            )
        where = Bench(store, settings, chosen.mode, Path(scratch), run_id, run.rehearsal, progress, instead_of(run))
        return await _execute(where, subjects, chosen.judge, run, say)


def _as_planned(bench: Path, name: str, options: Options) -> LoadedScenario:
    loaded = get_scenario(bench, name)
    arm = next((arm.id for arm in loaded.scenario.arms if arm.id == options.against_itself), None)
    return loaded if arm is None else twinned(loaded, arm)


def _options_of(record: RunRecord) -> Options:
    """What a stored run was asked and declared; its plan says the rest."""
    run = record.run
    arms = {p.arm for p in record.plan}
    declared = Declared("score" if run.primary_metric == "score" else "pass_rate", run.margin, run.sequential)
    return Options(
        names=tuple(row.name for row in record.scenarios.values()),
        blocks=run.blocks,
        seed=run.seed,
        arm=arms.pop() if len(arms) == 1 else None,
        parallel=run.parallel,
        max_cost=run.max_cost_usd,
        rehearse=run.rehearsal,
        without_extra_tools=run.without_extra_tools,
        tools=run.tools,
        declared=declared,
        against_itself=next((p.arm for p in record.plan if p.baseline), None) if run.kind == "aa" else None,
    )


def instead_of(run: RunRow) -> Instead:
    """What a run puts in the place of the tool servers its scenarios name."""
    return Instead(run.without_extra_tools, run.tools)


def _mode(record: RunRecord) -> SandboxMode:
    return "copy" if record.run.sandbox == "copy" else "overlay"
