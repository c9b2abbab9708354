"""Do two raters, or several, or one rater twice, agree beyond chance?

Everything is 1 for perfect agreement and 0 for chance. Kappa falls when nearly all ratings are alike, however good the
agreement: always show the counts beside it. Rules of thumb (Krippendorff): from 0.8 on rely on it, from 0.667 tentative,
below that do not let a verdict depend on it. Where all ratings are the same, nothing can be said: None.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Literal

from crucible.stats import _checks
from crucible.stats.interval import Interval, normal_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Weights = Literal["none", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True)
class Kappa:
    """`kappa` in [-1, 1], `observed` agreement in [0, 1] (weighted), its standard error and interval."""

    kappa: float
    observed: float
    se: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class IntraclassCorrelations:
    """`single` is the reliability of one rater's score, `average` that of the mean of all of them; at most 1."""

    single: float
    average: float


def cohen_kappa(table: Sequence[Sequence[int]], weights: Weights = "none", level: float = 0.95) -> Kappa | None:
    """Two raters, one rating each: `table[i][j]` items got category i from the first and j from the second.

    Ordered categories want weights ("linear": a miss by two counts twice). The interval is a large-sample one: from some
    50 items on. None when both raters used one category only. Source: Cohen 1960, 1968; Fleiss, Cohen and Everitt 1969.
    """
    shares = _shares(table)
    size = range(len(shares))
    rows, columns = [sum(row) for row in shares], [sum(row[j] for row in shares) for j in size]
    agree = [[_agreement(i, j, len(shares), weights) for j in size] for i in size]
    observed = sum(agree[i][j] * shares[i][j] for i in size for j in size)
    chance = sum(agree[i][j] * rows[i] * columns[j] for i in size for j in size)
    if chance >= 1 - 1e-12:
        return None
    kappa = (observed - chance) / (1 - chance)
    by_row = [sum(columns[j] * agree[i][j] for j in size) for i in size]
    by_column = [sum(rows[i] * agree[i][j] for i in size) for j in size]
    spread = sum(
        shares[i][j] * (agree[i][j] - (by_row[i] + by_column[j]) * (1 - kappa)) ** 2 for i in size for j in size
    )
    variance = max(0.0, spread - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2
    se = sqrt(variance / sum(map(sum, table)))
    reach = normal_quantile(level) * se
    return Kappa(kappa, observed, se, Interval(max(-1.0, kappa - reach), min(1.0, kappa + reach), level, "kappa"))


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Several raters, the same number per item: `counts[i][j]` of them put item i into category j.

    None when only one category was used. Source: Fleiss 1971.
    """
    raters = _raters(counts)
    total = raters * len(counts)
    chance = sum((sum(row[j] for row in counts) / total) ** 2 for j in range(len(counts[0])))
    agreeing = sum(count * (count - 1) for row in counts for count in row)
    if chance >= 1 - 1e-12:
        return None
    return (agreeing / (total * (raters - 1)) - chance) / (1 - chance)


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], scale: Scale = "nominal") -> float | None:
    """Any number of raters (rows) over the same items (columns), with gaps (None): the most general of them.

    None when all ratings are the same or no item was rated twice. Source: Krippendorff 2011.
    """
    columns = [[_checks.finite("a rating", x) for x in column if x is not None] for column in _columns(ratings)]
    units = [unit for unit in columns if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    totals = {value: sum(unit.count(value) for unit in units) for value in values}
    distance = _distance(scale, values, totals)
    observed = sum(distance(x, y) / (len(unit) - 1) for unit in units for x in unit for y in unit)
    expected = sum(totals[x] * totals[y] * distance(x, y) for x in values for y in values)
    if expected == 0:
        return None
    return 1 - (sum(totals.values()) - 1) * observed / expected


def intraclass(ratings: Sequence[Sequence[float]]) -> IntraclassCorrelations | None:
    """The same raters (columns) scored every item (rows), as a sample of raters: ICC(2,1) and ICC(2,k).

    Differences in strictness count against agreement. Needs 2 items and 2 raters; None when nothing varies.
    Source: Shrout and Fleiss 1979.
    """
    rows = [_checks.numbers("ratings", row, 2) for row in ratings]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        raise ValueError("an intraclass correlation needs at least 2 items, each scored by the same raters")
    items, raters = len(rows), len(rows[0])
    mean = sum(map(sum, rows)) / (items * raters)
    of_items = raters * sum((sum(row) / raters - mean) ** 2 for row in rows)
    of_raters = items * sum((sum(column) / items - mean) ** 2 for column in zip(*rows, strict=True))
    rest = sum((value - mean) ** 2 for row in rows for value in row) - of_items - of_raters
    between, strictness = of_items / (items - 1), of_raters / (raters - 1)
    error = max(0.0, rest) / ((items - 1) * (raters - 1))
    single = between + (raters - 1) * error + raters * (strictness - error) / items
    average = between + (strictness - error) / items
    if single <= 0 or average <= 0:
        return None
    return IntraclassCorrelations((between - error) / single, (between - error) / average)


def _shares(table: Sequence[Sequence[int]]) -> list[list[float]]:
    if len(table) < 2 or any(len(row) != len(table) for row in table):
        raise ValueError("a table of two raters is square, with at least 2 categories")
    total = sum(_checks.whole("a count", count) for row in table for count in row)
    if total == 0:
        raise ValueError("a table of two raters needs at least one item")
    return [[count / total for count in row] for row in table]


def _agreement(i: int, j: int, categories: int, weights: Weights) -> float:
    apart = abs(i - j) / (categories - 1)
    return {"none": float(i == j), "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]


def _raters(counts: Sequence[Sequence[int]]) -> int:
    sums = {sum(_checks.whole("a count", count) for count in row) for row in counts}
    if len(sums) != 1 or len({len(row) for row in counts}) != 1:
        raise ValueError("every item needs the same number of raters and of categories")
    return _checks.whole("raters", sums.pop(), 2)


def _columns(ratings: Sequence[Sequence[float | None]]) -> list[tuple[float | None, ...]]:
    if not ratings or len({len(row) for row in ratings}) != 1:
        raise ValueError("every rater needs one rating, or None, for every item")
    return list(zip(*ratings, strict=True))


def _distance(scale: Scale, values: list[float], totals: dict[float, int]) -> Callable[[float, float], float]:
    """How far two ratings are apart, squared. Ordinal ones by how many ratings lie between them."""
    if scale == "ordinal":
        place, passed = {}, 0
        for value in values:
            place[value] = passed + totals[value] / 2
            passed += totals[value]
        return lambda x, y: (place[x] - place[y]) ** 2
    if scale == "ratio":
        if any(value < 0 for value in values):
            raise ValueError("a ratio scale has no negative ratings")
        return lambda x, y: ((x - y) / (x + y)) ** 2 if x != y else 0.0
    return {"nominal": lambda x, y: float(x != y), "interval": lambda x, y: (x - y) ** 2}[scale]
