"""What one success costs, with an interval that neither takes a full score for certain nor hides what failures cost."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.stats.one_sample import wilson
from crucible.stats.success import SuccessCost, cost_of_success, cost_of_success_ratio

attempts = st.lists(st.tuples(st.floats(0.01, 10), st.booleans()), min_size=2, max_size=8)
arms = st.lists(attempts.map(lambda made: ([c for c, _ in made], [p for _, p in made])), min_size=1, max_size=4)


def limits(found: SuccessCost) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval.low, found.interval.high


def test_without_spread_in_cost_the_limits_are_those_of_the_rate() -> None:
    """Four of five at $1: $1.25, and $1 over Wilson's limits."""
    found, rate = cost_of_success([([1.0] * 5, [True] * 4 + [False])]), wilson(4, 5)
    assert 1.25 == pytest.approx(found.value or 0)
    assert (1 / rate.high, 1 / rate.low) == pytest.approx(limits(found))


def test_by_hand() -> None:
    """Costs 1, 2, 3, 4, all passed: Student's reach 3.1824 * 0.6455 / 2.5 and Wilson's low limit 0.5101, joined on logs."""
    found = cost_of_success([([1.0, 2.0, 3.0, 4.0], [True] * 4)])
    reach, short = 3.182446 * sqrt(5 / 3 / 4) / 2.5, log(1 / 0.510109)
    expected = 2.5 * np.exp(-reach), 2.5 * np.exp(sqrt(reach**2 + short**2))
    assert expected == pytest.approx(limits(found), rel=1e-5)


def test_five_of_five_is_not_taken_for_certain() -> None:
    """A success may cost up to 1.77 times an attempt where a bootstrap would see nothing but passes."""
    low, high = limits(cost_of_success([([1.0] * 5, [True] * 5)]))
    assert (1.0, pytest.approx(1.7683, abs=1e-4)) == (low, high)


def test_dearer_failures_widen_it_and_cheaper_ones_do_not_narrow_it() -> None:
    passed = [True, True, True, False, False]
    dear = limits(cost_of_success([([1.0, 1.1, 0.9, 2.0, 2.1], passed)]))
    mixed = limits(cost_of_success([([1.0, 2.1, 1.1, 0.9, 2.0], passed)]))
    assert dear[0] < mixed[0]
    assert dear[1] > mixed[1]
    cheap = cost_of_success([([2.0, 2.1, 2.0, 1.0, 1.1], passed)])
    assert cheap.value is not None
    reach = log(cheap.value / limits(cheap)[0]), log(limits(cheap)[1] / cheap.value)
    rate = wilson(3, 5)
    assert reach[0] > log(rate.high / 0.6)
    assert reach[1] > log(0.6 / rate.low)


@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        ([([1.0, 1.0], [False, False])], (None, "nothing passed")),
        ([([0.0, 0.0], [True, True])], (None, "the attempts cost nothing")),
        ([([2.0], [True])], (2.0, "one attempt of an arm says nothing about the spread between attempts")),
    ],
)
def test_what_cannot_be_told_is_not_told(
    arm: list[tuple[list[float], list[bool]]], expected: tuple[float | None, str]
) -> None:
    """Nor is a ratio with such an arm."""
    found, other = cost_of_success(arm), [([1.0, 2.0], [True, True])]
    assert (*expected, None) == (found.value, found.why_not, found.interval)
    for ratio in (cost_of_success_ratio(arm, other), cost_of_success_ratio(other, arm)):
        assert (expected[1], None, expected[0] is None) == (ratio.why_not, ratio.interval, ratio.value is None)


def test_scenarios_weigh_the_same_however_many_attempts_they_have() -> None:
    """$1 and $3 an attempt, both always green: $2, not $1.5."""
    assert 2.0 == cost_of_success([([1.0] * 6, [True] * 6), ([3.0] * 2, [True] * 2)]).value


@given(arms, arms)
def test_a_ratio_turns_round_with_its_arms_and_lies_in_its_interval(a, b) -> None:
    found, turned = cost_of_success_ratio(a, b), cost_of_success_ratio(b, a)
    if found.value is None or turned.value is None:
        assert found.value is turned.value
        return
    assert 1 / turned.value == pytest.approx(found.value)
    low, high = limits(found)
    assert low <= found.value * (1 + 1e-12)
    assert found.value <= high * (1 + 1e-12)
    assert tuple(1 / limit for limit in reversed(limits(turned))) == pytest.approx((low, high))


@given(arms, st.floats(0.001, 1000))
def test_the_currency_does_not_matter(arm, rate) -> None:
    found = cost_of_success(arm)
    exchanged = cost_of_success([([rate * c for c in costs], passed) for costs, passed in arm])
    if found.value is None:
        assert exchanged.value is None
        return
    assert tuple(rate * limit for limit in limits(found)) == pytest.approx(limits(exchanged), rel=1e-6)


@pytest.mark.parametrize(
    ("n", "rates", "scenarios"), [(5, (0.95, 0.8), 1), (5, (0.9, 0.5), 1), (10, (1.0, 0.5), 1), (3, (0.9, 0.6), 4)]
)
def test_it_covers_what_it_says(n: int, rates: tuple[float, float], scenarios: int) -> None:
    """At least 93 of 100 intervals hold the true ratio, where failures cost twice as much and costs spread by half."""
    random, spread = np.random.default_rng(n), sqrt(log(1.25))
    truth = [(p + 2 * (1 - p)) / p for p in rates]
    held, told = 0, 0
    for _ in range(400):
        both = [[_drawn(random, n, p, spread) for _ in range(scenarios)] for p in rates]
        found = cost_of_success_ratio(*both)
        if found.interval is not None:
            told += 1
            held += truth[0] / truth[1] in found.interval
    assert 0.93 <= held / told


def _drawn(random: np.random.Generator, n: int, rate: float, spread: float) -> tuple[list[float], list[bool]]:
    passed = random.random(n) < rate
    costs = random.lognormal(-(spread**2) / 2, spread, n) * np.where(passed, 1, 2)
    return costs.tolist(), passed.tolist()


@pytest.mark.parametrize("arm", [[], [([], [])], [([1.0], [True, False])], [([-1.0, 1.0], [True, True])]])
def test_what_is_no_arm_is_refused(arm) -> None:
    with pytest.raises(ValueError, match="cost"):
        cost_of_success(arm)
