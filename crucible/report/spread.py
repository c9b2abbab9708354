"""How much results vary, as far as a run tells: between the attempts of an arm, and between scenarios."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, variance

from crucible.report.evidence import differences
from crucible.report.tallies import Pairs, Tally, Terms
from crucible.stats.planning import SIGMA2


def within(pairs: Pairs, terms: Terms) -> float | None:
    """Variance of one attempt's result within an arm, averaged. None when it cannot be told from these scores."""
    found = [v for pair in pairs for tally in pair[:2] if (v := _variance(tally, terms)) is not None]
    mean = fmean(found) if found else 0.0
    if mean > 0:
        return mean
    return SIGMA2 if terms.metric == "pass_rate" else None


def between(pairs: Pairs, terms: Terms) -> float:
    """How much the true effect varies between scenarios: a standard deviation, by moments, 0 when luck explains it all."""
    seen = variance(differences(pairs, terms)) if len(pairs) > 1 else 0.0
    luck = fmean(
        sum(v / _known(t, terms) for t in pair[:2] if (v := _variance(t, terms)) is not None) for pair in pairs
    )
    return sqrt(max(0.0, seen - luck))


def fewest_attempts(pairs: Pairs, terms: Terms) -> int:
    """Attempts (or scores) of the arm that has fewest, on the scenario where it has fewest."""
    return min(_known(tally, terms) for pair in pairs for tally in pair[:2])


def _known(tally: Tally, terms: Terms) -> int:
    return len(tally.scored) if terms.metric == "score" else tally.counted


def _variance(tally: Tally, terms: Terms) -> float | None:
    """Of what the verdict is about, attempt by attempt: of the scores there are, or of passes as 1 and 0."""
    if _known(tally, terms) < 2:
        return None
    if terms.metric == "score":
        return variance(tally.scored)
    return tally.passed * (tally.counted - tally.passed) / (tally.counted * (tally.counted - 1))
