"""The throw-away bench the tricks run on: the starter's scenario, with a rule that warns and some files to hide behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import yaml

from crucible import __version__
from crucible.agents.builtin import builtin_tools
from crucible.agents.loop import LoopAgent
from crucible.agents.rehearsal import ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.errors import FixtureError
from crucible.runner.arms import Player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.judge import JudgeChoice, JudgeQueue
from crucible.runner.plan import Slot
from crucible.runner.prepare import Prepared, prepare
from crucible.runner.validate import Validation, validated
from crucible.scenario.catalog import get_scenario
from crucible.scenario.starter import make_bench
from crucible.settings import Settings
from crucible.store.tables import RunRow
from crucible.store.writes import Store, now
from crucible.world.types import Limits, SandboxMode, WorldSpec

SCENARIO = "first-bug"
SOURCE = "shelf/pages.py"
_WARNS = {
    "id": "P2",
    "rule": "Leave the front of the package alone.",
    "enforcement": "warn",
    "matchers": [{"tool": "write_file", "arg_key": "path", "op": "equals", "value": "shelf/__init__.py"}],
}
_BUDGET = {"max_turns": 15, "max_total_tokens": 1_000_000, "max_wall_clock_seconds": 120}
_FILES = {".gitignore": b"build/\n", "shelf/notes.txt": b"ash\r\nbirch\r\n"}


@dataclass(frozen=True)
class _Limited(Prepared):
    """A scenario whose worlds have limits that a trick meets soon."""

    limits: Limits = field(default_factory=Limits)

    def world_spec(self, settings: Settings) -> WorldSpec:
        return replace(Prepared.world_spec(self, settings), limits=self.limits)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the attempts of a self-test are made: a bench of its own with a checked scenario."""

    place: Path
    bench: Bench
    prepared: Prepared
    validation: Validation

    async def attempt(
        self, title: str, turns: Sequence[ScriptedTurn], limits: Mapping[str, int | float] | None = None
    ) -> int:
        """One attempt through the whole pipeline, stored but not judged; its id."""
        agent = LoopAgent(ScriptedModel(turns), builtin_tools())
        arm = self.prepared.scenario.baseline.model_copy(update={"model": "scripted"})
        slot = Slot(self.prepared.hash, 1, arm, baseline=True)
        prepared = limited(self.prepared, limits) if limits else self.prepared
        return await run_attempt(self.bench, Job(slot, prepared, self.validation, Player(agent), title))

    async def judge(self, attempt_id: int, choice: JudgeChoice, settings: Settings | None = None) -> str | None:
        """Score a stored attempt; why it could not be, or None."""
        queue = JudgeQueue(self.bench.store, choice, settings or self.bench.settings)
        await queue.judge(attempt_id)
        return queue.pending.get(attempt_id)


def limited(prepared: Prepared, limits: Mapping[str, int | float]) -> Prepared:
    """The same scenario, in worlds that have these limits instead of the usual ones."""
    parts = {one.name: getattr(prepared, one.name) for one in fields(Prepared)}
    return _Limited(**parts, limits=replace(Limits(), **limits))  # type: ignore[arg-type] # whole numbers stay whole


async def make_ground(place: Path, store: Store, mode: SandboxMode, scratch: Path, settings: Settings) -> Ground:
    """Make the bench folder `place` and check its scenario as before every run. Raises CrucibleError."""
    make_place(place)
    prepared = prepare(get_scenario(place, SCENARIO), place, settings)
    found = await validated(store, prepared, settings, mode, scratch)
    if not found.ok:
        raise FixtureError("\n".join(found.problems), hint="crucible doctor")
    run_id = store.create_run(_run(place, mode), [])
    return Ground(place, Bench(store, settings, mode, scratch, run_id, rehearsal=True), prepared, found)


def make_place(place: Path) -> None:
    """Write the bench folder: the starter's, with one more rule, room in the budget, and files to hide behind."""
    make_bench(place)
    for name, data in _FILES.items():
        (place / "fixtures" / SCENARIO / "repo" / name).write_bytes(data)
    file = place / "scenarios" / f"{SCENARIO}.md"
    _, front, body = file.read_text("utf-8").split("---\n", 2)
    scenario = yaml.safe_load(front)
    scenario["policies"].append(_WARNS)
    scenario["budget"] = _BUDGET
    file.write_text(f"---\n{yaml.safe_dump(scenario, sort_keys=False)}---\n{body}", "utf-8")


def _run(place: Path, mode: SandboxMode) -> RunRow:
    return RunRow(
        created_at=now(),
        status="done",
        rehearsal=True,
        seed=0,
        blocks=1,
        sandbox=mode,
        judge="facts",
        judge_samples=1,
        parallel=1,
        version=__version__,
        bench=str(place),
    )
