"""Could chance alone, dealing the same results to the arms, give a difference this large? Exact permutation tests.

Valid for any scores, whatever their distribution, when the attempts of a scenario would be exchangeable if the arms
were equally good. Labels move within a scenario only, and the statistic is the mean over scenarios of A's mean minus
B's mean, all scenarios weighing the same. It answers *on these scenarios*, never *on scenarios like these*: when the
arms differ in opposite directions from scenario to scenario, that is a difference here.

Exact while the enumeration is feasible (any number of scenarios when results are pass or fail or lie on a lattice, about
2 x 10 attempts otherwise), else a seeded Monte Carlo whose p-value counts the observed deal as one of the draws and is
therefore valid at any number of draws. Source: Fisher 1935; Phipson and Smyth 2010 for the Monte Carlo.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import ceil, lcm, log10
from typing import TYPE_CHECKING

from crucible.stats import _checks
from crucible.stats.distribution import MOST_ITEMS, Distribution, either, scaled, sum_of_subset, tails_of_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Stratum = tuple[Sequence[float], Sequence[float]]

FEWEST_DRAWS, MOST_DRAWS = 2_000, 20_000
"""Of the Monte Carlo. A p-value near 0.05 has a standard error of 0.0015 at the most draws, 0.005 at the fewest."""
MOST_DEALT = 20_000_000
"""Draws times attempts when the caller leaves the draws open: a second of computing at most."""
DIGITS = 9
"""Scores are compared to this many digits of the largest one; closer sums count as equal, which keeps the test valid."""
LARGEST = 1 << 62
"""Sums of whole numbers stay below it, to fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Permutation:
    """`p_greater` and `p_less` are one-sided, `p_value` is twice the smaller; all in (0, 1]. `draws` is 0 when exact."""

    difference: float
    p_value: float
    p_greater: float
    p_less: float
    draws: int

    @property
    def exact(self) -> bool:
        """Whether every deal was counted."""
        return self.draws == 0


def permutation(a: Sequence[float], b: Sequence[float], *, draws: int | None = None, seed: int = 0) -> Permutation:
    """One scenario: is A's mean higher or lower than chance explains? In the units of the scores."""
    return stratified_permutation([(a, b)], draws=draws, seed=seed)


def stratified_permutation(strata: Sequence[Stratum], *, draws: int | None = None, seed: int = 0) -> Permutation:
    """Several scenarios, each as (scores of A, scores of B) with at least one of each, of any lengths."""
    return _tested([_stratum(place, a, b) for place, (a, b) in enumerate(strata)], draws, seed)


def stratified_passes(
    strata: Sequence[tuple[int, int, int, int]], *, draws: int | None = None, seed: int = 0
) -> Permutation:
    """Several scenarios, each as passes and attempts of A, passes and attempts of B: (k_a, n_a, k_b, n_b)."""
    scores: list[Stratum] = []
    for stratum in strata:
        (k_a, n_a), (k_b, n_b) = _checks.counts(*stratum[:2], "_a"), _checks.counts(*stratum[2:], "_b")
        scores.append(([1] * k_a + [0] * (n_a - k_a), [1] * k_b + [0] * (n_b - k_b)))
    return _tested(scores, draws, seed)


def rank_sum(a: Sequence[float], b: Sequence[float], *, draws: int | None = None, seed: int = 0) -> Permutation:
    """One scenario, by ranks (ties share theirs): the exact Wilcoxon-Mann-Whitney test. The difference is of mean ranks."""
    a, b = _stratum(0, a, b)
    ordered = sorted([*a, *b])
    ranks = [(bisect_left(ordered, score) + 1 + bisect_right(ordered, score)) / 2 for score in (*a, *b)]
    return permutation(ranks[: len(a)], ranks[len(a) :], draws=draws, seed=seed)


def sign_flip(differences: Sequence[float], *, draws: int = MOST_DRAWS, seed: int = 0) -> float:
    """Is the mean difference over *scenarios like these* other than 0, assuming only that the difference of each scenario
    could as well have had the other sign? Two-sided p-value in (0, 1], from one difference per scenario.

    Its smallest value is 2 / 2^scenarios: it can reach 0.05 from 6 scenarios on. Exact up to some 40 scenarios.
    Source: Fisher 1935, The Design of Experiments, section 21.
    """
    values = _checks.numbers("differences", differences)
    unit, whole = _unit(values)
    units = [round(value / unit) for value in values]
    tails = tails_of_sum((either((-u, u)) for u in units), abs(sum(units)), 0 if whole else len(units))
    if tails is not None:
        return min(1.0, 2 * tails[0])
    return _drawn_signs(values, _checks.whole("draws", draws, 1), seed)


