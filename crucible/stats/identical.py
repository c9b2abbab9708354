"""How far apart do two identical arms land by chance alone? Ranges for further arms of a given size, from what was seen.

What was seen is itself a sample, and that is in the ranges: a rate counted on few attempts, or a spread estimated from
few, makes them wider. Arms that always passed so far still get a range of some width.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from crucible.stats import _checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

MOST = 1000
"""Attempts per arm above which the table of all outcomes is too large; a larger arm is taken to have this many."""
JEFFREYS = 0.5
NO_SPREAD = 1e-12
"""A standard deviation below this share of the largest value is rounding, not spread."""
TIE = 1 - 1e-12


def rates_apart(passed: int, seen: int, n_a: int, n_b: int, level: float = 0.95) -> float:
    """The smallest d in [0, 1] so that pass rates of two identical arms of `n_a` and `n_b` attempts differ by at most d
    with probability `level`, when `passed` of `seen` attempts of that arm have passed.

    Exact: binomial outcomes of both arms at one common rate, mixed over what the counts say of that rate (Jeffreys).
    """
    import numpy as np

    passed, seen = _checks.counts(passed, seen)
    n_a, n_b = (min(MOST, _checks.whole("n", n, 1)) for n in (n_a, n_b))
    a, b = np.arange(n_a + 1)[:, None], np.arange(n_b + 1)[None, :]
    apart = np.abs(a * n_b - b * n_a).ravel()
    order = np.argsort(apart, kind="stable")
    reached = np.cumsum(_both(a, b, passed, seen).ravel()[order])
    first = int(np.searchsorted(reached, _checks.inside("level", level) * float(reached[-1]) * TIE))
    return float(apart[order][first]) / (n_a * n_b)


def means_apart(groups: Sequence[Sequence[float]], n_a: int, n_b: int, level: float = 0.95) -> float | None:
    """The same for means of `n_a` and `n_b` further values, in the units of the values: Student's t on the pooled spread.

    Values of one group share their mean. None when the values say nothing about a spread: too few, or all alike.
    """
    from scipy.special import stdtrit

    values = [_checks.numbers("a group", group) for group in groups]
    n_a, n_b = _checks.whole("n_a", n_a, 1), _checks.whole("n_b", n_b, 1)
    df = sum(len(group) - 1 for group in values)
    squares = sum((x - sum(group) / len(group)) ** 2 for group in values for x in group)
    largest = max((abs(x) for group in values for x in group), default=0.0)
    if df < 1 or sqrt(squares / df) <= NO_SPREAD * largest:
        return None
    quantile = float(stdtrit(df, 1 - (1 - _checks.inside("level", level)) / 2))
    return quantile * sqrt(squares / df * (1 / n_a + 1 / n_b))


def _both(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], passed: int, seen: int) -> npt.NDArray[np.float64]:
    """The chance of a and b passes, up to a common factor: two binomials at a beta-distributed rate."""
    import numpy as np
    from scipy.special import betaln

    n_a, n_b = a.size - 1, b.size - 1
    green, red = passed + JEFFREYS + a + b, seen - passed + JEFFREYS + (n_a - a) + (n_b - b)
    logs = betaln(green, red) - betaln(a + 1, n_a - a + 1) - betaln(b + 1, n_b - b + 1)
    chances: npt.NDArray[np.float64] = np.exp(logs - logs.max())
    return chances
