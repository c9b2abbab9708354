"""Before spending, over several scenarios: what mean difference can S scenarios with K attempts per arm detect?

The variance of the mean difference is (omega^2 + 2 sigma^2 / K) / S. `sigma2` is the variance of one attempt's result
within a scenario and arm (the average of p(1-p) for pass rates: at most 0.25, 0.17 for rates spread like most suites);
`omega` the standard deviation, between scenarios, of the *true* effect. More scenarios beat more attempts, and where
omega is large no number of attempts helps.

For *scenarios like these* everything is by the noncentral t with S - 1 degrees of freedom; for *these scenarios* omega
drops out and the normal is used. Two-sided tests at `alpha`; differences are fractions of 1, 0.15 for 15 points.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from statistics import NormalDist

from crucible.stats import _checks

SIGMA2 = 0.17
"""Average p(1-p) of pass rates with mean 0.6 and standard deviation 0.25 between scenarios."""
MOST_ATTEMPTS = 1000
"""Per arm and scenario: where the search ends."""
FAR = 6.0
"""Standard errors from 0 at which a verdict in the wrong direction has a chance below 1e-9."""
STEPS = 60
"""Halvings of a bracket: below 1e-15."""


@dataclass(frozen=True, slots=True)
class Suite:
    """S scenarios (at least 1), K attempts per arm on each (at least 1), and the two sources of noise."""

    scenarios: int
    attempts: int
    sigma2: float = SIGMA2
    omega: float = 0.0

    def __post_init__(self) -> None:
        _checks.whole("scenarios", self.scenarios, 1)
        _checks.whole("attempts", self.attempts, 1)
        _checks.not_negative("sigma2", self.sigma2)
        _checks.not_negative("omega", self.omega)
        if self.sigma2 == 0 == self.omega:
            raise ValueError("sigma2 and omega cannot both be 0: without noise there is nothing to plan")

    def standard_error(self, *, like_these: bool) -> float:
        """Of the mean difference; without omega when the claim is about these scenarios only."""
        between = self.omega**2 if like_these else 0.0
        return sqrt((between + 2 * self.sigma2 / self.attempts) / self.scenarios)


def power_like_these(suite: Suite, difference: float, alpha: float = 0.05) -> float:
    """The chance that the paired t over scenarios finds a true mean difference on *scenarios like these*; in [0, 1].

    0 for one scenario. Source: noncentral t.
    """
    from scipy.special import stdtrit

    difference, alpha = _checks.finite("difference", difference), _checks.inside("alpha", alpha)
    df = suite.scenarios - 1
    se = suite.standard_error(like_these=True)
    if df == 0:
        return 0.0
    if se == 0:  # noise too small for a float
        return float(difference != 0)
    critical, shift = float(stdtrit(df, 1 - alpha / 2)), abs(difference) / se
    wrong_direction = _noncentral_t(df, shift, -critical) if shift < FAR else 0.0
    return min(1.0, max(0.0, 1 - _noncentral_t(df, shift, critical) + wrong_direction))


def power_these(suite: Suite, difference: float, alpha: float = 0.05) -> float:
    """The chance that a normal test finds a true mean difference on *these scenarios*; in [0, 1]. omega plays no part."""
    difference, alpha = _checks.finite("difference", difference), _checks.inside("alpha", alpha)
    normal, se = NormalDist(), suite.standard_error(like_these=False)
    if se == 0:
        return 1.0 if difference else 0.0
    critical, shift = -normal.inv_cdf(alpha / 2), abs(difference) / se
    return normal.cdf(shift - critical) + normal.cdf(-shift - critical)


def detectable_like_these(suite: Suite, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true mean difference found with this power on *scenarios like these*. None for one scenario.

    May exceed 1: then no difference of pass rates can be found.
    """
    power = _checks.inside("power", power)
    if suite.scenarios == 1:
        return None
    se = suite.standard_error(like_these=True)
    low, high = 0.0, se
    while power_like_these(suite, high, alpha) < power:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power_like_these(suite, middle, alpha) >= power else (middle, high)
    return high


def detectable_these(suite: Suite, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true mean difference found with this power on *these scenarios*; the other direction's share left out.

    May exceed 1: then no difference of pass rates can be found.
    """
    return _quantiles(power, alpha) * suite.standard_error(like_these=False)


def attempts_needed_like_these(
    scenarios: int,
    difference: float,
    omega: float = 0.0,
    sigma2: float = SIGMA2,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int | None:
    """Attempts per arm on each scenario, to find this mean difference on *scenarios like these*.

    None when more than 1000 would be needed, which mostly means that no number is enough: more scenarios are.
    """
    difference = _checks.positive("difference", difference)

    def enough(attempts: int) -> bool:
        return power_like_these(Suite(scenarios, attempts, sigma2, omega), difference, alpha) >= power

    _checks.inside("power", power)
    if not enough(MOST_ATTEMPTS):
        return None
    low, high = 0, MOST_ATTEMPTS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def ever_like_these(scenarios: int, difference: float, omega: float, power: float = 0.8, alpha: float = 0.05) -> bool:
    """Whether any number of attempts finds this mean difference on *scenarios like these*.

    With endless attempts only the spread between scenarios, `omega`, is left; with one scenario nothing is found.
    """
    if scenarios == 1 or omega == 0:
        return scenarios > 1
    return power_like_these(Suite(scenarios, 1, 0.0, omega), difference, alpha) > power


def attempts_needed_these(
    scenarios: int, difference: float, sigma2: float = SIGMA2, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Attempts per arm on each scenario, to find this mean difference on *these scenarios*."""
    difference = _checks.positive("difference", difference)
    attempts = 2 * _checks.positive("sigma2", sigma2) * (_quantiles(power, alpha) / difference) ** 2
    return max(1, _ceil(attempts / _checks.whole("scenarios", scenarios, 1)))


def questions_needed(
    difference: float,
    omega2: float,
    sigma2_a: float,
    sigma2_b: float,
    attempts_a: int = 1,
    attempts_b: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """How many scenarios, when they are many: the normal formula, for public benchmarks with hundreds of questions.

    `omega2` is the *variance* of the true effect. Source: Miller 2024, arXiv 2411.00640, section 5 (969 for 3 points).
    """
    per_question = _checks.not_negative("omega2", omega2)
    per_question += _checks.not_negative("sigma2_a", sigma2_a) / _checks.whole("attempts_a", attempts_a, 1)
    per_question += _checks.not_negative("sigma2_b", sigma2_b) / _checks.whole("attempts_b", attempts_b, 1)
    return max(1, _ceil(per_question * (_quantiles(power, alpha) / _checks.positive("difference", difference)) ** 2))


def _noncentral_t(df: int, shift: float, value: float) -> float:
    from scipy.special import nctdtr

    below = float(nctdtr(df, shift, value))
    return 0.0 if isnan(below) else below  # scipy gives NaN for some probabilities below 1e-17


def _quantiles(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(_checks.inside("power", power)) - normal.inv_cdf(_checks.inside("alpha", alpha) / 2)


def _ceil(value: float) -> int:
    """The next whole number, unless `value` is one up to rounding."""
    nearest = round(value)
    return nearest if abs(value - nearest) < 1e-9 * max(1, nearest) else int(value) + 1
