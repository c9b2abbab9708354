"""Exact tests of two pass rates on one scenario: is what we saw possible when both arms are equally good?

`two_arms` is the default to call. Boschloo's test is the most powerful of these at the sizes people can pay for;
Fisher's is the conservative column beside it; the mid-p variant takes over above 400 attempts per arm, where the three
agree. Attempts are independent samples: McNemar is only for pairs that share something real, such as one seed of the
fixture. "greater" means that A passes more often. Every p-value is in (0, 1].
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, sqrt
from typing import TYPE_CHECKING, Literal

from crucible.stats import _checks
from crucible.stats.unconditional import TIE, check_size, largest_probability, largest_tails, passes_on, tails

if TYPE_CHECKING:
    from collections.abc import Callable

    OneSided = Callable[[int, int, int, int], float]

Alternative = Literal["two-sided", "greater", "less"]
BOSCHLOO_UP_TO = 400
"""Attempts per arm: a tenth of a second there. Not fewer, since mid-p raises up to 5.7 % false alarms at 5 %."""

NEGLIGIBLE = 1e-17
"""A table this much less likely than all nearer ones together ends their sum."""


def two_arms(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> tuple[float, str]:
    """The default test of two pass rates: its p-value and the name to print beside it."""
    if max(n_a, n_b) <= BOSCHLOO_UP_TO:
        return boschloo(k_a, n_a, k_b, n_b, alternative), "Boschloo"
    return fisher_mid_p(k_a, n_a, k_b, n_b, alternative), "Fisher mid-p"


def boschloo(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """The unconditional exact test ordered by Fisher's p-value: never more false alarms than stated, at any rate.

    Up to 1000 attempts of both arms. Source: Boschloo 1970; two-sided as in SciPy.
    """
    return _sided(_boschloo_greater, k_a, n_a, k_b, n_b, alternative)


def fisher(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """The conditional exact test. Conservative: at 10 attempts per arm its real false-alarm rate is 1.3 %, not 5.

    Two-sided is the sum over all tables no likelier than this one, as everybody prints it; it differs from twice the
    one-sided value only for unequal arms. Source: Fisher 1935.
    """
    if alternative == "two-sided":
        return _fisher_like_this(k_a, n_a, k_b, n_b, 1.0)
    return _sided(_fisher_greater, k_a, n_a, k_b, n_b, alternative)


def fisher_mid_p(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """Fisher's test counting half of the table itself: near its nominal level, which it may exceed a little.

    Its largest real false-alarm rate at 5 % is 5.7 % at 50 attempts per arm. Source: Lancaster 1961.
    """
    return _sided(_mid_p_greater, k_a, n_a, k_b, n_b, alternative)


def fisher_mid_p_by_likelihood(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    """Two-sided mid-p by summing tables no likelier than this one, half of this one left out: the textbook's column."""
    return _fisher_like_this(k_a, n_a, k_b, n_b, 0.5)