def _tested(strata: Sequence[Stratum], draws: int | None, seed: int) -> Permutation:
    """The test of scores that have been checked."""
    if not strata:
        raise ValueError("a permutation test needs at least one scenario")
    draws = _draws(draws, strata)
    difference = sum(sum(a) / len(a) - sum(b) / len(b) for a, b in strata) / len(strata)
    found = _exact_tails(strata)
    exact = found is not None
    greater, less = found if found is not None else _drawn_tails(strata, draws, seed)
    return Permutation(difference, min(1.0, 2 * min(greater, less)), greater, less, 0 if exact else draws)


def _stratum(place: int, a: Sequence[float], b: Sequence[float]) -> tuple[list[float], list[float]]:
    where = f"in scenario {place}"
    return _checks.numbers(f"scores of A {where}", a), _checks.numbers(f"scores of B {where}", b)


def _draws(draws: int | None, strata: Sequence[Stratum]) -> int:
    if draws is not None:
        return _checks.whole("draws", draws, 1)
    return min(MOST_DRAWS, max(FEWEST_DRAWS, MOST_DEALT // sum(len(a) + len(b) for a, b in strata)))


def _exact_tails(strata: Sequence[Stratum]) -> tuple[float, float] | None:
    """Both tails by counting every deal, or None when they are too many.

    Everything in whole numbers: scores in units of their last digit, differences of means times a common multiple of the
    numbers of attempts. Rounding a score moves a sum by half a unit at most, hence the slack.
    """
    if max(len(a) + len(b) for a, b in strata) > MOST_ITEMS:
        return None
    common = lcm(*(len(scores) for stratum in strata for scores in stratum))
    unit, whole = _unit([score for stratum in strata for scores in stratum for score in scores])
    units = [([round(score / unit) for score in a], [round(score / unit) for score in b]) for a, b in strata]
    largest = max(abs(score) for stratum in units for scores in stratum for score in scores)
    if 4 * len(strata) * common * max(1, largest) > LARGEST:
        return None
    observed = sum(common // len(a) * sum(a) - common // len(b) * sum(b) for a, b in units)
    parts = (_difference_of_means(a, b, common) for a, b in units)
    return tails_of_sum(parts, observed, 0 if whole else 2 * common * len(strata))


def _unit(values: Sequence[float]) -> tuple[float, bool]:
    """The power of ten in which the largest of the values has `DIGITS` digits; 1, with True, where all are whole."""
    largest = max(map(abs, values))
    if largest <= 10**DIGITS and all(value == round(value) for value in values):
        return 1.0, True
    return 10.0 ** (ceil(log10(largest)) - DIGITS), False


def _difference_of_means(a: list[int], b: list[int], common: int) -> Distribution | None:
    """`common` times A's mean minus B's mean over all deals."""
    per_a, per_b = common // len(a), common // len(b)
    subset = sum_of_subset([*a, *b], len(a))
    return None if subset is None else scaled(subset, per_a + per_b, -per_b * (sum(a) + sum(b)))


def _drawn_tails(strata: Sequence[Stratum], draws: int, seed: int) -> tuple[float, float]:
    import numpy as np

    random = np.random.default_rng(seed)
    total, observed, size = np.zeros(draws), 0.0, 0.0
    for a, b in strata:
        scores = np.array([*a, *b])
        weight = 1 / len(a) + 1 / len(b)
        total += _dealt(scores, len(a), draws, random) * weight - scores.sum() / len(b)
        observed += sum(a) * weight - scores.sum() / len(b)
        size += float(np.abs(scores).max())
    slack = size * 10.0**-DIGITS
    greater, less = int((total >= observed - slack).sum()), int((total <= observed + slack).sum())
    return (greater + 1) / (draws + 1), (less + 1) / (draws + 1)


def _drawn_signs(values: Sequence[float], draws: int, seed: int) -> float:
    import numpy as np

    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(draws, len(values)))
    reached = np.abs(signs @ np.array(values)) >= abs(sum(values)) * (1 - 10.0**-DIGITS)
    return (int(reached.sum()) + 1) / (draws + 1)


def _dealt(
    scores: npt.NDArray[np.float64], size: int, draws: int, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Sums of the scores that A gets in random deals of one scenario."""
    import numpy as np

    low, high = float(scores.min()), float(scores.max())
    ones = int((scores == high).sum())
    if ones + int((scores == low).sum()) >= len(scores) and low < high:
        many = random.hypergeometric(ones, len(scores) - ones, size, draws).astype(np.float64)
        passes: npt.NDArray[np.float64] = many * (high - low) + low * size
        return passes
    # Item by item, each taken with the chance that leaves every subset equally likely (Knuth's algorithm S): several times
    # faster than shuffling.
    dealt, missing = np.zeros(draws), np.full(draws, size)
    for place, score in enumerate(scores.tolist()):
        taken = random.random(draws) * (len(scores) - place) < missing
        dealt += score * taken
        missing -= taken
    return dealt
