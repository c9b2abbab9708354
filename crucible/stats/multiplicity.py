"""Many tests at once. One primary test needs none of this; dimensions and scenarios beside it do, and are exploratory.

Adjusted p-values are in [0, 1], in the order given, and never below the p-value they adjust: compare them with the
level itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crucible.stats import _checks

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Tarone:
    """`testable`: positions of the tests that could reach `level / factor` at all; `factor` is what level is divided by.

    `rejected` are positions too. `factor` is 1 when nothing is testable.
    """

    factor: int
    testable: tuple[int, ...]
    rejected: tuple[int, ...]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted so that all rejections below the level are right with that confidence, under any dependence.

    Source: Holm 1979.
    """
    p_values = _p_values(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, (len(p_values) - place) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted so that of the rejections below the level at most that share is expected to be wrong.

    Valid for independent or positively dependent tests. Source: Benjamini and Hochberg 1995.
    """
    p_values = _p_values(p_values)
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    for place, i in reversed(list(enumerate(sorted(range(len(p_values)), key=p_values.__getitem__), start=1))):
        smallest = min(smallest, len(p_values) / place * p_values[i])
        adjusted[i] = smallest
    return adjusted


def tarone(p_values: Sequence[float], smallest: Sequence[float], level: float = 0.05) -> Tarone:
    """Bonferroni that leaves out of the count those tests which can never reject, and says which they are.

    `smallest[i]` is the smallest p-value test i can attain (`exact.smallest_p`), known before the data: leaving tests
    out by it is no peeking. Family-wise error at most `level`. Source: Tarone 1990.
    """
    p_values, smallest = _p_values(p_values), _p_values(smallest)
    _checks.same_length("p_values", p_values, "smallest", smallest)
    level = _checks.inside("level", level)
    factor = 1
    while len(_reachable(smallest, level / factor)) > factor:
        factor += 1
    testable = _reachable(smallest, level / factor)
    rejected = tuple(i for i in testable if p_values[i] <= level / factor)
    return Tarone(factor, testable, rejected)


def _reachable(smallest: Sequence[float], threshold: float) -> tuple[int, ...]:
    return tuple(i for i, p in enumerate(smallest) if p <= threshold)


def _p_values(values: Sequence[float]) -> list[float]:
    return [_checks.rate("a p-value", value) for value in values]
