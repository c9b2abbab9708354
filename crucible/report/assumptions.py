"""What a plan rests on: what its user said, what is stored of earlier attempts, and what has to be assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, variance
from typing import Literal

from crucible.errors import UsageError
from crucible.runner.declare import Metric
from crucible.scenario.schema import Arm, Scenario
from crucible.stats.planning import SIGMA2
from crucible.store.history import history, past_totals
from crucible.store.writes import Store

Source = Literal["given", "stored", "assumed"]

POWER = 0.8
BASE = 0.5
"""Pass rate of the baseline when nobody says better: the one that needs most attempts."""
SPREAD = 0.10
"""Standard deviation, between scenarios, of the true effect, when nobody says better."""
SCORE_SD = 0.25
"""Standard deviation of one attempt's score within an arm, when nobody says better."""
LEAST_DETECTED = 0.01
LEAST_VARIANCE = 1e-3
"""To plan with: an arm that passes always or never has none, and without any there would be nothing to plan."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan is made for. Differences, rates and spreads are shares of 1; `cost` (US dollars) and `seconds` are those
    of one attempt."""

    detect: float
    power: float = POWER
    metric: Metric = "pass_rate"
    base: float | None = None
    sd: float | None = None
    spread: float | None = None
    cost: float | None = None
    seconds: float | None = None
    blocks: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A number, where it is from, and over how many stored attempts."""

    value: float
    source: Source
    n: int = 0


@dataclass(frozen=True, slots=True)
class ArmPart:
    """What one attempt of one arm takes, in US dollars and seconds; None is unknown."""

    arm: str
    model: str
    cost: Known | None
    seconds: Known | None


@dataclass(frozen=True, slots=True)
class ScenarioPart:
    """One scenario of a plan: the baseline's pass rate (None when the metric is the score), the rate to tell from it, and
    the variance of one attempt's result within an arm."""

    name: str
    base: Known | None
    other: float | None
    sigma2: Known
    arms: tuple[ArmPart, ...]


def check_asked(asked: Asked) -> None:
    """Raises UsageError for what cannot be planned for, in the words of the command line."""
    limits = [
        ("--detect", 100 * asked.detect, LEAST_DETECTED <= asked.detect <= 1, "1 to 100 points"),
        ("--power", asked.power, 0 < asked.power < 1, "a chance between 0 and 1"),
        ("--base", asked.base, asked.base is None or 0 <= asked.base <= 1, "a rate from 0 to 1"),
        ("--sd", asked.sd, asked.sd is None or 0 < asked.sd <= 0.5, "more than 0 and at most 0.5"),
        ("--spread", asked.spread, asked.spread is None or 0 <= asked.spread <= 1, "0 to 1 (0.1 is 10 points)"),
        ("--cost", asked.cost, asked.cost is None or 0 <= asked.cost < inf, "US dollars of one attempt"),
        ("--seconds", asked.seconds, asked.seconds is None or 0 <= asked.seconds < inf, "seconds of one attempt"),
        ("--blocks", asked.blocks, asked.blocks is None or asked.blocks >= 1, "a whole number from 1"),
    ]
    for name, value, good, allowed in limits:
        if not good:
            raise UsageError(f"{name} takes {allowed}, got {value:g}")
    for name, said, metric in (("--base", asked.base, "pass_rate"), ("--sd", asked.sd, "score")):
        if said is not None and asked.metric != metric:
            raise UsageError(
                f"{name} is about the {metric.replace('_', ' ')}, not the {asked.metric.replace('_', ' ')}"
            )


def assume(scenario: Scenario, asked: Asked, store: Store | None) -> ScenarioPart:
    """Everything a plan needs to know of one scenario; what is stored is used where nothing is given."""
    arms = tuple(_arm(scenario, arm, asked, store) for arm in scenario.arms)
    if asked.metric == "score":
        return ScenarioPart(scenario.name, None, None, _score_variance(scenario, asked, store), arms)
    base = _base(scenario, asked, store)
    other = _other_rate(base.value, asked.detect)
    if base.source == "assumed":
        return ScenarioPart(scenario.name, base, other, Known(SIGMA2, "assumed"), arms)
    sigma2 = max(LEAST_VARIANCE, fmean(p * (1 - p) for p in (base.value, other)))
    return ScenarioPart(scenario.name, base, other, Known(sigma2, base.source, base.n), arms)


def sigma2_over(parts: Sequence[ScenarioPart]) -> float:
    """The mean variance of one attempt's result."""
    return fmean(part.sigma2.value for part in parts)


def _arm(scenario: Scenario, arm: Arm, asked: Asked, store: Store | None) -> ArmPart:
    past = None if store is None else history(store, scenario.name, arm.id, arm.model)
    cost = _known(asked.cost, past.mean_cost_usd if past else None, past.priced if past else 0)
    seconds = _known(asked.seconds, past.mean_seconds if past else None, past.timed if past else 0)
    return ArmPart(arm.id, arm.model, cost, seconds)


def _known(given: float | None, stored: float | None, n: int) -> Known | None:
    if given is not None:
        return Known(given, "given")
    return None if stored is None else Known(stored, "stored", n)


def _base(scenario: Scenario, asked: Asked, store: Store | None) -> Known:
    if asked.base is not None:
        return Known(asked.base, "given")
    arm = scenario.baseline
    past = None if store is None else history(store, scenario.name, arm.id, arm.model)
    if past is None or not past.attempts:
        return Known(BASE, "assumed")
    # Half way to nothing known: 5 of 5 is no reason to plan with an arm that never fails.
    return Known((past.passed + 1) / (past.attempts + 2), "stored", past.attempts)


def _other_rate(base: float, detect: float) -> float:
    """The rate to tell from the base: above it where there is room, else below. Raises UsageError without room."""
    for other in (base + detect, base - detect):
        if -1e-9 <= other <= 1 + 1e-9:
            return min(1.0, max(0.0, other))
    raise UsageError(
        f"a pass rate of {100 * base:.0f}% cannot differ by {100 * detect:g} points",
        hint="plan for a smaller difference with --detect, or say another rate with --base",
    )


def _score_variance(scenario: Scenario, asked: Asked, store: Store | None) -> Known:
    if asked.sd is not None:
        return Known(asked.sd**2, "given")
    past = [] if store is None else [past_totals(store, scenario.name, arm.id, arm.model) for arm in scenario.arms]
    groups = [values for values in past if len(values) > 1]
    free = sum(len(values) - 1 for values in groups)
    pooled = sum((len(values) - 1) * variance(values) for values in groups) / free if free else 0.0
    if pooled < LEAST_VARIANCE:
        return Known(SCORE_SD**2, "assumed")
    return Known(pooled, "stored", sum(map(len, groups)))
