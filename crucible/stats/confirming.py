"""Around the floor: was the bug seen failing first, what does a red run mean, and is new code different from old?

Counts are of failures: of the old code, of the new code. Rates and tolerances are read exactly, as in `floor`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Literal

from crucible.stats import _checks
from crucible.stats.exact import boschloo, fisher, fisher_mid_p
from crucible.stats.floor import Exact, as_rate, as_tolerance, false_clear, predictive_runs, smallest_runs

Test = Literal["boschloo", "fisher", "mid-p"]
TESTS = {"boschloo": boschloo, "fisher": fisher, "mid-p": fisher_mid_p}
MOST_GREENS = 512
"""Where the search for greens ends."""


def runs_to_see(p: Exact, confidence: Exact = "0.95", failures: int = 1) -> int:
    """Runs of the old code that show at least so many failures with at least this confidence, at failure rate p > 0.

    Until then "not reproduced" is all that can be said, and greens of the new code count for nothing.
    """
    rate = as_rate("p", p)
    if rate == 0:
        raise ValueError("p must be above 0: what never fails is never seen failing")
    missed = 1 - as_tolerance("confidence", confidence)
    return smallest_runs(rate, missed, allowed=_checks.whole("failures", failures, 1) - 1, strict=False)


def runs_to_see_from_counts(
    k: int, n: int, confidence: Exact = "0.95", prior: Literal["uniform", "jeffreys"] = "jeffreys"
) -> int:
    """As `runs_to_see` for one failure, when the rate is itself only known as k failures (at least 1) in n runs."""
    return predictive_runs(k, n, 1 - as_tolerance("confidence", confidence), prior, strict=False)


def chance_to_see(p: Exact, runs: int) -> Fraction:
    """The chance that this many runs of the old code show the bug at least once; in [0, 1]."""
    return 1 - false_clear(p, runs)


def floor_allowing(reds: int, p: Exact, tolerance: Exact = "0.05") -> int:
    """The floor when so many red runs are tolerated, decided *before* running: acceptance sampling.

    The smallest N at which the unchanged bug would show at most `reds` failures with a chance strictly below tolerance.
    """
    rate = as_rate("p", p)
    if rate == 0:
        raise ValueError("p must be above 0: a bug that was never seen failing has no floor")
    limit = as_tolerance("tolerance", tolerance)
    return smallest_runs(rate, limit, allowed=_checks.whole("reds", reds), strict=True)


def streak_by_restarting(p: Exact, floor: int, runs: int) -> Fraction:
    """The chance that an *unchanged* bug shows `floor` greens in a row somewhere within `runs` runs; in [0, 1].

    What restarting after each red is worth: 60 % for p = 0.2, a floor of 14 and 100 runs, where 4.4 % was meant.
    """
    red = as_rate("p", p)
    floor, runs = _checks.whole("floor", floor, 1), _checks.whole("runs", runs)
    by_streak = [Fraction(1), *[Fraction(0)] * (floor - 1)]
    reached = Fraction(0)
    for _ in range(runs):
        reached += by_streak[-1] * (1 - red)
        by_streak = [sum(by_streak) * red, *[chance * (1 - red) for chance in by_streak[:-1]]]
    return reached


def at_most(failures: int, runs: int, p: Exact) -> Fraction:
    """The chance of at most so many failures in so many runs at rate p; in [0, 1]."""
    rate, runs = as_rate("p", p), _checks.whole("runs", runs)
    most = min(_checks.whole("failures", failures), runs)
    return sum((comb(runs, i) * rate**i * (1 - rate) ** (runs - i) for i in range(most + 1)), Fraction(0))


def old_fails_more(
    old_failures: int, old_runs: int, new_failures: int, new_runs: int, test: Test = "boschloo"
) -> float:
    """One-sided p-value: could chance alone make the old code fail this much more often? "Different" is below 0.05.

    Reaching the floor does not imply it: 14 greens after 2 of 10 give 0.09.
    """
    return TESTS[test](old_failures, old_runs, new_failures, new_runs, "greater")


def greens_needed(old_failures: int, old_runs: int, level: float = 0.05, test: Test = "boschloo") -> int | None:
    """The fewest runs of the new code, all green, with a one-sided p-value below `level`. None above 512."""
    level = _checks.inside("level", level)
    old_failures, old_runs = _checks.counts(old_failures, old_runs)
    if old_failures == 0:
        return None

    def enough(greens: int) -> bool:
        return old_fails_more(old_failures, old_runs, 0, greens, test) < level

    high = 1
    while high < MOST_GREENS and not enough(high):
        high *= 2
    # the p-value falls with the greens but for small steps up: an eighth below the last power of two is early enough
    return next(filter(enough, range(max(1, high // 2 - high // 8), min(high, MOST_GREENS) + 1)), None)
