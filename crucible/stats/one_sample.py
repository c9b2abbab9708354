"""One pass rate: k passes in n attempts of one arm on one scenario, as independent attempts of one true rate.

Wilson is the default to show. Clopper-Pearson is for gates and floors, where being wrong more often than stated is not
allowed. Jeffreys and Bayes-Laplace are the Bayesian readings. No Wald interval: with 10 attempts its 95 % cover 78 %.
Every interval lies in [0, 1], contains k/n, and mirrors when passes and failures are swapped.
"""

from __future__ import annotations

from math import sqrt

from crucible.stats import _checks
from crucible.stats.interval import Interval, normal_quantile


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Where does the true rate lie? The score interval; average coverage is the stated level from n = 3 on.

    Its smallest coverage over all rates is lower (0.83 at n = 3, 0.92 at n = 20, for 0.95).
    Source: Wilson 1927; method 3 of Newcombe 1998, Stat Med 17:857.
    """
    k, n = _checks.counts(k, n)
    return Interval(wilson_low(k, n, level), 1 - wilson_low(n - k, n, level), level, "Wilson")


def wilson_low(k: float, n: float, level: float = 0.95) -> float:
    """The lower limit of Wilson's interval; the upper one is one minus this for the failures. Neither need be whole: an
    effective number of attempts seldom is.
    """
    z = normal_quantile(level)
    if k == 0:
        return 0.0  # exactly, where the formula leaves a rounding error of either sign
    centre, half = k + z * z / 2, z * sqrt(k * (n - k) / n + z * z / 4)
    return (centre - half) / (n + z * z)


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """Where does the true rate lie, with coverage of at least `level` whatever the rate is (so: wide)?

    Source: Clopper and Pearson 1934; method 5 of Newcombe 1998.
    """
    one_sided = 1 - (1 - _checks.inside("level", level)) / 2
    low, high = clopper_pearson_lower(k, n, one_sided), clopper_pearson_upper(k, n, one_sided)
    return Interval(low, high, level, "Clopper-Pearson")


def clopper_pearson_lower(k: int, n: int, level: float = 0.95) -> float:
    """The rate that the true one exceeds with one-sided confidence of at least `level`; 0 when k = 0."""
    k, n = _checks.counts(k, n)
    tail = 1 - _checks.inside("level", level)
    return 0.0 if k == 0 else _beta_quantile(k, n - k + 1, tail)


def clopper_pearson_upper(k: int, n: int, level: float = 0.95) -> float:
    """The rate that the true one stays below with one-sided confidence of at least `level`; 1 when k = n."""
    k, n = _checks.counts(k, n)
    return 1 - clopper_pearson_lower(n - k, n, level)


def jeffreys(k: int, n: int, level: float = 0.95) -> Interval:
    """Where does the true rate lie, by the Beta(1/2, 1/2) prior? Low is 0 at k = 0, high is 1 at k = n.

    Source: Brown, Cai and DasGupta 2001, Stat Sci 16:101 (with their ends).
    """
    k, n = _checks.counts(k, n)
    low = 0.0 if k == 0 else _equal_tailed_low(k, n, 0.5, level)
    high = 1.0 if k == n else 1 - _equal_tailed_low(n - k, n, 0.5, level)
    return Interval(low, high, level, "Jeffreys")


def bayes_laplace(k: int, n: int, level: float = 0.95) -> Interval:
    """Where does the true rate lie, by a uniform prior: the equal-tailed interval of Beta(1 + k, 1 + n - k)?

    Unlike the others it excludes k/n when k is 0 or n. Source: Bowyer, Aitchison and Ivanova 2025, arXiv 2503.01747.
    """
    k, n = _checks.counts(k, n)
    low, high = _equal_tailed_low(k, n, 1.0, level), 1 - _equal_tailed_low(n - k, n, 1.0, level)
    return Interval(low, high, level, "Bayes-Laplace")


def upper_bound_without_event(n: int, level: float = 0.95) -> float:
    """After n attempts in which something never happened: its true rate is below this, with one-sided `level`.

    Exactly 1 - (1 - level)^(1/n), near 3/n for 0.95. The same as `clopper_pearson_upper(0, n)`.
    Source: the rule of three, Hanley and Lippman-Hand 1983.
    """
    n = _checks.whole("n", n, 1)
    return 1 - float((1 - _checks.inside("level", level)) ** (1 / n))


def _equal_tailed_low(k: int, n: int, prior: float, level: float) -> float:
    tail = (1 - _checks.inside("level", level)) / 2
    return _beta_quantile(k + prior, n - k + prior, tail)


def _beta_quantile(a: float, b: float, probability: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))
