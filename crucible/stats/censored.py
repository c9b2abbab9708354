"""Times with time-outs. An attempt that was stopped took *at least* that long: leaving it out would reward time-outs.

Each arm is (times, finished): seconds above 0, and False where the attempt was stopped at that time. Valid when stopping
has nothing to do with how long the attempt would still have taken, which holds for a time limit, the same for both arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from crucible.stats import _checks
from crucible.stats.interval import Interval, normal_quantile
from crucible.stats.permutation import Permutation, stratified_permutation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Arm = tuple[Sequence[float], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class RestrictedMean:
    """`mean` time within the horizon, in the units of the times and at most `horizon`; `se` its standard error."""

    mean: float
    se: float
    horizon: float


def restricted_mean(times: Sequence[float], finished: Sequence[bool], horizon: float) -> RestrictedMean:
    """How long does an attempt take on average, counting none for more than `horizon`? The area under Kaplan-Meier.

    `horizon` must not lie beyond the longest time when that one was stopped: there the data end. When all time-outs are
    at the horizon it is the plain mean of the times. `se` is 0 when every attempt took the same time or was stopped.
    Source: Irwin 1949; Greenwood's variance.
    """
    times, finished = _arm(times, finished)
    horizon = _checks.positive("horizon", horizon)
    longest = max(times)
    if horizon > longest and not all(done for time, done in zip(times, finished, strict=True) if time == longest):
        raise ValueError(f"horizon {horizon} lies beyond the data: the longest attempt was stopped at {longest}")
    steps = _steps(times, finished, horizon)
    ends = [*(time for time, *_ in steps[1:]), horizon]
    areas = [alive * (end - start) for (start, _, _, alive), end in zip(steps, ends, strict=True)]
    return RestrictedMean(sum(areas), sqrt(_variance(steps, areas)), horizon)


def restricted_mean_difference(
    a: Arm,
    b: Arm,
    horizon: float,
    level: float = 0.95,
) -> Interval:
    """How much longer does A take than B within the horizon? A normal interval: display only below 10 attempts per arm.

    The test that holds at any size is `log_rank`.
    """
    means = restricted_mean(*a, horizon), restricted_mean(*b, horizon)
    centre = means[0].mean - means[1].mean
    reach = normal_quantile(level) * sqrt(means[0].se ** 2 + means[1].se ** 2)
    return Interval(centre - reach, centre + reach, level, "restricted mean (Kaplan-Meier)")


def log_rank(a: Arm, b: Arm, *, seed: int = 0) -> Permutation:
    """Does one arm finish sooner? The log-rank statistic with its exact permutation distribution.

    `p_greater` is small when A finishes sooner. Valid at any size when both arms have the same time limit.
    Source: Peto and Peto 1972 (scores: finished or not, less the hazard lived through).
    """
    return stratified_log_rank([(a, b)], seed=seed)


def stratified_log_rank(strata: Sequence[tuple[Arm, Arm]], *, seed: int = 0) -> Permutation:
    """The same over several scenarios, each with its own clock and time limit, all weighing the same."""
    return stratified_permutation([_log_rank_scores(*stratum) for stratum in strata], seed=seed)


def _log_rank_scores(a: Arm, b: Arm) -> tuple[list[float], list[float]]:
    arms = [_arm(*a), _arm(*b)]
    times, finished = [t for arm in arms for t in arm[0]], [f for arm in arms for f in arm[1]]
    hazards = _hazards(times, finished)
    scores = [
        done - sum(share for when, share in hazards if when <= time) for time, done in zip(times, finished, strict=True)
    ]
    return scores[: len(arms[0][0])], scores[len(arms[0][0]) :]


def _arm(times: Sequence[float], finished: Sequence[bool]) -> tuple[list[float], list[bool]]:
    _checks.same_length("times", times, "finished", finished)
    if not times:
        raise ValueError("an arm needs at least one time")
    return [_checks.positive("a time", time) for time in times], [bool(done) for done in finished]


def _steps(times: list[float], finished: list[bool], horizon: float) -> list[tuple[float, int, int, float]]:
    """(from when, finished then, at risk then, share not finished from then on), from time 0 on."""
    steps, alive = [(0.0, 0, len(times), 1.0)], 1.0
    for time in _event_times(times, finished):
        if time < horizon:
            events, at_risk = _at(time, times, finished)
            alive *= 1 - events / at_risk
            steps.append((time, events, at_risk, alive))
    return steps


def _variance(steps: list[tuple[float, int, int, float]], areas: list[float]) -> float:
    """Greenwood: for each event the area still to come, squared, times the event's share of uncertainty."""
    total = 0.0
    for place, (_, events, at_risk, _) in enumerate(steps):
        if events and at_risk > events:
            total += sum(areas[place:]) ** 2 * events / (at_risk * (at_risk - events))
    return total


def _hazards(times: list[float], finished: list[bool]) -> list[tuple[float, float]]:
    """When attempts finished, and what share of those still running did: Nelson and Aalen's steps."""
    steps = [(time, *_at(time, times, finished)) for time in _event_times(times, finished)]
    return [(time, events / at_risk) for time, events, at_risk in steps]


def _event_times(times: list[float], finished: list[bool]) -> Iterable[float]:
    return sorted({time for time, done in zip(times, finished, strict=True) if done})


def _at(time: float, times: list[float], finished: list[bool]) -> tuple[int, int]:
    """How many finished exactly then, and how many had not ended before."""
    events = sum(done for other, done in zip(times, finished, strict=True) if other == time)
    return events, sum(other >= time for other in times)