def barnard(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """The unconditional exact test ordered by the pooled z statistic; two-sided by its absolute value.

    A second opinion beside Boschloo. Up to 1000 attempts of both arms. Source: Barnard 1945; z as in Suissa, Shuster.
    """
    (k_a, n_a), (k_b, n_b) = _checks.counts(k_a, n_a, "_a"), _checks.counts(k_b, n_b, "_b")
    check_size(n_a, n_b)
    if alternative == "less":
        return barnard(k_b, n_b, k_a, n_a, "greater")
    if alternative == "greater":
        return _barnard_p(n_a, n_b, pooled_z(k_a, n_a, k_b, n_b), both=False)
    return _barnard_p(n_a, n_b, abs(pooled_z(k_a, n_a, k_b, n_b)), both=True)


def pooled_z(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    """The difference of rates over its pooled standard error; 0 when nothing or everything passed."""
    pooled = (k_a + k_b) / (n_a + n_b)
    spread = pooled * (1 - pooled) * (1 / n_a + 1 / n_b)
    return (k_a / n_a - k_b / n_b) / sqrt(spread) if spread > 0 else 0.0


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact test of truly paired attempts, from the pairs in which only one arm passed.

    Source: McNemar 1947 with binomial tails.
    """
    return min(1.0, 2 * _sign_tail(only_a, only_b))


def mcnemar_mid_p(only_a: int, only_b: int) -> float:
    """As `mcnemar`, counting half of the observed pairing. Source: Fagerland, Lydersen and Laake 2013."""
    tail = _sign_tail(only_a, only_b)
    here = comb(only_a + only_b, only_a) / (1 << (only_a + only_b))
    return 1 - here / 2 if only_a == only_b else 2 * tail - here


def smallest_p(n_a: int, n_b: int, test: Literal["boschloo", "fisher"] = "boschloo") -> float:
    """The smallest two-sided p-value these many attempts can ever give: every pass in one arm, none in the other.

    A design whose smallest p-value exceeds its threshold can never find anything; say so before it is paid for.
    """
    return (boschloo if test == "boschloo" else fisher)(n_a, n_a, 0, n_b)


def _sided(greater: OneSided, k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative) -> float:
    (k_a, n_a), (k_b, n_b) = _checks.counts(k_a, n_a, "_a"), _checks.counts(k_b, n_b, "_b")
    if alternative == "greater":
        return greater(k_a, n_a, k_b, n_b)
    if alternative == "less":
        return greater(k_b, n_b, k_a, n_a)
    return min(1.0, 2 * min(greater(k_a, n_a, k_b, n_b), greater(k_b, n_b, k_a, n_a)))


@lru_cache(maxsize=4096)
def _boschloo_greater(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    check_size(n_a, n_b)
    table = tails(n_a, n_b)
    _, most = passes_on(k_a + k_b, n_a, n_b)
    conditional, _ = largest_tails(table, float(table[k_a + k_b, most - k_a]))
    return largest_probability(conditional)


def _fisher_greater(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    _, most = passes_on(k_a + k_b, n_a, n_b)
    return sum(_ways(n_a, n_b, k_a + k_b, k) for k in range(k_a, most + 1)) / comb(n_a + n_b, k_a + k_b)


def _mid_p_greater(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    more, fewer = _beyond(k_a, n_a, k_b, n_b), _beyond(k_b, n_b, k_a, n_a)
    smaller = (0.5 + min(more, fewer)) / (1 + more + fewer)
    return smaller if more <= fewer else 1 - smaller


def _beyond(k_a: int, n_a: int, k_b: int, n_b: int) -> float:
    """How often A has more of these passes for every once that it has as many: from the ratios of neighbouring tables,
    which stay in the range of floats at any size."""
    found, table = 0.0, 1.0
    while k_a < n_a and k_b > 0 and table > found * NEGLIGIBLE:
        table *= (n_a - k_a) * k_b / ((k_a + 1) * (n_b - k_b + 1))
        found += table
        k_a, k_b = k_a + 1, k_b - 1
    return found


def _fisher_like_this(k_a: int, n_a: int, k_b: int, n_b: int, share: float) -> float:
    """Sum over the tables no likelier than this one, in whole numbers so that ties are ties; `share` of this one."""
    (k_a, n_a), (k_b, n_b) = _checks.counts(k_a, n_a, "_a"), _checks.counts(k_b, n_b, "_b")
    total = k_a + k_b
    here = _ways(n_a, n_b, total, k_a)
    fewest, most = passes_on(total, n_a, n_b)
    found = sum(ways for k in range(fewest, most + 1) if (ways := _ways(n_a, n_b, total, k)) <= here)
    whole = comb(n_a + n_b, total)
    return found / whole - (1 - share) * (here / whole)


def _ways(n_a: int, n_b: int, total: int, k_a: int) -> int:
    return comb(n_a, k_a) * comb(n_b, total - k_a)


def _barnard_p(n_a: int, n_b: int, threshold: float, *, both: bool) -> float:
    import numpy as np

    table = tails(n_a, n_b)
    conditional = np.zeros(len(table))
    for total in range(len(table)):
        fewest, most = passes_on(total, n_a, n_b)
        z = [pooled_z(k, n_a, total - k, n_b) for k in range(most, fewest - 1, -1)]
        steps = np.diff(table[total, : len(z)], prepend=0.0)
        far = np.array([(abs(value) if both else value) >= threshold - (TIE - 1) for value in z])
        conditional[total] = steps[far].sum()
    return largest_probability(conditional)


def _sign_tail(only_a: int, only_b: int) -> float:
    """P(at most the smaller count | pairs, a fair coin)."""
    pairs = _checks.whole("only_a", only_a) + _checks.whole("only_b", only_b)
    return sum(comb(pairs, k) for k in range(min(only_a, only_b) + 1)) / (1 << pairs)
