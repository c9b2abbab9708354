"""The verdict: better, worse, equivalent, inconclusive, or not tested. A pure function of counts and scores.

In this order: was anything tested at all; are the arms comparable; does the test, on the metric declared before the run,
find a difference; if not, does the interval show that they are equivalent; else it is inconclusive, with what it would
take. A direction is named only when the test supports it.

Two claims are kept apart. *On these scenarios* only the attempts vary: it is the run's verdict. *On scenarios like
these* the scenarios vary too, which needs at least two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from crucible.report.evidence import Evidence, like_these, on_these
from crucible.report.reach import what_can_be_seen
from crucible.report.tallies import ALPHA, MARGIN, Pair, Pairs, Tally, Terms
from crucible.report.to_tell import to_tell_like_these, to_tell_on_these
from crucible.report.withheld import incomparable, untested

__all__ = [
    "ALPHA",
    "MARGIN",
    "Pair",
    "Tally",
    "Terms",
    "Verdict",
    "Word",
    "decide",
    "verdict_like_these",
    "verdict_on_these",
    "what_can_be_seen",
]

Word = Literal["better", "worse", "equivalent", "inconclusive", "not tested"]
LIKE_THESE = "on scenarios like these"
AT_ODDS = "A border case: test and interval are two methods and disagree about 0; the test decides."
NOT_BORNE_OUT = (
    "The scenarios agree among themselves, but the attempts do not show as much even on these: few scenarios can look alike "
    "by luck."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word, one sentence, and what it rests on. `p_value` and `interval` are None where nothing was tested.

    `interval` and `difference` are treatment minus baseline, shares of 1; the interval is at 95%.
    """

    word: Word
    sentence: str
    p_value: float | None = None
    test: str | None = None
    interval: tuple[float, float] | None = None
    difference: float | None = None


def decide(treatment: Tally, baseline: Tally, why_not: str | None = None, terms: Terms | None = None) -> Verdict:
    """The verdict on one scenario. `why_not` is a reason, found elsewhere, why the treatment was not put to the test."""
    return verdict_on_these([Pair(treatment, baseline)], why_not, terms)


def verdict_on_these(pairs: Pairs, why_not: str | None = None, terms: Terms | None = None) -> Verdict:
    """The verdict on these scenarios, all weighing the same."""
    terms = terms or Terms()
    if (stopped := _no_verdict(pairs, why_not, terms)) is not None:
        return stopped
    evidence = on_these(pairs, terms)
    here = "on this scenario" if len(pairs) == 1 else f"on these {len(pairs)} scenarios"
    verdict = _verdict(pairs, terms, evidence, here)
    if verdict.word != "inconclusive":
        return verdict
    return _with(verdict, to_tell_on_these(pairs, terms, evidence.difference))


def verdict_like_these(pairs: Pairs, why_not: str | None = None, terms: Terms | None = None) -> Verdict:
    """The verdict on scenarios like these, of which these are taken as a sample.

    What the attempts do not show even on these is not claimed of others: with few scenarios, which can look alike by luck,
    the t-test alone raises false alarms in up to 7% of runs without any difference.
    """
    terms = terms or Terms()
    if (stopped := _no_verdict(pairs, why_not, terms)) is not None:
        return stopped
    if len(pairs) == 1:
        reason = "one scenario, however often it is attempted, says nothing about others; it takes at least two"
        return Verdict("not tested", f"Not tested {LIKE_THESE}: {reason}.")
    evidence = like_these(pairs, terms)
    if not _borne_out(evidence, on_these(pairs, terms), terms):
        unshown = replace(evidence, toward=0, close=None)
        return _verdict(pairs, terms, unshown, LIKE_THESE, NOT_BORNE_OUT)
    verdict = _verdict(pairs, terms, evidence, LIKE_THESE)
    if verdict.word != "inconclusive" or evidence.p_value is None:
        return verdict
    return _with(verdict, to_tell_like_these(pairs, terms, evidence.difference))


def _no_verdict(pairs: Pairs, why_not: str | None, terms: Terms) -> Verdict | None:
    if (reason := why_not or untested(pairs, terms)) is not None:
        return Verdict("not tested", f"Not tested: {reason}.")
    if (reason := incomparable(pairs, terms)) is not None:
        return Verdict("inconclusive", f"No verdict: {reason}.")
    return None


