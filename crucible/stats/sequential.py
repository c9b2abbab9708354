"""Stopping early without cheating: an exact sequential comparison of two pass rates on one scenario.

Attempts come in pairs, one per arm; N is the largest number per arm, declared before the first. From the fourth pair on
every pair is a look: with a and b passes after t pairs, A and B differ when |z| >= c (t/N)^-0.25, where z is the pooled
z of the two rates. (The shape is Wang and Tsiatis' of 1987 at 0.25, half way between Pocock's and O'Brien and Fleming's.)
The constant c is calibrated for each N by counting every path, so that the chance of *ever* crossing is at most alpha at
every common rate, and not only in the limit.

What to do at a look, futility included, and how often the design ends how, is in `looks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, inf
from typing import TYPE_CHECKING

from crucible.stats import _checks
from crucible.stats.interval import Interval
from crucible.stats.two_sample import miettinen_nurminen
from crucible.stats.unconditional import largest_probability

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

FIRST_LOOK = 4
SHAPE = 0.25
MOST_PAIRS = 200
"""Above it the number of paths, up to 4^N, nears the end of floats and calibration takes seconds."""


@dataclass(frozen=True, slots=True)
class Design:
    """`pairs` is N; reject at look t when |z| >= `constant` (t / N)^(`shape` - 1/2). Made by `calibrated` to keep `alpha`."""

    pairs: int
    constant: float
    alpha: float = 0.05
    shape: float = SHAPE
    first_look: int = FIRST_LOOK

    def __post_init__(self) -> None:
        _checks.whole("pairs", self.pairs, 1)
        _checks.whole("first_look", self.first_look, 1)
        _checks.positive("constant", self.constant)
        _checks.inside("alpha", self.alpha)
        if not self.first_look <= self.pairs <= MOST_PAIRS:
            raise ValueError(f"a sequential design takes {self.first_look} to {MOST_PAIRS} pairs, not {self.pairs}")

    def critical(self, look: int) -> float:
        """What |z| must reach at this look; infinite before the first one."""
        if not 1 <= _checks.whole("look", look, 1) <= self.pairs:
            raise ValueError(f"look must be in 1..{self.pairs}, not {look}")
        return self.constant * float((look / self.pairs) ** (self.shape - 0.5)) if look >= self.first_look else inf


@lru_cache(maxsize=MOST_PAIRS)
def z_by_passes(look: int) -> Floats:
    """The pooled z, `[a, b]`, after `look` pairs; 0 when nothing or everything passed. Positive when A is ahead."""
    import numpy as np

    a, b = np.arange(look + 1)[:, None], np.arange(look + 1)[None, :]
    pooled = (a + b) / (2 * look)
    spread = 2 * pooled * (1 - pooled) / look
    mixed = spread > 0
    z: Floats = np.where(mixed, (a - b) / look / np.sqrt(np.where(mixed, spread, 1.0)), 0.0)
    z.setflags(write=False)
    return z


def one_more_pair(going: Floats) -> Floats:
    """Numbers of paths by passes of both arms, after one more attempt of each."""
    import numpy as np

    grown = np.zeros((going.shape[0] + 1, going.shape[1] + 1))
    grown[:-1, :-1] += going
    grown[1:, :-1] += going
    grown[:-1, 1:] += going
    grown[1:, 1:] += going
    return grown


def crossing(design: Design, look: int) -> Flags:
    """`[a, b]` is True where the design ends with a difference at this look."""
    import numpy as np

    return np.abs(z_by_passes(look)) >= design.critical(look)


def boundary(design: Design, look: int) -> list[int | None]:
    """The smallest |a - b| that ends the run at this look, by total passes 0..2t; None where none does."""
    crossed = crossing(design, look)
    found: list[int | None] = []
    for total in range(2 * look + 1):
        ahead = [a for a in range((total + 1) // 2, min(total, look) + 1) if crossed[a, total - a]]
        found.append(2 * ahead[0] - total if ahead else None)
    return found


def largest_false_alarm(design: Design) -> float:
    """The highest chance over all common rates of ever crossing when the arms are equal; futility ignored."""
    return largest_probability(_crossed_by_total(design))


@lru_cache(maxsize=64)
def calibrated(pairs: int, alpha: float = 0.05, shape: float = SHAPE) -> Design:
    """The design for at most `pairs` attempts per arm (4 to 200), with the smallest constant that keeps `alpha`.

    The constant is that |z| (t/N)^(1/2 - shape) which may just not count, rounded up to four decimals.
    """
    import numpy as np

    alpha = _checks.inside("alpha", alpha)
    looks = range(FIRST_LOOK, Design(pairs, 1.0, alpha, shape).pairs + 1)
    heights = np.unique(
        np.concatenate([(np.abs(z_by_passes(t)) * (t / pairs) ** (0.5 - shape)).ravel() for t in looks])
    )
    low, high = 0, len(heights) - 1  # excluding nothing but 0 is never within alpha, excluding everything always is
    while high - low > 1:
        middle = (low + high) // 2
        within = largest_false_alarm(_just_above(heights[middle], pairs, alpha, shape)) <= alpha
        low, high = (low, middle) if within else (middle, high)
    return _just_above(heights[high], pairs, alpha, shape)


def repeated_interval(design: Design, look: int, passes_a: int, passes_b: int) -> Interval:
    """Where does the difference A - B lie, when the run may have stopped because of it?

    Miettinen-Nurminen at the quantile of this look; its level is that of all looks together. Slightly wider than the
    test: at the very boundary it may still contain 0. Estimates after stopping early remain somewhat optimistic.
    Before the first look there is no quantile: ValueError. Source: Jennison and Turnbull 2000.
    """
    critical = design.critical(look)
    if critical == inf:
        raise ValueError(f"the first look is after {design.first_look} pairs, not {look}")
    at_look = miettinen_nurminen(passes_a, look, passes_b, look, z=critical)
    method = f"repeated Miettinen-Nurminen, look {look} of {design.pairs}"
    return Interval(at_look.low, at_look.high, 1 - design.alpha, method)


def _just_above(height: float, pairs: int, alpha: float, shape: float) -> Design:
    """The design with the smallest constant of four decimals at which this height does not count."""
    return Design(pairs, (floor(float(height) * 1e4 + 1e-7) + 1) / 1e4, alpha, shape)


def _crossed_by_total(design: Design) -> Floats:
    """The chance of having crossed by the end, given the total of passes then, which is free of the common rate."""
    import numpy as np

    crossed, going = np.zeros(1), np.ones((1, 1))
    ways = np.ones(1)
    for look in range(1, design.pairs + 1):
        going, crossed, ways = one_more_pair(going), np.convolve(crossed, [1, 2, 1]), np.convolve(ways, [1, 2, 1])
        if look >= design.first_look:
            ends = crossing(design, look)
            a, b = np.nonzero(ends)
            crossed += np.bincount(a + b, weights=going[a, b], minlength=2 * look + 1)
            going = np.where(ends, 0.0, going)
    return crossed / ways
