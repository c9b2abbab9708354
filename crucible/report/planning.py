"""Before spending: how many attempts a difference takes, what a number of attempts can see, and what that costs.

One scenario is planned exactly, by Boschloo's test; several by the spread of their mean difference. Two claims are kept
apart: *on these scenarios* and *on scenarios like these*, which also has to live with effects that differ by scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from crucible.report.assumptions import SPREAD, Asked, Known, ScenarioPart, assume, check_asked, sigma2_over
from crucible.scenario.schema import Scenario
from crucible.stats import planning
from crucible.stats.looks import operating
from crucible.stats.planning import Suite
from crucible.stats.power import MOST_PER_ARM, attempts_needed, detectable_difference, normal_attempts_needed
from crucible.stats.sequential import FIRST_LOOK, calibrated
from crucible.store.writes import Store

MOST_SEEN_EXACTLY = 300
"""Attempts per arm up to which what they can see on one scenario is exact."""
MOST_DESIGNED = 60
"""Fixed attempts per arm up to which the sequential design of the same power is looked for; it takes seconds above."""
WORST_RATIO = 1.4
"""The declared most of a sequential design of the same power, over the fixed number; 1.2 is usual."""
MOST_SCENARIOS = 5000
ALSO_SHOWN = (10, 20, 40, 80)
"""Numbers of scenarios shown beside the fewest that are enough."""


@dataclass(frozen=True, slots=True)
class Need:
    """`per_arm` attempts on each scenario; over all arms and scenarios `attempts`, US dollars, and seconds one at a time.

    `exact` tells the exact test from an approximation.
    """

    per_arm: int
    exact: bool
    attempts: int
    usd: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Seen:
    """The smallest differences that `blocks` attempts per arm find with the power asked; None: none, however large."""

    blocks: int
    these: float | None
    like_these: float | None


@dataclass(frozen=True, slots=True)
class Design:
    """A run until decided on one scenario, of at most `most` pairs: its power, and the mean pairs it makes."""

    most: int
    power: float
    pairs_when_real: float
    pairs_when_none: float


@dataclass(frozen=True, slots=True)
class Plan:
    """`like_these` is None when it takes more than 1000 attempts per arm, and `never` when no number is enough.

    `instead` then has (scenarios, attempts per arm on each) that are. `until_decided` is for the first scenario; None for
    scores, and where a design of that power is too large to be looked for.
    """

    asked: Asked
    scenarios: tuple[ScenarioPart, ...]
    spread: Known
    these: Need
    like_these: Need | None
    never: bool
    instead: tuple[tuple[int, int], ...]
    seen: Seen | None
    until_decided: Design | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def make_plan(scenarios: Sequence[Scenario], asked: Asked, store: Store | None) -> Plan:
    """The plan for these scenarios (at least one), from what is stored where nothing is given. Raises UsageError."""
    check_asked(asked)
    parts = tuple(assume(scenario, asked, store) for scenario in scenarios)
    spread = Known(SPREAD, "assumed") if asked.spread is None else Known(asked.spread, "given")
    these, exact = _needed_these(parts, asked)
    like = planning.attempts_needed_like_these(
        len(parts), asked.detect, spread.value, sigma2_over(parts), power=asked.power
    )
    return Plan(
        asked=asked,
        scenarios=parts,
        spread=spread,
        these=_need(these, parts, exact=exact),
        like_these=None if like is None else _need(like, parts, exact=False),
        never=like is None and not planning.ever_like_these(len(parts), asked.detect, spread.value, asked.power),
        instead=() if like is not None else enough_scenarios(len(parts), asked, spread.value, sigma2_over(parts)),
        seen=None if asked.blocks is None else _seen(parts, asked, spread.value, asked.blocks),
        until_decided=_until_decided(parts[0], asked, these if exact and len(parts) == 1 else None),
    )


def enough_scenarios(fewer: int, asked: Asked, spread: float, sigma2: float) -> tuple[tuple[int, int], ...]:
    """(scenarios, attempts per arm on each) that find the difference on *scenarios like these*, the fewest scenarios first.

    More than `fewer`, which is not enough; empty when more than 5000 would be needed.
    """

    def attempts(scenarios: int) -> int | None:
        return planning.attempts_needed_like_these(scenarios, asked.detect, spread, sigma2, power=asked.power)

    low, high = fewer, 2 * fewer
    while attempts(high) is None:
        low, high = high, 2 * high
        if high > MOST_SCENARIOS:
            return ()
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attempts(middle) is None else (low, middle)
    shown = [high, *(more for more in ALSO_SHOWN if more > high)]
    pairs = [(scenarios, found) for scenarios in shown if (found := attempts(scenarios)) is not None]
    return tuple(pair for pair, before in zip(pairs, [(0, 0), *pairs], strict=False) if before[1] != 1)


def design_of(most: int, base: float, other: float) -> Design:
    """What a run until decided of at most `most` pairs does when the rates are these, and when both are `base`."""
    design = calibrated(most)
    real, none = operating(design, other, base), operating(design, base, base)
    return Design(most, real.power, real.mean_pairs, none.mean_pairs)


def _needed_these(parts: Sequence[ScenarioPart], asked: Asked) -> tuple[int, bool]:
    """Attempts per arm on each scenario, and whether that is exact."""
    first = parts[0]
    if len(parts) > 1 or first.base is None or first.other is None:
        needed = planning.attempts_needed_these(len(parts), asked.detect, sigma2_over(parts), asked.power)
        return needed, False
    near = normal_attempts_needed(first.base.value, first.other, asked.power)
    found = attempts_needed(first.base.value, first.other, asked.power) if near < 1.1 * MOST_PER_ARM else None
    return (ceil(near), False) if found is None else (found, True)


def _need(per_arm: int, parts: Sequence[ScenarioPart], *, exact: bool) -> Need:
    arms = [arm for part in parts for arm in part.arms]
    usd, seconds = (_sum(per_arm, values) for values in ([a.cost for a in arms], [a.seconds for a in arms]))
    return Need(per_arm, exact, per_arm * len(arms), usd, seconds)


def _sum(per_arm: int, values: Sequence[Known | None]) -> float | None:
    """A sum with an unknown part is unknown."""
    known = [value.value for value in values if value is not None]
    return per_arm * sum(known) if len(known) == len(values) else None


def _seen(parts: Sequence[ScenarioPart], asked: Asked, spread: float, blocks: int) -> Seen:
    suite = Suite(len(parts), blocks, sigma2_over(parts), spread)
    like = planning.detectable_like_these(suite, asked.power)
    return Seen(blocks, _seen_these(parts, asked, suite), None if like is None or like > 1 else like)


def _seen_these(parts: Sequence[ScenarioPart], asked: Asked, suite: Suite) -> float | None:
    base = parts[0].base
    if len(parts) == 1 and base is not None and suite.attempts <= MOST_SEEN_EXACTLY:
        up, down = (detectable_difference(suite.attempts, base.value, way, asked.power) for way in ("up", "down"))
        found = [step for step in (up, down) if step is not None]
        return min(found) if found else None
    near = planning.detectable_these(suite, asked.power)
    return None if near > 1 else near


def _until_decided(part: ScenarioPart, asked: Asked, fixed: int | None) -> Design | None:
    """The design of as many pairs as asked for, else the smallest one of the power asked."""
    if part.base is None or part.other is None:
        return None
    base, other = part.base.value, part.other
    if asked.blocks is not None:
        return design_of(asked.blocks, base, other) if FIRST_LOOK <= asked.blocks <= MOST_DESIGNED else None
    if fixed is None or fixed > MOST_DESIGNED:
        return None
    low, high = max(FIRST_LOOK, fixed) - 1, max(FIRST_LOOK, ceil(WORST_RATIO * fixed)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = operating(calibrated(middle), other, base).power >= asked.power
        low, high = (low, middle) if enough else (middle, high)
    return design_of(high, base, other)
