"""Distributions on whole numbers, exactly: the sum of a random subset, sums of independent parts, and tails.

What permutation tests are made of. Values are whole numbers (int64) so that a tie is a tie; probabilities are floats
with relative errors near 1e-14. Where a distribution would need more values than `MOST_VALUES`, the answer is None and
the caller draws at random instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

MOST_VALUES = 1 << 18
"""Values a distribution may have: 2 x 9 attempts with no two scores alike have 48,620, 2 x 10 have 184,756."""
MOST_PAIRS = 1 << 21
"""Pairs of values that are added up in one step of a sum of independent parts."""
MOST_MERGED = 1 << 22
"""Values that are merged, over all steps, where no lattice helps: a third of a second. 2 x 9 attempts take 0.2 million."""
MOST_PLACES = 1 << 21
"""Places of a lattice that a sum may span."""
MOST_PRODUCTS = 1 << 23
"""Above it a convolution goes through the Fourier transform, whose rounding error is absolute: about 1e-16."""
SMALLEST = 1e-12
"""Tails below it are given as this, because of that rounding error: too large is the side to err on."""
KERNEL = 4096
"""Longer direct convolutions are cut: numpy hands longer dot products to threads, which then wait for each other."""
MOST_CELLS = 1 << 20
"""Cells of the table (subset size) x (sum) when scores lie on a lattice: 2 x 50 attempts scored in steps of 0.01."""
SMALL_TABLE = 1 << 15
"""Cells up to which it is quicker to add whole tables than only those rows and sums that can still matter."""
MOST_KEPT = 1 << 16
"""Values of a distribution that is kept for the next time it is asked for: a megabyte."""
MOST_ITEMS = 1000
"""Above it the number of subsets leaves the range of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """`values` ascending and different, `weights` their probabilities."""

    values: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


def sum_of_subset(items: Sequence[int], size: int) -> Distribution | None:
    """The sum of `size` of the items, every subset equally likely. None when it has too many values."""
    import numpy as np

    if len(items) > MOST_ITEMS:
        return None
    least = min(items)
    step = int(np.gcd.reduce([item - least for item in items])) or 1
    steps = [(item - least) // step for item in items]
    reach = sum(sorted(steps)[len(steps) - size :])
    if max(steps) <= 1:
        found = _hypergeometric(sum(steps), len(steps), size)
    elif (size + 1) * (reach + 1) <= MOST_CELLS:
        ordered = tuple(sorted(steps))
        found = (_by_table_kept if reach <= MOST_KEPT else _by_table)(ordered, size, reach)
    elif min(comb(len(items), size), reach + 1) > MOST_MERGED:
        return None
    else:
        merged = _by_merging(steps, size)
        if merged is None:
            return None
        found = merged
    return Distribution(found.values * step + size * least, found.weights / comb(len(items), size))


def scaled(part: Distribution, factor: int, shift: int) -> Distribution:
    """The distribution of `factor` (above 0) times the value, plus `shift`."""
    return Distribution(part.values * factor + shift, part.weights)


def either(values: tuple[int, int]) -> Distribution:
    """One of two values, with equal chances."""
    import numpy as np

    return _merged(np.array(values, dtype=np.int64), np.array([0.5, 0.5]))


def tails_of_sum(parts: Iterable[Distribution | None], value: int, slack: int) -> tuple[float, float] | None:
    """P(sum >= value) and P(sum <= value) of independent parts; what comes within `slack` counts in both.

    None when a part is, or when adding up the parts takes too many pairs; no further part is asked for then. The last two
    parts are never added up: one is searched in the other, so that twice as many parts are feasible.
    """
    left: list[Distribution] = []
    for part in parts:
        if part is None:
            return None
        left = sorted([*left, part], key=_length)
        if len(left) > 2:
            sum_of_two = _added(left[0], left[1])
            if sum_of_two is None:
                return None
            left = [left[2], sum_of_two]
    one, other = left if len(left) == 2 else (left[0], None)
    upper, lower = _tail(one, other, value - slack, upper=True), _tail(one, other, value + slack, upper=False)
    return min(1.0, max(upper, SMALLEST)), min(1.0, max(lower, SMALLEST))


def _length(part: Distribution) -> int:
    return len(part.values)


def _tail(one: Distribution, other: Distribution | None, value: int, *, upper: bool) -> float:
    import numpy as np

    if other is None:
        return float(one.weights[one.values >= value if upper else one.values <= value].sum())
    cumulative = np.concatenate([[0.0], np.cumsum(other.weights[::-1] if upper else other.weights)])
    if upper:
        many = len(other.values) - np.searchsorted(other.values, value - one.values, side="left")
    else:
        many = np.searchsorted(other.values, value - one.values, side="right")
    return float(one.weights @ cumulative[many])


def _added(first: Distribution, second: Distribution) -> Distribution | None:
    """The sum of two independent parts: by convolution on their common lattice when it is not much finer than they are."""
    import numpy as np

    starts = int(first.values[0]), int(second.values[0])
    offsets = first.values - starts[0], second.values - starts[1]
    step = int(np.gcd.reduce(np.concatenate(offsets))) or 1
    places = offsets[0] // step, offsets[1] // step
    spans = int(places[0][-1]) + 1, int(places[1][-1]) + 1
    if max(spans) <= MOST_PLACES and spans[0] * spans[1] <= 64 * len(places[0]) * len(places[1]):
        dense = _convolved(_dense(places[0], first.weights), _dense(places[1], second.weights))
        there = np.flatnonzero(dense)
        return Distribution(there * step + sum(starts), dense[there])
    if len(first.values) * len(second.values) > MOST_PAIRS:
        return None
    sums = np.add.outer(first.values, second.values).ravel()
    return _merged(sums, np.multiply.outer(first.weights, second.weights).ravel())


def _convolved(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np

    found = np.zeros(len(one) + len(other) - 1)
    if len(one) * len(other) > MOST_PRODUCTS:
        size = 1 << (len(found) - 1).bit_length()
        product = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)
        return np.maximum(product[: len(found)], 0.0)
    for start in range(0, len(other), KERNEL):
        piece = np.convolve(one, other[start : start + KERNEL])
        found[start : start + len(piece)] += piece
    return found


def _merged(values: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]) -> Distribution:
    """Equal values become one. On a lattice by counting, which is many times faster than sorting."""
    import numpy as np

    least = values.min()
    step = int(np.gcd.reduce(values - least)) or 1
    places = (values - least) // step
    if int(places.max()) <= 4 * len(values):
        dense = _dense(places, weights)
        there = np.flatnonzero(dense)
        return Distribution(there.astype(np.int64) * step + least, dense[there])
    different, where = np.unique(values, return_inverse=True)
    return Distribution(different, _dense(where, weights))


