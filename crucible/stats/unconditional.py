"""All 2x2 tables of two arms at once: what exact unconditional tests and exact power are computed from.

A one-sided rule orders the tables with the same total of passes by A's passes, so its rejection region is a tail on
every total. Given the total, the chance of that tail under equal rates is hypergeometric and free of the rate; the
chance of the region is those tails mixed by Binomial(n_a + n_b, rate), and its maximum over the rate is a maximum over
one variable. That turns Boschloo's test from minutes of enumeration into milliseconds.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, log
from typing import TYPE_CHECKING

from crucible.stats import _checks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

TIE = 1 + 1e-12
"""Tails that differ by less than this factor are the same rational number, computed in another order."""
MOST_ATTEMPTS = 1000
"""Of both arms together: above it the binomial coefficients leave the range of floats."""
GRID = 512
"""Rates tried before refinement, evenly spaced in arcsin(sqrt(rate)): there a binomial is equally wide at every rate,
and a mixture over 1000 attempts changes by less than one part in a hundred between neighbours of its maximum."""
NEAR_BEST = 0.99
"""A local maximum on the grid below this share of the best one cannot overtake it by refinement."""
MOST_PEAKS = 8
"""Where the chance is flat, rounding makes a peak of every other rate; refining eight of them is enough."""
ZOOMS, POINTS = 7, 17
"""Each zoom narrows the bracket of a maximum by a factor of eight: to below 1e-9, its value to below 1e-14."""


def passes_on(total: int, n_a: int, n_b: int) -> tuple[int, int]:
    """The fewest and the most passes A can have when both arms together have `total`."""
    return max(0, total - n_b), min(total, n_a)


@lru_cache(maxsize=32)
def tails(n_a: int, n_b: int) -> Floats:
    """P(A has at least this many passes | total, equal rates), most extreme first; a row per total, padded with inf.

    Row `total`, column j is A having `most - j` passes. These are Fisher's one-sided p-values of every table.
    """
    import numpy as np

    found = np.cumsum(_hypergeometric(n_a, n_b), axis=1)
    for total in range(n_a + n_b + 1):
        fewest, most = passes_on(total, n_a, n_b)
        found[total, most - fewest + 1 :] = np.inf
    found.setflags(write=False)
    return found


@lru_cache(maxsize=32)
def mid_tails(n_a: int, n_b: int) -> Floats:
    """As `tails`, with half the probability of the table itself: Fisher's mid-p."""
    found: Floats = tails(n_a, n_b) - _hypergeometric(n_a, n_b) / 2
    found.setflags(write=False)
    return found


def largest_tails(values: Floats, threshold: float) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Per row of ordered `values`: the last one not above the threshold (0 if none), and how many are not above it."""
    import numpy as np

    many = (values <= threshold * TIE).sum(axis=1)
    last = values[np.arange(len(values)), np.maximum(many - 1, 0)]
    return np.where(many > 0, last, 0.0), many


def largest_probability(conditional: Floats) -> float:
    """Maximum over the common rate of the chance of a region: `conditional[s]` is its chance given s passes in all.

    Grid, then refinement of the local maxima that come near the best one.
    """
    rates, weights = _binomial_grid(len(conditional) - 1)
    chance = weights @ conditional
    return min(1.0, max(float(chance.max()), _refined(conditional, rates, chance)))


def stays_within(conditional: Floats, limit: float) -> bool:
    """Is the chance of a region at most `limit` whatever the common rate? As `largest_probability`, refined only
    when the grid leaves it open."""
    rates, weights = _binomial_grid(len(conditional) - 1)
    chance = weights @ conditional
    on_grid = float(chance.max())
    if on_grid > limit or on_grid < NEAR_BEST * limit:
        return on_grid <= limit
    return _refined(conditional, rates, chance) <= limit


def binomial_weights(n: int, rates: Floats) -> Floats:
    """P(k of n) for each rate (rows) and each k from 0 to n (columns)."""
    import numpy as np

    column, k = np.asarray(rates, dtype=float)[:, None], np.arange(n + 1)
    # One logarithm a rate, not one a cell; no passes have a chance at the rate 0 too, and no failures at 1.
    passed, failed = np.zeros((len(column), n + 1)), np.zeros((len(column), n + 1))
    with np.errstate(divide="ignore"):
        passed[:, 1:] = k[1:] * np.log(column)
        failed[:, :n] = (n - k[:n]) * np.log1p(-column)
    weights: Floats = np.exp(_log_coefficients(n) + passed + failed)
    return weights


@lru_cache(maxsize=8)
def _log_coefficients(n: int) -> Floats:
    import numpy as np

    return np.array([log(comb(n, k)) for k in range(n + 1)])


def check_size(n_a: int, n_b: int) -> None:
    """Raises ValueError when the tables of these arms are too many to enumerate."""
    _checks.whole("n_a", n_a, 1)
    _checks.whole("n_b", n_b, 1)
    if n_a + n_b > MOST_ATTEMPTS:
        raise ValueError(f"exact enumeration takes at most {MOST_ATTEMPTS} attempts of both arms, not {n_a + n_b}")


def _hypergeometric(n_a: int, n_b: int) -> Floats:
    """P(A has `most - j` passes | total): a row per total, zero where there is no such table."""
    import numpy as np

    check_size(n_a, n_b)
    ways_a, ways_b, ways = (np.array([float(comb(n, k)) for k in range(n + 1)]) for n in (n_a, n_b, n_a + n_b))
    total = np.arange(n_a + n_b + 1)[:, None]
    k_a = np.minimum(total, n_a) - np.arange(min(n_a, n_b) + 1)[None, :]
    k_b = total - k_a
    real = (k_a >= 0) & (k_b <= n_b)
    found: Floats = np.where(real, ways_a[k_a * real] * ways_b[k_b * real] / ways[:, None], 0.0)
    return found


@lru_cache(maxsize=8)
def _binomial_grid(attempts: int) -> tuple[Floats, Floats]:
    import numpy as np

    rates = np.sin(np.linspace(0.0, np.pi / 2, GRID + 1)) ** 2
    return rates, binomial_weights(attempts, rates)


def _refined(conditional: Floats, rates: Floats, chance: Floats) -> float:
    """The highest local maximum between the rates of the grid, where `chance` was computed; 0 if there is none."""
    import numpy as np

    inner = chance[1:-1]
    peaks = np.flatnonzero((inner > chance[:-2]) & (inner >= chance[2:]) & (inner >= chance.max() * NEAR_BEST)) + 1
    highest = peaks[np.argsort(-chance[peaks])][:MOST_PEAKS]
    return max((_refine(conditional, rates[peak - 1], rates[peak + 1]) for peak in highest), default=0.0)


def _refine(conditional: Floats, low: float, high: float) -> float:
    import numpy as np

    best = 0.0
    for _ in range(ZOOMS):
        rates = np.linspace(low, high, POINTS)
        chance = binomial_weights(len(conditional) - 1, rates) @ conditional
        top = int(chance.argmax())
        best = max(best, float(chance[top]))
        low, high = rates[max(top - 1, 0)], rates[min(top + 1, POINTS - 1)]
    return best
