"""How large a difference is, beside whether there is one: for scores, cost, tokens and time on one scenario.

No Cohen's d: five attempts do not estimate a standard deviation. `a` and `b` are the values of the two arms, one per
attempt, at least one each.
"""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from crucible.stats import _checks
from crucible.stats.across import MeanDifference, welch_over_scenarios
from crucible.stats.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence


class Ratio(NamedTuple):
    """A ratio of A to B, above 0: 0.78 means A takes 22 % less. `interval` and `p_value` are None with a reason."""

    ratio: float
    interval: Interval | None
    p_value: float | None
    why_not: str | None


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """P(A > B) - P(A < B) for one attempt of each, in [-1, 1]; 0 when neither tends to be higher. Source: Cliff 1993."""
    a, b = _checks.numbers("a", a), _checks.numbers("b", b)
    return sum((x > y) - (x < y) for x in a for y in b) / (len(a) * len(b))


def probability_higher(a: Sequence[float], b: Sequence[float]) -> float:
    """P(A > B) + P(A = B) / 2 for one attempt of each, in [0, 1]. Source: Vargha and Delaney 2000."""
    return (cliffs_delta(a, b) + 1) / 2


def hodges_lehmann(a: Sequence[float], b: Sequence[float]) -> float:
    """By how much A is typically higher than B: the median of all differences, in the units of the values.

    Not moved by one wild attempt. Source: Hodges and Lehmann 1963.
    """
    a, b = _checks.numbers("a", a), _checks.numbers("b", b)
    return median(x - y for x in a for y in b)


def ratio_of_geometric_means(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Ratio:
    """How many times B's cost (tokens, seconds) does a typical attempt of A take? Welch's t on logarithms.

    Values must be above 0. Valid for roughly log-normal values, which costs and times are. It says nothing about the
    bill: for that, compare means by `permutation.permutation`. Needs 2 attempts per arm for an interval.
    """
    logs = [[log(_checks.positive(name, value)) for value in values] for name, values in (("a", a), ("b", b))]
    return as_ratio(welch_over_scenarios([(logs[0], logs[1])], level))


def as_ratio(of_logs: MeanDifference) -> Ratio:
    """A mean difference of natural logarithms, on one scenario or over many, as the ratio that it is."""
    interval = of_logs.interval
    if interval is not None:
        interval = Interval(exp(interval.low), exp(interval.high), interval.level, f"{interval.method} on logs")
    return Ratio(exp(of_logs.mean), interval, of_logs.p_value, of_logs.why_not)


def mean_log_ratio(a: Sequence[float], b: Sequence[float]) -> float:
    """Mean log of A minus mean log of B: one scenario's value for `across.paired_t` on cost, tokens or time."""
    logs = [[log(_checks.positive(name, value)) for value in values] for name, values in (("a", a), ("b", b))]
    if not logs[0] or not logs[1]:
        raise ValueError("a log ratio needs at least one value of each arm")
    return sum(logs[0]) / len(logs[0]) - sum(logs[1]) / len(logs[1])


def cost_per_success(costs: Sequence[float], passes: int) -> float | None:
    """What one success costs: the cost of *all* attempts, failed ones included, over the passes. None without a pass."""
    costs = [_checks.not_negative("a cost", cost) for cost in costs]
    _checks.counts(passes, len(costs))
    return sum(costs) / passes if passes else None