def _dense(places: npt.NDArray[np.intp], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Weights by place, added up where places are equal."""
    import numpy as np

    return np.bincount(places, weights=weights).astype(np.float64, copy=False)


def _hypergeometric(ones: int, items: int, size: int) -> Distribution:
    """How many ones a subset has; weights are numbers of subsets."""
    import numpy as np

    counts = range(max(0, size - (items - ones)), min(ones, size) + 1)
    ways = [float(comb(ones, k) * comb(items - ones, size - k)) for k in counts]
    return Distribution(np.array(counts, dtype=np.int64), np.array(ways))


def _by_table(ordered: tuple[int, ...], size: int, reach: int) -> Distribution:
    """Numbers of subsets by their size and sum, one item after the other; only sizes that can still end at `size`, and
    only the sums that so many of the items so far can have."""
    import numpy as np

    smallest = [0, *accumulate(ordered)]
    table = np.zeros((size + 1, reach + 1))
    table[0, 0] = 1.0
    if table.size <= SMALL_TABLE:
        for step in ordered:
            table[1:, step:] += table[:-1, : reach + 1 - step]
        there = np.flatnonzero(table[size])
        return Distribution(there.astype(np.int64), table[size, there])
    for place, step in enumerate(ordered, start=1):
        fewest = max(1, size - (len(ordered) - place))
        for many in range(min(place, size), fewest - 1, -1):
            low, high = smallest[many - 1], smallest[place - 1] - smallest[place - many]
            table[many, low + step : high + step + 1] += table[many - 1, low : high + 1]
    there = np.flatnonzero(table[size])
    return Distribution(there.astype(np.int64), table[size, there])


@lru_cache(maxsize=64)
def _by_table_kept(ordered: tuple[int, ...], size: int, reach: int) -> Distribution:
    """A report asks for each scenario alone and for all of them together. Nothing changes a distribution."""
    return _by_table(ordered, size, reach)


def _by_merging(steps: Sequence[int], size: int) -> Distribution | None:
    """As `_by_table` where the lattice is too fine for a table: only the sums that occur, None when they are too many."""
    import numpy as np

    sums: list[Distribution | None] = [Distribution(np.zeros(1, np.int64), np.ones(1)), *[None] * size]
    merged = 0
    for step in steps:
        for many in range(size, 0, -1):
            grown = _with_one_more(sums[many], sums[many - 1], step)
            if grown is not None:
                merged += len(grown.values)
                if len(grown.values) > MOST_VALUES or merged > MOST_MERGED:
                    return None
            sums[many] = grown
    return sums[size]


def _with_one_more(same: Distribution | None, smaller: Distribution | None, step: int) -> Distribution | None:
    import numpy as np

    if smaller is None:
        return same
    if same is None:
        return scaled(smaller, 1, step)
    values = np.concatenate([same.values, smaller.values + step])
    return _merged(values, np.concatenate([same.weights, smaller.weights]))
