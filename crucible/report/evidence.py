"""How far apart are two arms, and could chance have done it: the numbers that a verdict is read off.

Differences are treatment minus baseline, shares of 1. The test and the interval are those of the claim: on these
scenarios only the attempts vary; on scenarios like these the scenarios vary too. What cannot be given is None, with why.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from crucible.report.tallies import ALPHA, Pairs, Terms
from crucible.stats.across import SMALLEST_P, MeanDifference, mover, paired_t, welch_over_scenarios
from crucible.stats.exact import BOSCHLOO_UP_TO, smallest_p, two_arms
from crucible.stats.interval import Interval
from crucible.stats.permutation import Permutation, stratified_permutation

Counts = tuple[int, int, int, int]
Scores = tuple[tuple[float, ...], tuple[float, ...]]
Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A difference with its test and its intervals: `interval` at 95%, `close` at 90%, for equivalence.

    `toward` is 1 or -1 when the test finds the treatment or the baseline ahead at 5%, else 0.
    """

    difference: float
    toward: int
    p_value: float | None
    test: str
    interval: Limits | None
    method: str
    close: Limits | None
    why_not: str | None = None

    @property
    def at_odds(self) -> bool:
        """Whether test and interval, being two methods, disagree about 0."""
        return self.interval is not None and (self.toward != 0) == (self.interval[0] <= 0 <= self.interval[1])


def on_these(pairs: Pairs, terms: Terms) -> Evidence:
    """On these scenarios, all weighing the same. Every arm has at least one attempt (or score) on each."""
    if terms.metric == "score":
        return scores_on_these(tuple((p.treatment.scored, p.baseline.scored) for p in pairs))
    return _passes_on_these(tuple(p.counts for p in pairs))


def like_these(pairs: Pairs, terms: Terms) -> Evidence:
    """On scenarios like these: one difference per scenario, by Student's t. Needs at least 2 scenarios."""
    found, close = (paired_t(differences(pairs, terms), level) for level in (1 - ALPHA, 1 - 2 * ALPHA))
    toward = _toward(found.mean, found.p_value)
    return _evidence(found, close, found.p_value, toward, "paired t over scenarios")


def differences(pairs: Pairs, terms: Terms) -> list[float]:
    """Treatment minus baseline on each scenario."""
    if terms.metric == "score":
        return [fmean(p.treatment.scored) - fmean(p.baseline.scored) for p in pairs]
    return [k_t / n_t - k_b / n_b for k_t, n_t, k_b, n_b in (p.counts for p in pairs)]


@lru_cache(maxsize=1024)
def _passes_on_these(counts: tuple[Counts, ...]) -> Evidence:
    found, close = (mover(counts, level) for level in (1 - ALPHA, 1 - 2 * ALPHA))
    mean = fmean(k_t / n_t - k_b / n_b for k_t, n_t, k_b, n_b in counts)
    if len(counts) == 1:
        p_value, test = two_arms(*counts[0])
        return Evidence(
            mean, _toward(mean, p_value), p_value, test, _limits(found), "Miettinen-Nurminen", _limits(close)
        )
    dealt = permuted(tuple((_as_scores(k_t, n_t), _as_scores(k_b, n_b)) for k_t, n_t, k_b, n_b in counts))
    test = f"{how_dealt(dealt)} within scenarios"
    return Evidence(mean, _tail(dealt), dealt.p_value, test, _limits(found), found.method, _limits(close))


def _as_scores(passed: int, attempts: int) -> tuple[float, ...]:
    return (1.0,) * passed + (0.0,) * (attempts - passed)


@lru_cache(maxsize=256)
def scores_on_these(scores: tuple[Scores, ...]) -> Evidence:
    """On these scenarios, from the scores of (treatment, baseline) on each; every arm has at least one on each."""
    dealt = permuted(scores)
    found, close = (welch_over_scenarios(scores, level) for level in (1 - ALPHA, 1 - 2 * ALPHA))
    test = how_dealt(dealt) if len(scores) == 1 else f"{how_dealt(dealt)} within scenarios"
    return _evidence(found, close, dealt.p_value, _tail(dealt), test)


def how_dealt(dealt: Permutation) -> str:
    """The name of the test: whether every deal was counted, or how many were drawn."""
    return "exact permutation" if dealt.exact else f"permutation, {dealt.draws:,} draws"


def least_p(n_t: int, n_b: int) -> float:
    """The smallest p-value that so many attempts of one scenario can ever give, by the test that would be used."""
    return max(SMALLEST_P, smallest_p(n_t, n_b, "boschloo" if max(n_t, n_b) <= BOSCHLOO_UP_TO else "fisher"))


@lru_cache(maxsize=256)
def permuted(scores: tuple[Scores, ...]) -> Permutation:
    """The permutation test, the same to the last bit when the arms are swapped or the attempts reordered."""
    ordered = [(sorted(t), sorted(b)) for t, b in scores]
    swapped = [(b, t) for t, b in ordered]
    if ordered <= swapped:
        return stratified_permutation(ordered)
    found = stratified_permutation(swapped)
    return Permutation(-found.difference, found.p_value, found.p_less, found.p_greater, found.draws)


def _evidence(found: MeanDifference, close: MeanDifference, p_value: float | None, toward: int, test: str) -> Evidence:
    method = found.interval.method if found.interval else ""
    wide, narrow = (None if one.interval is None else _limits(one.interval) for one in (found, close))
    return Evidence(found.mean, toward, p_value, test, wide, method, narrow, found.why_not)


def _toward(mean: float, p_value: float | None) -> int:
    if p_value is None or p_value >= ALPHA or mean == 0:
        return 0
    return 1 if mean > 0 else -1


def _tail(dealt: Permutation) -> int:
    """A direction only when the side of the mean is the side that chance hardly reaches."""
    toward = _toward(dealt.difference, dealt.p_value)
    return toward if (dealt.p_greater < dealt.p_less) == (toward > 0) else 0


def _limits(interval: Interval) -> Limits:
    """Within what differences of shares can be."""
    return max(-1.0, interval.low), min(1.0, interval.high)
