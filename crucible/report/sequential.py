"""The verdict on a run that may stop early: a direction only when the boundary of its exact design was crossed.

Pure functions of the pairs in the order they were made. Whether the treatment was put to the test at all is decided
before, as for any run.
"""

from __future__ import annotations

from collections.abc import Sequence

from crucible.report.tallies import MARGIN, Pair, Tally, Terms, signed_number
from crucible.report.verdict import AT_ODDS, Verdict, Word
from crucible.report.withheld import incomparable
from crucible.runner.until_decided import looks_at, of_needed
from crucible.stats.interval import Interval
from crucible.stats.looks import Look
from crucible.stats.sequential import FIRST_LOOK, calibrated, repeated_interval

Pairs = Sequence[tuple[bool, bool]]

OPTIMISM = "estimates after early stopping are somewhat optimistic"


def decide_sequential(treatment: Tally, baseline: Tally, pairs: Pairs, most: int, margin: float = MARGIN) -> Verdict:
    """The verdict after `pairs` (treatment passed, baseline passed) of at most `most`, first to last.

    better or worse: the boundary was crossed. equivalent: the design ended and its repeated interval lies within the
    margin (in [0, 1]). Else inconclusive, which while the run goes on means no verdict. As for any run, attempts that do
    not count and hit one arm more than chance explains withhold the verdict.
    """
    if reason := incomparable([Pair(treatment, baseline)], Terms(margin=margin), may_stop_early=True):
        return Verdict("inconclusive", f"No verdict: {reason}.")
    if not pairs or most < FIRST_LOOK:
        return Verdict("inconclusive", f"No verdict yet: {len(pairs)} of at most {most} pairs are made.")
    looks = looks_at(list(pairs), most)
    if not looks or looks[-1].decision == "go on":
        return Verdict("inconclusive", _so_far(looks, len(pairs), most))
    last = looks[-1]
    k_t, k_b = (sum(pair[arm] for pair in pairs[: last.look]) for arm in (0, 1))
    shown = repeated_interval(calibrated(most), last.look, k_t, k_b)
    word, claim = _claim(treatment.arm, baseline.arm, last, shown, margin)
    evidence = f"{_where(last, most)}; {_evidence(last, k_t, k_b, shown)}"
    test = f"exact sequential design, at most {most} pairs"
    difference = (k_t - k_b) / last.look
    border = f" {AT_ODDS}" if (word in ("better", "worse")) == (shown.low <= 0 <= shown.high) else ""
    return Verdict(word, f"{claim}: {evidence}.{border}", None, test, (shown.low, shown.high), difference)


def stopped_at(pairs: Pairs, most: int) -> int | None:
    """After how many pairs the design ended, by decision, futility or reaching `most`; None while it goes on."""
    if most < FIRST_LOOK:
        return None
    looks = looks_at(list(pairs), most)
    return looks[-1].look if looks and looks[-1].decision != "go on" else None


def _so_far(looks: Sequence[Look], made: int, most: int) -> str:
    if not looks:
        return f"No verdict yet: {made} of at most {most} pairs are made, the first look is after {FIRST_LOOK}."
    last = looks[-1]
    return (
        f"No verdict yet: {made} of at most {most} pairs are made; {len(looks)} look{'s' * (len(looks) > 1)} so far, "
        f"the last with {of_needed(last)}."
    )


def _claim(treatment: str, baseline: str, last: Look, shown: Interval, margin: float) -> tuple[Word, str]:
    if last.decision in ("A better", "B better"):
        word: Word = "better" if last.decision == "A better" else "worse"
        return word, f"{treatment} is {word} than {baseline} on this scenario"
    if shown.low > -margin and shown.high < margin:
        return (
            "equivalent",
            f"{treatment} and {baseline} are equivalent on this scenario, within {100 * margin:g} points",
        )
    return "inconclusive", f"Inconclusive: these attempts do not tell {treatment} and {baseline} apart"


def _where(last: Look, most: int) -> str:
    if last.decision == "undecided":
        return f"all {most} of {most} pairs were made and the boundary was not crossed"
    why = ": continuing would almost never decide" if last.decision == "futile" else ""
    return f"stopped at {last.look} of {most}{why}"


def _evidence(last: Look, k_t: int, k_b: int, shown: Interval) -> str:
    n = last.look
    low, high, difference = (signed_number(100 * v, 0) for v in (shown.low, shown.high, (k_t - k_b) / n))
    said = f"{k_t} of {n} against {k_b} of {n} green, {difference} points"
    early = "" if last.decision == "undecided" else f"; {OPTIMISM}"
    return f"{said} (95% interval {low} to {high}, {shown.method}; {of_needed(last)}){early}"
