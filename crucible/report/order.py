"""Does it matter which arm goes first in a block? What the random order is for, looked at every time.

The effect is half the difference between the blocks in which the treatment went first and those in which the baseline did,
of treatment minus baseline: what a first place is worth, free of which arm is better. The test deals the orders anew
within each scenario, as the plan did. Blocks with an attempt that was run again are left out: it came later.

One attempt at a time, they are made in the order of the plan. Several at a time, one that is planned first may start second,
so the order is that in which they really started: attempts are numbered as they start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from crucible.report.evidence import Scores, how_dealt, permuted
from crucible.report.gather import Gathered, Scene
from crucible.report.tallies import ALPHA, Terms
from crucible.report.words import seldom
from crucible.store.measures import Measured


@dataclass(frozen=True, slots=True)
class Order:
    """`first` are blocks in which (the treatment, the baseline) went first. `effect` is first minus second in the run's
    metric, a share of 1, None where all blocks of a scenario had one order; then there is nothing to compare. `parallel` is
    the number of attempts at a time; above 1, first means started first. `left_out` are complete blocks of which an
    attempt was made again."""

    treatment: str
    baseline: str
    first: tuple[int, int]
    effect: float | None = None
    p_value: float | None = None
    test: str | None = None
    parallel: int = 1
    left_out: int = 0

    @property
    def matters(self) -> bool:
        """Whether the order made a difference that chance does not explain."""
        return self.p_value is not None and self.p_value < ALPHA

    def text(self, terms: Terms) -> str:
        """The row in words."""
        n_t, n_b = self.first
        went = f"{self.treatment} first in {n_t} block{'s' * (n_t != 1)}, {self.baseline} in {n_b}"
        if self.parallel > 1:
            went += f" (as they really started, {self.parallel} attempts at a time)"
        if self.left_out:
            went += f", {self.left_out} left out (an attempt was made again, later)"
        if self.effect is None or self.p_value is None:
            return f"cannot be told: {went}, never both orders on one scenario"
        shown = f"{went}; going first is worth {terms.amount(self.effect)} ({seldom(self.p_value)}, {self.test})"
        if not self.matters:
            return f"{shown}: no sign that the order matters"
        return f"WARNING: the order within blocks mattered: {shown}. Attempts may share something they should not."


def order(gathered: Gathered) -> Order | None:
    """The order effect of a run of two arms; None when no block is complete."""
    scenes = [scene for scene in gathered.scenes if len(scene.sides) == 2]
    by_scene = [list(_blocks(gathered, scene)) for scene in scenes]
    if not any(by_scene):
        return None
    first = tuple(sum(ahead is who for blocks in by_scene for ahead, _ in blocks) for who in (True, False))
    treatment, baseline = (side.arm for side in scenes[0].sides)
    both = tuple(stratum for blocks in by_scene if all(stratum := _by_order(blocks)))
    run, left_out = gathered.measures.run, sum(_made_again(gathered, scene) for scene in scenes)
    seen = Order(treatment, baseline, (first[0], first[1]), parallel=run.parallel, left_out=left_out)
    if not both:
        return seen
    found = permuted(both)
    return replace(seen, effect=found.difference / 2, p_value=found.p_value, test=how_dealt(found))


def _blocks(gathered: Gathered, scene: Scene) -> Iterable[tuple[bool, float]]:
    """Of each complete block: whether the treatment went first, and treatment minus baseline."""
    treatment, baseline = (side.arm for side in scene.sides)
    place = _places(gathered, scene)
    for block in sorted({slot.block for slot in scene.plan}):
        pair = [gathered.standing.get((scene.digest, arm, block)) for arm in (treatment, baseline)]
        values = [_value(attempt, gathered.terms) for attempt in pair if attempt is not None and not attempt.retry]
        known = [value for value in values if value is not None]
        if len(known) == 2:
            yield place[treatment, block] < place[baseline, block], known[0] - known[1]


def _made_again(gathered: Gathered, scene: Scene) -> int:
    """Complete blocks of which an attempt was made again."""
    arms = [side.arm for side in scene.sides]
    blocks = {slot.block for slot in scene.plan}
    pairs = ([gathered.standing.get((scene.digest, arm, block)) for arm in arms] for block in blocks)
    return sum(all(a and a.counted for a in pair) and any(a and a.retry for a in pair) for pair in pairs)


def _places(gathered: Gathered, scene: Scene) -> dict[tuple[str, int], int]:
    """The place of each arm's attempt of each block, in the order in which they were made."""
    if gathered.measures.run.parallel == 1:
        return {(slot.arm, slot.block): slot.position for slot in scene.plan}
    made = gathered.standing
    return {(arm, block): attempt.id for (digest, arm, block), attempt in made.items() if digest == scene.digest}


def _value(attempt: Measured, terms: Terms) -> float | None:
    if not attempt.counted:
        return None
    return attempt.total if terms.metric == "score" else float(bool(attempt.passed))


def _by_order(blocks: Sequence[tuple[bool, float]]) -> Scores:
    return tuple(value for ahead, value in blocks if ahead), tuple(value for ahead, value in blocks if not ahead)
