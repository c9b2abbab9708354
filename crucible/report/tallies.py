"""What verdicts are made of: the counts and scores of two arms, scenario by scenario, and the terms declared before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Metric = Literal["pass_rate", "score"]

ALPHA = 0.05
POWER = 0.8
MARGIN = 0.10
"""Pass rates (as shares of attempts) or scores closer than this are equivalent, unless the run declared otherwise."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What is known of one arm on one scenario: attempts planned, counted, not counted, and passed.

    `scores` are the weighted scores in [0, 1] of the counted attempts, None where one is missing; `unjudged` of them
    are missing only because the judge has not been asked yet.
    """

    arm: str
    planned: int
    counted: int
    not_counted: int
    passed: int
    scores: tuple[float | None, ...] = ()
    unjudged: int = 0

    @property
    def scored(self) -> tuple[float, ...]:
        """The scores there are."""
        return tuple(score for score in self.scores if score is not None)


class Pair(NamedTuple):
    """Both arms on one scenario."""

    treatment: Tally
    baseline: Tally
    scenario: str = ""

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Passes and attempts of the treatment, then of the baseline."""
        return self.treatment.passed, self.treatment.counted, self.baseline.passed, self.baseline.counted


Pairs = Sequence[Pair]


@dataclass(frozen=True, slots=True)
class Terms:
    """What was declared before the first attempt: what the verdict is about, and what counts as equivalent, in [0, 1]."""

    metric: Metric = "pass_rate"
    margin: float = MARGIN

    def amount(self, difference: float, *, signed: bool = True) -> str:
        """A difference as people read it: points of the pass rate, or the score's own unit."""
        scale, digits, unit = (100, 0, " points") if self.metric == "pass_rate" else (1, 2, " of the score")
        shown = signed_number(scale * difference, digits) if signed else f"{scale * difference:.{digits}f}"
        return f"{shown}{' point' if shown.lstrip('+-') == '1' else unit}"

    @property
    def declared(self) -> str:
        """The margin, whole: `10 points`, `2.5 points`, `0.025 of the score`."""
        shown = f"{self.margin * (100 if self.metric == 'pass_rate' else 1):.6g}"
        return f"{shown}{' of the score' if self.metric == 'score' else ' point' if shown == '1' else ' points'}"

    def limits(self, interval: tuple[float, float]) -> str:
        """An interval in the same unit, without naming it."""
        scale, digits = (100, 0) if self.metric == "pass_rate" else (1, 2)
        low, high = (signed_number(scale * limit, digits) for limit in interval)
        return f"{low} to {high}"


def signed_number(value: float, digits: int) -> str:
    """With its sign; what only rounds to zero keeps the one digit that says on which side of it it is."""
    if value and abs(value) < 0.5 * 10.0**-digits:
        return f"{value:+.1g}"
    return f"{value:+.{digits}f}" if value else f"{0:.{digits}f}"
