"""Pass and fail over several scenarios in one odds ratio: the large-sample twin of the stratified permutation test.

Secondary: the headline is the mean difference in points (`across`). Strata are (k_a, n_a, k_b, n_b). A scenario in which
all attempts passed, or none, tells nothing about the odds and drops out by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import TYPE_CHECKING

from crucible.stats import _checks
from crucible.stats.across import SMALLEST_P

if TYPE_CHECKING:
    from collections.abc import Sequence

    Strata = Sequence[tuple[int, int, int, int]]


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """`z` is positive when A passes more often; `chi_square` its square; `p_value` two-sided, in (0, 1].

    `odds_ratio` of A over B is None when it is infinite or undefined. `z` is 0 when no scenario is informative.
    """

    z: float
    chi_square: float
    p_value: float
    odds_ratio: float | None


def mantel_haenszel(strata: Strata) -> MantelHaenszel:
    """Is the common odds ratio over *these scenarios* other than 1? Without continuity correction.

    Valid when the expected passes summed over scenarios are large (5 at least); else use `permutation.stratified_passes`.
    Source: Cochran 1954, Mantel and Haenszel 1959.
    """
    checked = [(*_checks.counts(*s[:2], "_a"), *_checks.counts(*s[2:], "_b")) for s in strata]
    if not checked:
        raise ValueError("a test over scenarios needs at least one scenario")
    excess = sum(k_a - (k_a + k_b) * n_a / (n_a + n_b) for k_a, n_a, k_b, n_b in checked)
    spread = sum(map(_variance, checked))
    z = excess / sqrt(spread) if spread > 0 else 0.0
    return MantelHaenszel(z, z * z, max(SMALLEST_P, erfc(abs(z) / sqrt(2))), _odds_ratio(checked))


def _variance(stratum: tuple[int, int, int, int]) -> float:
    """Of A's passes when the total is fixed and the arms are equal."""
    k_a, n_a, k_b, n_b = stratum
    total, passes = n_a + n_b, k_a + k_b
    return n_a * n_b * passes * (total - passes) / (total**2 * (total - 1))


def _odds_ratio(strata: Strata) -> float | None:
    for_a = sum(k_a * (n_b - k_b) / (n_a + n_b) for k_a, n_a, k_b, n_b in strata)
    for_b = sum(k_b * (n_a - k_a) / (n_a + n_b) for k_a, n_a, k_b, n_b in strata)
    return for_a / for_b if for_b > 0 else None
