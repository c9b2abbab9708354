"""One attempt, from a reset world to stored scores. This is the main path: read it top to bottom.

store the attempt as running -> open a fresh world -> let the agent work -> take the change
-> grade it in a clean copy -> compare it with the reference -> store it, final
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from crucible.agents.types import Ending, Task, system_prompt
from crucible.errors import AttemptError, Cause
from crucible.runner.arms import AS_SAID, Instead, Player
from crucible.runner.audit import audit, in_fixture, note_world
from crucible.runner.flags import Flag, Work, flag_rows, flags_of
from crucible.runner.outcome import Outcome, measure
from crucible.runner.plan import Slot
from crucible.runner.prepare import Prepared, graded_part
from crucible.runner.recorder import Progress, Recorder, totals_of
from crucible.runner.surroundings import surroundings
from crucible.runner.validate import Validation
from crucible.scenario.schema import Arm
from crucible.scoring.control import grade_with_control
from crucible.settings import Settings
from crucible.store.tables import AttemptRow
from crucible.store.writes import Store, now
from crucible.transcript.events import Ended
from crucible.world import make_world
from crucible.world.leavings import without_leavings
from crucible.world.types import Change, SandboxMode

log = logging.getLogger("crucible.attempt")


@dataclass(frozen=True, slots=True)
class Bench:
    """What every attempt of a run shares."""

    store: Store
    settings: Settings
    mode: SandboxMode
    scratch: Path
    run_id: int
    rehearsal: bool
    progress: Progress | None = None
    instead: Instead = AS_SAID


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to make: the slot, its scenario, and what plays the arm."""

    slot: Slot
    prepared: Prepared
    validation: Validation
    plays: Player
    session: str | None = None


async def run_attempt(bench: Bench, job: Job) -> int:
    """Make one attempt and store it, whatever happens; its id. Only cancellation passes through, after it is stored."""
    attempt_id = bench.store.start_attempt(_row(bench, job))
    label = f"{job.prepared.scenario.name} {job.slot.arm.id} block {job.slot.block}"
    record = Recorder(bench.store, attempt_id, bench.progress, label)
    log.info("attempt %s: %s, model %s", attempt_id, label, job.slot.arm.model)
    started = monotonic()
    try:
        outcome = await _work(bench, job, record)
    except AttemptError as error:
        outcome = Outcome(Ending(error.ending, error.cause, "\n".join(error.lines())))
    except asyncio.CancelledError:
        stopped = Outcome(Ending("cancelled", Cause.HARNESS, "stopped by the user"))
        _finish(bench, job, attempt_id, record, stopped, started)
        raise
    except BaseException as error:
        crash = Outcome(Ending("crash", Cause.HARNESS, f"{type(error).__name__}: {error}"))
        _finish(bench, job, attempt_id, record, crash, started)
        raise
    _finish(bench, job, attempt_id, record, outcome, started)
    return attempt_id


async def _work(bench: Bench, job: Job, record: Recorder) -> Outcome:
    ending, change, seconds = await _attempt(bench, job, record)
    audit(job.prepared.protection, change, record)
    filtered = graded_part(job.prepared, change)
    suite = job.validation.suite(job.prepared)
    spec = job.prepared.grading_spec(bench.settings, suite)
    graded = await grade_with_control(spec, bench.mode, bench.scratch, filtered.graded, suite)
    return await measure(job.prepared, job.validation, ending, change, filtered, graded, seconds)


async def _attempt(bench: Bench, job: Job, record: Recorder) -> tuple[Ending, Change, float]:
    """The agent at work in a world of its own; its ending, its change and the seconds it took, without waiting."""
    spec = replace(job.prepared.world_spec(bench.settings), shown=job.plays.shown)
    record.surroundings = surroundings(spec, bench.mode)
    world = make_world(spec, bench.mode, bench.scratch)
    try:
        await world.open()
        began = monotonic()
        ending = await job.plays.agent.attempt(task_of(job.prepared, job.slot.arm), world, record)
        seconds = max(0.0, monotonic() - began - record.bringing_seconds - record.waited_seconds)
        change = without_leavings(await world.change(), job.plays.leaves)
        note_world(world, record)
        return ending, change, seconds
    finally:
        await world.close()


def task_of(prepared: Prepared, arm: Arm) -> Task:
    """What an arm is asked to do."""
    scenario = prepared.scenario
    prompt = system_prompt(arm.system_prompt, scenario.budget)
    return Task(scenario.task_prompt, prompt, scenario.policies, scenario.budget)


def _row(bench: Bench, job: Job) -> AttemptRow:
    return AttemptRow(
        run_id=bench.run_id,
        scenario_hash=job.slot.scenario_hash,
        scenario=job.prepared.scenario.name,
        arm=job.slot.arm.id,
        block=job.slot.block,
        retry=0,
        baseline=job.slot.baseline,
        model=job.slot.arm.model,
        rehearsal=bench.rehearsal,
        session=job.session,
        sandbox=bench.mode,
        started_at=now(),
        scripted_usage=bench.rehearsal,
        setup=job.plays.setup,
    )


def _finish(bench: Bench, job: Job, attempt_id: int, record: Recorder, outcome: Outcome, started: float) -> None:
    ending = outcome.ending
    record(
        Ended(
            at=max((event.at for event in record.events), default=0.0),
            turn=max((event.turn for event in record.events), default=0),
            ending=ending.what,
            cause=ending.cause.value,
            detail=ending.detail,
        )
    )
    total = monotonic() - started
    values: dict[str, Any] = {
        "ending": ending.what,
        "cause": ending.cause.value,
        "detail": ending.detail,
        "counted": ending.cause.counts,
        "overhead_seconds": None
        if outcome.seconds is None
        else max(0.0, total - outcome.seconds - outcome.suite_seconds - record.waited_seconds),
        **totals_of(record.events),
        **outcome.columns(),
    }
    log.info("attempt %s: %s (%s) %s", attempt_id, ending.what, ending.cause.value, ending.detail)
    rows = [*record.take(), *outcome.rows(attempt_id), *flag_rows(attempt_id, _flags(job, record, outcome))]
    bench.store.finish_attempt(attempt_id, values, rows)


def _flags(job: Job, record: Recorder, outcome: Outcome) -> list[Flag]:
    """What a reader must know beside the score, of as much of the attempt as there is."""
    change, filtered = outcome.change or Change(), outcome.filtered
    work = Work(change, filtered.graded if filtered else Change(), outcome.graded)
    dimensions = [dimension.name for dimension in job.prepared.scenario.rubric.dimensions]
    return flags_of(record.events, work, dimensions=dimensions, in_fixture=in_fixture(job.prepared))
