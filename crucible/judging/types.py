"""What goes into the judge and what comes out of it. A score that could not be given is a value of its own type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from crucible.transcript.messages import Usage

Suite = Literal["green", "red", "tampered", "no_verdict"]

CORRECTNESS = "correctness"
MINIMALITY = "minimality"
EFFICIENCY = "efficiency"

TOP_SCORE = 5
"""A judge answers an integer from 0 to this; a score is that integer divided by it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is measured about an attempt; all of it is known before judging.

    Counts are whole numbers from 0; `tokens` are billed tokens. `failing_before` tests failed in the unfixed fixture
    and `fixed` of them pass now; both are None when only an exit code is known. `size_ratio` is the size of the change
    divided by that of the reference, `similarity` to the reference is in [0, 1]. None is unknown, never zero.
    Raises ValueError for numbers that cannot be: a NaN that got in here would come out as a perfect score.
    """

    suite: Suite
    tests_passed: int | None
    tests_failed: int | None
    changed: bool
    size_ratio: float | None
    similarity: float | None
    turns: int
    tool_calls: int
    tokens: int | None
    budget_turns: int
    budget_tokens: int
    blocked_calls: int
    failing_before: int | None = None
    fixed: int | None = None

    def __post_init__(self) -> None:
        _in_range("size_ratio", self.size_ratio, 0, math.inf)
        _in_range("similarity", self.similarity, 0, 1)
        for name in (
            "tests_passed",
            "tests_failed",
            "turns",
            "tool_calls",
            "tokens",
            "blocked_calls",
            "failing_before",
        ):
            _in_range(name, getattr(self, name), 0, math.inf)
        _in_range("budget_turns", self.budget_turns, 1, math.inf)
        _in_range("budget_tokens", self.budget_tokens, 1, math.inf)
        if (self.fixed is None) != (self.failing_before is None):
            raise ValueError("failing_before and fixed are known together or not at all")
        _in_range("fixed", self.fixed, 0, self.failing_before or 0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a judge is shown of one attempt, before blinding and fitting. `digest` comes from `digest.digest`."""

    task: str
    change_diff: str
    test_report: str
    reference_diff: str
    digest: str


@dataclass(frozen=True, slots=True)
class Clamp:
    """A measured fact that lowered a score: no score above `cap` is possible, for the reason `why`."""

    name: str
    cap: float
    why: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A score in [0, 1]. `raw` is what it was before the clamps.

    `samples` are the judge's valid integers in the order they were asked for, `asked` how many were wanted; both are
    empty (and 0) for a score from facts. `evidence` and `reasoning` are those of the reply nearest the median.
    """

    value: float
    raw: float
    clamps: tuple[Clamp, ...] = ()
    evidence: tuple[str, ...] = ()
    reasoning: str = ""
    samples: tuple[int, ...] = ()
    asked: int = 0

    def __post_init__(self) -> None:
        _in_range("value", self.value, 0, 1)
        _in_range("raw", self.raw, 0, 1)

    @property
    def spread(self) -> float | None:
        """Highest minus lowest sample, in [0, 1]; None when fewer than two samples are there to differ."""
        return (max(self.samples) - min(self.samples)) / TOP_SCORE if len(self.samples) > 1 else None


@dataclass(frozen=True, slots=True)
class NotScored:
    """No score could be given, for `reason`. It is not a zero, and nothing may count it as one."""

    reason: str


Score = Scored | NotScored


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A judge's reply that was accepted: quotes found in what was shown, reasoning, an integer from 0 to 5."""

    evidence: tuple[str, ...]
    reasoning: str
    score: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer of a judge model, kept whether it could be read or not.

    `sample` counts from 1; `asking` is 1, or 2 when the first reply was refused. Exactly one of `parsed` and `error` is
    set. `usage` is None only when there was no reply at all because the evidence does not fit the model's context:
    then asking again is of no use.
    """

    dimension: str
    sample: int
    asking: int
    raw: str
    parsed: ParsedReply | None
    error: str | None
    usage: Usage | None


def _in_range(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{name} must be a finite number from {low} to {high}, got {value!r}")
