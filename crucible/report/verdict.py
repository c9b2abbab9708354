"""The verdict on one comparison: better, worse, equivalent, inconclusive, or not tested. A pure function of counts.

In this order: was anything tested at all, are the arms comparable, then the test. A direction is named only when the
test supports it. The test is Boschloo's on the pass rate, two-sided at 5%, declared before the run by being the only one;
the interval beside it is Miettinen and Nurminen's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crucible.stats.exact import fisher, smallest_p, two_arms
from crucible.stats.power import detectable_difference
from crucible.stats.two_sample import miettinen_nurminen

Word = Literal["better", "worse", "equivalent", "inconclusive", "not tested"]

ALPHA = 0.05
MARGIN = 0.10
"""Pass rates closer than this many points are equivalent."""
POWER = 0.8
MOST_FOR_POWER = 60
"""Attempts per arm above which the exact power is not worth its time on a terminal."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What is known of one arm: attempts planned, counted, not counted, and passed."""

    arm: str
    planned: int
    counted: int
    not_counted: int
    passed: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word, one sentence, and what it rests on. `p_value` and `interval` are None where nothing was tested."""

    word: Word
    sentence: str
    p_value: float | None = None
    test: str | None = None
    interval: tuple[float, float] | None = None


def decide(treatment: Tally, baseline: Tally, why_not: str | None = None) -> Verdict:
    """The verdict. `why_not` is a reason, found elsewhere, why the treatment was not put to the test."""
    if (reason := why_not or _untested(treatment, baseline)) is not None:
        return Verdict("not tested", f"Not tested: {reason}.")
    if (reason := _incomparable(treatment, baseline)) is not None:
        return Verdict("inconclusive", f"No verdict: {reason}.")
    k_t, n_t, k_b, n_b = treatment.passed, treatment.counted, baseline.passed, baseline.counted
    p_value, test = two_arms(k_t, n_t, k_b, n_b)
    shown = miettinen_nurminen(k_t, n_t, k_b, n_b)
    word, claim = _claim(treatment, baseline, p_value)
    evidence = (
        f"{k_t} of {n_t} against {k_b} of {n_b} green, {100 * (k_t / n_t - k_b / n_b):+.0f} points "
        f"(95% interval {100 * shown.low:+.0f} to {100 * shown.high:+.0f}, {shown.method}; p = {p_value:.3f}, {test})"
    )
    return Verdict(
        word, f"{claim}: {evidence}.{_reach(word, treatment, baseline)}", p_value, test, (shown.low, shown.high)
    )


def _untested(treatment: Tally, baseline: Tally) -> str | None:
    for arm in (treatment, baseline):
        if arm.counted == 0:
            return f"{arm.arm} has no attempt that counts"
    return None


def _incomparable(treatment: Tally, baseline: Tally) -> str | None:
    """Peeking at a run of fixed size gives no verdict; nor do exclusions that hit one arm more than chance explains."""
    for arm in (treatment, baseline):
        if arm.counted < arm.planned:
            return (
                f"the run is not complete ({arm.arm}: {arm.counted} of {arm.planned}), and a look half-way is no test"
            )
    lost = (treatment.not_counted, baseline.not_counted)
    tried = (treatment.not_counted + treatment.counted, baseline.not_counted + baseline.counted)
    if fisher(lost[0], tried[0], lost[1], tried[1]) < ALPHA:
        return f"attempts that do not count hit one arm more than chance explains ({lost[0]} against {lost[1]})"
    return None


def _claim(treatment: Tally, baseline: Tally, p_value: float) -> tuple[Word, str]:
    k_t, n_t, k_b, n_b = treatment.passed, treatment.counted, baseline.passed, baseline.counted
    if p_value < ALPHA:
        word: Word = "better" if k_t * n_b > k_b * n_t else "worse"
        return word, f"{treatment.arm} is {word} than {baseline.arm} on this scenario"
    close = miettinen_nurminen(k_t, n_t, k_b, n_b, level=1 - 2 * ALPHA)
    if close.low > -MARGIN and close.high < MARGIN:
        return "equivalent", f"{treatment.arm} and {baseline.arm} are equivalent here, within {100 * MARGIN:.0f} points"
    return "inconclusive", f"Inconclusive: these attempts do not tell {treatment.arm} and {baseline.arm} apart"


def _reach(word: Word, treatment: Tally, baseline: Tally) -> str:
    """Of an inconclusive result, what it could have shown."""
    n = min(treatment.counted, baseline.counted)
    if word != "inconclusive":
        return ""
    return f" {what_can_be_seen(n, baseline.passed / baseline.counted)}"


def what_can_be_seen(attempts: int, base: float = 0.5) -> str:
    """What that many attempts per arm can find on one scenario, in one sentence; for before a run and after."""
    if attempts > MOST_FOR_POWER:
        return f"{attempts} attempts per arm find differences well below those of {MOST_FOR_POWER}."
    if smallest_p(attempts, attempts) >= ALPHA:
        return f"{attempts} attempts per arm can never tell two arms apart: even all against none is p >= {ALPHA}."
    up, down = (detectable_difference(attempts, base, way, POWER, ALPHA) for way in ("up", "down"))
    seen = [f"{sign}{100 * step:.0f}" for sign, step in (("+", up), ("-", down)) if step is not None]
    if not seen:
        return (
            f"{attempts} attempts per arm find no difference from {100 * base:.0f}% four times in five, however large."
        )
    return (
        f"{attempts} attempts per arm find a difference of {' or '.join(seen)} points from {100 * base:.0f}% "
        "four times in five; smaller ones mostly stay unseen."
    )
