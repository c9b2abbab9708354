"""How long the arms took. An attempt that the clock ended took at least that long; leaving it out would reward time-outs.

Times are seconds of counted attempts, waiting for a provider's retries not included. Without time-outs arms are compared
like costs, by the ratio of geometric means; with them, by mean times within a common horizon and the log-rank test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from crucible.report.costs import Sides, Way, way
from crucible.stats.censored import restricted_mean, stratified_log_rank
from crucible.store.measures import Measured

Arm = tuple[list[float], list[bool]]


@dataclass(frozen=True, slots=True)
class Times:
    """`way` compares all known times, and has no ratio when some were cut off. `timed_out` attempts per arm; then `within`
    are mean seconds of both arms when none is counted for longer than the horizon of its scenario, `p_value` log-rank."""

    way: Way
    timed_out: tuple[int, int]
    within: tuple[float, float] | None = None
    p_value: float | None = None

    def uncompared(self) -> Times:
        """The means alone."""
        return replace(self, way=self.way.uncompared(), p_value=None)


def times(sides: Sides) -> Times:
    """Both arms' times over all scenarios."""
    timed_out = tuple(sum(a.timed_out for pair in sides for a in pair[arm].counted) for arm in (0, 1))
    plain = way("time", "seconds", sides, lambda a: a.seconds)
    if timed_out == (0, 0):
        return Times(plain, (0, 0))
    cut = Way("time", "seconds", plain.treatment, plain.baseline, why_not="some attempts were ended by the clock")
    strata = [(_arm(t.counted), _arm(b.counted)) for t, b in sides]
    if not all(arm[0] for stratum in strata for arm in stratum):
        return Times(cut, (timed_out[0], timed_out[1]))
    within = [_within(*stratum) for stratum in strata]
    means = fmean(t for t, _ in within), fmean(b for _, b in within)
    return Times(cut, (timed_out[0], timed_out[1]), means, stratified_log_rank(strata).p_value)


def _arm(attempts: Sequence[Measured]) -> Arm:
    known = [(a.seconds, not a.timed_out) for a in attempts if a.seconds is not None and a.seconds > 0]
    return [seconds for seconds, _ in known], [finished for _, finished in known]


def _within(a: Arm, b: Arm) -> tuple[float, float]:
    horizon = min(max(a[0]), max(b[0]))
    return restricted_mean(*a, horizon).mean, restricted_mean(*b, horizon).mean