def _borne_out(like_these: Evidence, these: Evidence, terms: Terms) -> bool:
    """Whether the attempts on these scenarios show what is claimed of scenarios like these."""
    if like_these.toward:
        return these.toward == like_these.toward
    return not _within_margin(like_these, terms) or _within_margin(these, terms)


def _verdict(pairs: Pairs, terms: Terms, evidence: Evidence, where: str, remark: str = "") -> Verdict:
    word, remark = _word(evidence, terms), remark or (AT_ODDS if evidence.at_odds else "")
    claim = _claim(word, pairs[0].treatment.arm, pairs[0].baseline.arm, where, terms)
    return Verdict(
        word,
        f"{claim}: {_counts(pairs, terms)}, {_numbers(evidence, terms)}. {remark}".rstrip(),
        evidence.p_value,
        evidence.test,
        evidence.interval,
        evidence.difference,
    )


def _word(evidence: Evidence, terms: Terms) -> Word:
    if evidence.toward:
        return "better" if evidence.toward > 0 else "worse"
    return "equivalent" if _within_margin(evidence, terms) else "inconclusive"


def _within_margin(evidence: Evidence, terms: Terms) -> bool:
    return evidence.close is not None and -terms.margin < evidence.close[0] and evidence.close[1] < terms.margin


def _claim(word: Word, treatment: str, baseline: str, where: str, terms: Terms) -> str:
    if word in ("better", "worse"):
        return f"{treatment} is {word} than {baseline} {where}"
    if word == "equivalent":
        return f"{treatment} and {baseline} are equivalent {where}, within {terms.declared}"
    place = f" {where}" if where == LIKE_THESE else ""
    return f"Inconclusive{place}: these attempts do not tell {treatment} and {baseline} apart"


def _counts(pairs: Pairs, terms: Terms) -> str:
    """What both arms came to."""
    if terms.metric == "score":
        means = [sum(sum(t.scored) / len(t.scored) for t in arm) / len(pairs) for arm in _by_arm(pairs)]
        of = [_scored(arm) for arm in _by_arm(pairs)]
        return f"mean score {means[0]:.2f} ({of[0]}) against {means[1]:.2f} ({of[1]})"
    if len(pairs) == 1:
        k_t, n_t, k_b, n_b = pairs[0].counts
        return f"{k_t} of {n_t} against {k_b} of {n_b} green"
    rates = [100 * sum(t.passed / t.counted for t in arm) / len(pairs) for arm in _by_arm(pairs)]
    return f"{rates[0]:.1f}% against {rates[1]:.1f}% green"


def _by_arm(pairs: Pairs) -> tuple[list[Tally], list[Tally]]:
    return [pair.treatment for pair in pairs], [pair.baseline for pair in pairs]


def _scored(tallies: list[Tally]) -> str:
    return f"{sum(len(t.scored) for t in tallies)} of {sum(t.counted for t in tallies)} scored"


def _numbers(evidence: Evidence, terms: Terms) -> str:
    shown = terms.amount(evidence.difference)
    if evidence.p_value is None or evidence.interval is None:
        tested = "" if evidence.p_value is None else f"{_p(evidence.p_value)}, {evidence.test}; "
        return f"{shown} ({tested}no interval: {evidence.why_not})"
    method = "" if evidence.method == evidence.test else f", {evidence.method}"
    interval = f"95% interval {terms.limits(evidence.interval)}{method}"
    return f"{shown} ({interval}; {_p(evidence.p_value)}, {evidence.test})"


def _p(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {_three_digits(p_value)}"


def _three_digits(p_value: float) -> str:
    """Never rounded across the level it is held against."""
    shown = (f"{p_value:.{digits}f}" for digits in range(3, 17))
    return next((text for text in shown if (float(text) < ALPHA) == (p_value < ALPHA)), repr(p_value))


def _with(verdict: Verdict, more: str) -> Verdict:
    return replace(verdict, sentence=f"{verdict.sentence} {more}".rstrip())
