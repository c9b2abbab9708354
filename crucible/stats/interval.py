"""An interval, and the two ways to say how wide it should be: a level or a normal quantile."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from crucible.stats import _checks


@dataclass(frozen=True, slots=True)
class Interval:
    """What the data are compatible with, in the units of the estimate.

    `level` is the nominal two-sided confidence, in (0, 1); `method` is the name to print beside it.
    """

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """High minus low, at least 0."""
        return self.high - self.low


def normal_quantile(level: float) -> float:
    """z with a central normal probability of `level` between -z and z: 1.96 for 0.95."""
    level = _checks.inside("level", level)
    return -NormalDist().inv_cdf((1 - level) / 2)


def level_of(z: float) -> float:
    """The two-sided level of a normal quantile: 0.95 for 1.96. The inverse of `normal_quantile`."""
    return 1 - 2 * NormalDist().cdf(-_checks.positive("z", z))
