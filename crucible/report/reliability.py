"""More than one attempt: does it pass every time (pass^k), or at least once in k (pass@k)? Over scenarios, equal weights."""

from __future__ import annotations

from dataclasses import dataclass

from crucible.report.tallies import Pairs, Tally
from crucible.stats.passk import mean_over_scenarios, pass_at_k, pass_hat_k

STEPS = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True, slots=True)
class Reliability:
    """For one k: the chance that all k attempts pass and that at least one does, of (treatment, baseline), in [0, 1]."""

    k: int
    pass_hat: tuple[float, float]
    pass_at: tuple[float, float]


def reliability(pairs: Pairs) -> tuple[Reliability, ...]:
    """For every k up to the fewest attempts an arm has on a scenario; none is extrapolated."""
    pairs = [p for p in pairs if p.treatment.counted and p.baseline.counted]
    fewest = min((tally.counted for pair in pairs for tally in pair[:2]), default=0)
    arms = [[(tally.passed, tally.counted) for tally in arm] for arm in _arms(pairs)]
    found = []
    for k in (k for k in STEPS if k <= fewest):
        hat = [float(mean_over_scenarios(pass_hat_k, counts, k)) for counts in arms]
        at = [float(mean_over_scenarios(pass_at_k, counts, k)) for counts in arms]
        found.append(Reliability(k, (hat[0], hat[1]), (at[0], at[1])))
    return tuple(found)


def _arms(pairs: Pairs) -> tuple[list[Tally], list[Tally]]:
    return [pair.treatment for pair in pairs], [pair.baseline for pair in pairs]
