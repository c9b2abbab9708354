"""Do the scenarios differ in their true effect, and what is a single scenario's effect when luck is taken out of it?

For the per-scenario table: a scenario's own difference from five attempts is mostly luck; the shrunken one is pulled
towards the mean as far as the scenarios agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from crucible.stats import _checks
from crucible.stats.interval import Interval, normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """`between` is the variance of the true effects (tau squared), in squared units of the effect, at least 0.

    `q` and `p_value` test that it is 0; `share` (I squared) in [0, 1] is how much of the visible variation is real.
    `mean` and `interval` are the random-effects ones, `shrunken` the per-scenario effects in the order given.
    """

    between: float
    q: float
    p_value: float
    share: float
    mean: float
    interval: Interval
    shrunken: tuple[float, ...]


def dersimonian_laird(effects: Sequence[float], variances: Sequence[float], level: float = 0.95) -> Heterogeneity:
    """How much do the true effects of these scenarios vary? From one effect and its sampling variance per scenario.

    Needs 2 scenarios and variances above 0, known well: with fewer than some ten attempts per arm they are not, so this
    describes and does not decide. The interval is a normal one. Source: DerSimonian and Laird 1986.
    """
    effects = _checks.numbers("effects", effects, 2)
    variances = [_checks.positive("a variance", variance) for variance in variances]
    _checks.same_length("effects", effects, "variances", variances)
    weights = [1 / variance for variance in variances]
    fixed = _mean(effects, weights)
    q = sum(weight * (effect - fixed) ** 2 for weight, effect in zip(weights, effects, strict=True))
    free = len(effects) - 1
    scale = sum(weights) - sum(weight**2 for weight in weights) / sum(weights)
    between = max(0.0, (q - free) / scale)
    return _described(effects, variances, between, q, level)


def _described(
    effects: Sequence[float], variances: Sequence[float], between: float, q: float, level: float
) -> Heterogeneity:
    from scipy.special import chdtrc

    weights = [1 / (variance + between) for variance in variances]
    mean, free = _mean(effects, weights), len(effects) - 1
    reach = normal_quantile(level) / sqrt(sum(weights))
    shrunken = tuple(
        mean + between / (between + variance) * (effect - mean)
        for effect, variance in zip(effects, variances, strict=True)
    )
    interval = Interval(mean - reach, mean + reach, level, "DerSimonian-Laird")
    share = max(0.0, (q - free) / q) if q > 0 else 0.0
    return Heterogeneity(between, q, float(chdtrc(free, q)), share, mean, interval, shrunken)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
