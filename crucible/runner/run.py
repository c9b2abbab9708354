"""A run: its plan stored first, then attempt after attempt, judged as they come, resumable at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crucible import __version__
from crucible.agents.builtin import builtin_tools
from crucible.agents.loop import LoopAgent
from crucible.agents.rehearsal import Rehearsal
from crucible.agents.scripted import ScriptedModel
from crucible.errors import Cause
from crucible.llm.types import Model
from crucible.runner.arm_proof import ArmProof, FirstBlocksFirst
from crucible.runner.arms import Player, player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.declare import Declared
from crucible.runner.models import make_model
from crucible.runner.plan import Slot
from crucible.runner.prepare import Prepared
from crucible.runner.until_decided import Pace
from crucible.runner.validate import Validation
from crucible.store.queries import attempt_row, spent
from crucible.store.tables import AttemptRow, PlannedRow, RunRow
from crucible.store.writes import Store, now, this_process

MOST_RETRIES = 3
"""How often an attempt that does not count is run again within one call of `crucible run`."""
AS_A_RULE = Declared()
WILL_NOT_MEND = ("provider_auth", "provider_refused", "provider_bad_request")
"""Endings that trying again at once cannot change; they wait for `--resume`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One scenario of a run, checked, with its rehearsal when that is what is run."""

    prepared: Prepared
    validation: Validation
    rehearsal: Rehearsal | None = None


@dataclass
class Result:
    """What one call of `crucible run` did. Everything else is read from the store.

    `unequipped`: what an arm brings did not start, which is what stopped it.
    `undeclared`: how the arms differ, as lines of a diff, where that is what stopped the run.
    """

    run_id: int
    made: list[int] = field(default_factory=list)
    stopped: str | None = None
    unequipped: bool = False
    status: str = "running"
    undeclared: tuple[str, ...] = ()


Judging = Callable[[int], Awaitable[None]]


def store_plan(store: Store, run: RunRow, slots: Sequence[Slot]) -> int:
    """Store a run with its plan; its id."""
    rows = [
        PlannedRow(
            run_id=0,
            position=position,
            scenario_hash=slot.scenario_hash,
            block=slot.block,
            arm=slot.arm.id,
            model=slot.arm.model,
            baseline=slot.baseline,
        )
        for position, slot in enumerate(slots)
    ]
    return store.create_run(run, rows)


def new_run(bench_folder: str, mode: str, *, rehearsal: bool, seed: int, blocks: int, judge: str, samples: int,
            parallel: int, max_cost: float | None, without_extra_tools: bool, declared: Declared = AS_A_RULE,
            kind: str = "comparison", tools: Mapping[str, str] | None = None) -> RunRow:  # fmt: skip
    """The row of a run that is about to start, with what it declares."""
    return RunRow(
        created_at=now(),
        status="running",
        rehearsal=rehearsal,
        owner=this_process(),
        seed=seed,
        blocks=blocks,
        sandbox=mode,
        judge=judge,
        judge_samples=samples,
        parallel=parallel,
        max_cost_usd=max_cost,
        without_extra_tools=without_extra_tools,
        version=__version__,
        bench=bench_folder,
        kind=kind,
        tools=dict(tools or {}),
        primary_metric=declared.primary,
        margin=declared.margin,
        sequential=declared.until_decided,
    )


async def execute(
    bench: Bench, subjects: Mapping[str, Subject], judge: Judging, pace: Pace, *, parallel: int, max_cost: float | None
) -> Result:
    """Make the attempts that `pace` hands out, `parallel` at a time, judging each when it is stored."""
    return await _Execution(bench, subjects, judge, pace, parallel, max_cost).run()


class _Execution:
    def __init__(
        self,
        bench: Bench,
        subjects: Mapping[str, Subject],
        judge: Judging,
        pace: Pace,
        parallel: int,
        max_cost: float | None,
    ) -> None:
        self.bench, self.subjects, self.judge, self.max_cost = bench, subjects, judge, max_cost
        self.pace, self.parallel = FirstBlocksFirst(pace), parallel
        scenarios = {digest: subject.prepared.scenario for digest, subject in subjects.items()}
        self.proof = ArmProof(bench.store, bench.run_id, scenarios, without=bench.instead.without)
        self.result = Result(bench.run_id)
        self.models: dict[str, Model] = {}
        self.queue: list[PlannedRow] = []

    async def run(self) -> Result:
        self._set_status("running")
        try:
            while not self._differing() and (batch := self.pace.next()):
                await self._make(batch)
        except BaseExceptionGroup as group:
            self._set_status("interrupted")
            raise group.exceptions[0] from group
        except BaseException:  # Ctrl-C and a crash of ours alike: the run says so, and the cause goes on
            self._set_status("interrupted")
            raise
        self._set_status("stopped" if self.result.stopped else "done" if self.pace.finished() else "incomplete")
        return self.result

    def _set_status(self, status: str) -> None:
        self.bench.store.set_run_status(self.bench.run_id, status)
        self.result.status = status

    async def _make(self, batch: list[PlannedRow]) -> None:
        self.queue = batch
        async with asyncio.TaskGroup() as workers:
            for _ in range(self.parallel):
                workers.create_task(self._worker())

    async def _worker(self) -> None:
        while self.queue and not self._differing() and not self._over_cost():
            planned = self.queue.pop(0)
            await self._until_counted(planned)

    async def _until_counted(self, planned: PlannedRow) -> None:
        for _ in range(MOST_RETRIES):
            attempt_id = await run_attempt(self.bench, self._job(planned))
            self.result.made.append(attempt_id)
            attempt = attempt_row(self.bench.store, attempt_id)
            if attempt.counted:
                await self.judge(attempt_id)
                return
            if attempt.cause == Cause.FIXTURE or attempt.ending in WILL_NOT_MEND or self._over_cost():
                return
        self._stop_if_unequipped(planned, attempt)

    def _stop_if_unequipped(self, planned: PlannedRow, attempt: AttemptRow) -> None:
        """What an arm brings does not start: the other arm waits too, else its half of every block would be paid for."""
        arm = self.subjects[planned.scenario_hash].prepared.scenario.arm(planned.arm)
        brings = arm.agent is not None or (arm.extra_tools and not self.bench.instead.without)
        if brings and not attempt.turns and attempt.cause == Cause.HARNESS and not self.bench.rehearsal:
            why = (attempt.detail or attempt.ending or "").strip().splitlines()[0]
            self.result.unequipped = True
            self.result.stopped = (
                f"{attempt.scenario}, {arm.id}: {why} ({MOST_RETRIES} times; crucible show {attempt.id})"
            )

    def _differing(self) -> bool:
        """Whether the run was stopped, or is to be: the arms are seen to differ in what nobody declared."""
        if self.result.stopped is None and (found := self.proof.look()) is not None:
            self.result.stopped, self.result.undeclared = found.reason, tuple(found.diff())
        return self.result.stopped is not None

    def _over_cost(self) -> bool:
        if self.max_cost is None or self.bench.rehearsal:
            return False
        dollars, unknown = spent(self.bench.store, self.bench.run_id)
        if unknown:
            self.result.stopped = f"the cost of {unknown} attempts is unknown, so the limit cannot be kept"
        elif dollars >= self.max_cost:
            self.result.stopped = f"{dollars:.4f} of {self.max_cost:g} US dollars used"
        return self.result.stopped is not None

    def _job(self, planned: PlannedRow) -> Job:
        subject = self.subjects[planned.scenario_hash]
        arm = subject.prepared.scenario.arm(planned.arm).model_copy(update={"model": planned.model})
        slot = Slot(planned.scenario_hash, planned.block, arm, planned.baseline)
        if subject.rehearsal is not None:
            session = subject.rehearsal.session(arm.id, planned.block)
            scripted = Player(LoopAgent(ScriptedModel(session.turns), builtin_tools()))
            return Job(slot, subject.prepared, subject.validation, scripted, session.title)
        plays = player(arm, subject.prepared.scenario, self.bench.settings, self.bench.instead, self._model)
        return Job(slot, subject.prepared, subject.validation, plays)

    def _model(self, name: str) -> Model:
        if name not in self.models:
            self.models[name] = make_model(name, self.bench.settings)
        return self.models[name]
