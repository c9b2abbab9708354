"""The plan of a run: blocks of one attempt per arm, in seeded random order, block after block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from crucible.scenario.schema import Arm, Scenario


@dataclass(frozen=True, slots=True)
class Slot:
    """One attempt to make."""

    scenario_hash: str
    block: int
    arm: Arm
    baseline: bool


def plan(
    scenarios: Sequence[tuple[str, Scenario]], blocks: int | None, seed: int, only: str | None = None
) -> list[Slot]:
    """Every attempt of a run in the order it is made; the same for the same seed.

    `scenarios` are (hash, scenario). Round by round: block 1 of every scenario, then block 2, so that drift in
    time meets all alike; arms are shuffled inside each block. `only` keeps one arm.
    """
    random = Random(seed)  # noqa: S311 - an order that can be repeated, not a secret
    slots: list[Slot] = []
    for block in range(1, max((blocks or s.blocks for _, s in scenarios), default=0) + 1):
        for scenario_hash, scenario in scenarios:
            if block > (blocks or scenario.blocks):
                continue
            arms = list(scenario.arms)
            random.shuffle(arms)
            baseline = scenario.baseline.id
            slots += [Slot(scenario_hash, block, a, a.id == baseline) for a in arms if only in (None, a.id)]
    return slots
