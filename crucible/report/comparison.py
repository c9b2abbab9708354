"""A stored run as comparisons, one for each scenario: both arms in numbers, then the verdict.

A pure function of the store. Unknown is None; every mean says over how many it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.arms import ArmSummary, Line, Mean, line, summary
from crucible.report.gather import Gathered, Scene, gather
from crucible.report.noise import NoiseFloor, noise_floor
from crucible.report.reach import could_see
from crucible.report.tallies import Metric, Pair, Terms
from crucible.report.use import ArmUse
from crucible.report.verdict import Verdict, decide
from crucible.report.withheld import incomparable, untested
from crucible.store.looks import complete_pairs
from crucible.store.measures import Slot, any_aa
from crucible.store.states import RUNNING, attempt_state, run_state
from crucible.store.writes import Store

__all__ = ["ArmSummary", "Comparison", "Line", "Mean", "comparisons", "comparisons_of"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms on one scenario in one run. `difference` is treatment minus baseline in pass rate; `verdict` has the rest.

    In sentences: `differ` says how the arms differ, `uptake` that and whether it was used, `seldom` which arms used it in
    few attempts, `could_see` what so many attempts could have detected, `noise` what an arm against itself showed here.
    In numbers: `use` of the arms' tools, `noise_floor`; `differences` is what sets the first requests apart, None where
    that was not recorded. `running` while the run is being made.
    """

    scenario: str
    run_id: int
    rehearsal: bool
    unsandboxed: bool
    without_extra_tools: bool
    judge: str
    arms: tuple[ArmSummary, ...]
    difference: float | None
    verdict: Verdict
    lines: tuple[Line, ...]
    incomplete_blocks: tuple[int, ...]
    scenario_hash: str = ""
    metric: Metric = "pass_rate"
    differ: tuple[str, ...] = ()
    uptake: tuple[str, ...] = ()
    seldom: tuple[str, ...] = ()
    use: tuple[ArmUse, ...] = ()
    differences: tuple[dict[str, Any], ...] | None = None
    could_see: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    noise_floor: NoiseFloor | None = None
    running: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def comparisons(store: Store, run_id: int) -> list[Comparison]:
    """One comparison for each scenario of a run; empty when there is no such run."""
    gathered = gather(store, run_id)
    return [] if gathered is None else comparisons_of(store, gathered)


def comparisons_of(store: Store, gathered: Gathered) -> list[Comparison]:
    """The same of a run that is already read."""
    measured = any_aa(store)
    return [
        _comparison(gathered, scene, _noise(store, gathered, scene) if measured else None) for scene in gathered.scenes
    ]


def _comparison(gathered: Gathered, scene: Scene, noise: NoiseFloor | None) -> Comparison:
    run, scenario = gathered.measures.run, scene.scenario
    dimensions = [d.name for d in scenario.rubric.dimensions]
    plan = _still_due(gathered, scene)
    standing = {(slot.arm, slot.block): gathered.standing.get((scene.digest, slot.arm, slot.block)) for slot in plan}
    going = attempt_state(None, run_state(run.status, run.owner))
    arms = tuple(summary(side, dimensions, gathered.flags, going) for side in scene.sides)
    pair = scene.pair
    tested = pair is not None and pair.treatment.counted > 0 and pair.baseline.counted > 0
    return Comparison(
        scenario=scenario.name,
        run_id=run.id or 0,
        rehearsal=run.rehearsal,
        unsandboxed=run.sandbox == "copy",
        without_extra_tools=run.without_extra_tools and any(a.extra_tools for a in scenario.arms),
        judge=run.judge,
        arms=arms,
        difference=_difference(arms),
        verdict=scene_verdict(gathered, scene),
        lines=tuple(line(slot, standing[slot.arm, slot.block], going) for slot in plan),
        incomplete_blocks=tuple(sorted({block for (_, block), a in standing.items() if not (a and a.counted)})),
        scenario_hash=scene.digest,
        metric=gathered.terms.metric,
        differ=tuple(scene.uptake.difference()),
        uptake=tuple(scene.uptake.lines()),
        seldom=tuple(scene.uptake.seldom()),
        use=scene.uptake.arms,
        differences=_differences(scene),
        could_see=tuple(_could_see(pair, gathered.terms)) if pair and tested else (),
        noise=tuple(noise.lines()) if noise else (),
        noise_floor=noise,
        running=going == RUNNING,
    )


def _differences(scene: Scene) -> tuple[dict[str, Any], ...] | None:
    found = scene.uptake.differences
    return None if found is None else tuple(one.as_dict() for one in found)


def _still_due(gathered: Gathered, scene: Scene) -> list[Slot]:
    """The plan, without the blocks that a design which ended early left out on purpose."""
    from crucible.report.sequential import stopped_at

    run = gathered.measures.run
    last = stopped_at(complete_pairs(gathered.measures, scene.digest), run.blocks) if run.sequential else None
    return [slot for slot in scene.plan if last is None or slot.block <= last]


def scene_verdict(gathered: Gathered, scene: Scene) -> Verdict:
    """The verdict on one scenario of a run."""
    if scene.pair is None or (why_not := scene.uptake.why_not) is not None:
        return Verdict("not tested", f"Not tested: {scene.uptake.why_not or 'only one arm was run'}.")
    if (reason := scene.unlike) is not None:
        return Verdict("inconclusive", f"No verdict: {reason}.")
    if gathered.measures.run.sequential:
        return _stopped_early(gathered, scene, scene.pair)
    return decide(scene.pair.treatment, scene.pair.baseline, why_not, gathered.terms)


def _stopped_early(gathered: Gathered, scene: Scene, pair: Pair) -> Verdict:
    from crucible.report.sequential import decide_sequential

    if (reason := untested([pair], gathered.terms)) is not None:
        return Verdict("not tested", f"Not tested: {reason}.")
    if (reason := incomparable([pair], gathered.terms, may_stop_early=True)) is not None:
        return Verdict("inconclusive", f"No verdict: {reason}.")
    made = complete_pairs(gathered.measures, scene.digest)
    return decide_sequential(pair.treatment, pair.baseline, made, gathered.measures.run.blocks, gathered.terms.margin)


def _difference(arms: Sequence[ArmSummary]) -> float | None:
    rates = [arm.pass_rate for arm in arms]
    return None if len(rates) != 2 or rates[0] is None or rates[1] is None else rates[0] - rates[1]


def _could_see(pair: Pair, terms: Terms) -> list[str]:
    if terms.metric == "score" and not (pair.treatment.scored and pair.baseline.scored):
        return []
    return could_see([pair], terms)


def _noise(store: Store, gathered: Gathered, scene: Scene) -> NoiseFloor | None:
    """What chance does between identical arms of this size, where an arm was ever run against itself."""
    fewest = min((len(side.counted) for side in scene.sides), default=0)
    if gathered.measures.run.kind == "aa" or len(scene.sides) < 2 or not fewest:
        return None
    run = gathered.measures.run
    return noise_floor(store, scene.digest, fewest, rehearsal=run.rehearsal, like=run.id)
