"""What can be detected, on one scenario and over several."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.stats import exact, planning, power

TESTS = {"bosch": "boschloo", "fisher": "fisher", "midp": "mid-p"}
P_VALUE = {"boschloo": exact.boschloo, "fisher": exact.fisher, "mid-p": exact.fisher_mid_p}


def test_attempts_needed() -> None:
    """The table that users are shown: 50 v 80 takes 40, 85 v 100 takes 44, 10 v 90 takes 6."""
    assert [40, 44, 10, 6] == [power.attempts_needed(*p) for p in ((0.5, 0.8), (0.85, 1.0), (0.2, 0.8), (0.1, 0.9))]
    assert 20 == power.attempts_needed(0.5, 0.9, test="mid-p")
    assert power.attempts_needed(0.5, 0.5) is None
    assert power.attempts_needed(0.5, 0.52) is None


def test_detectable_difference() -> None:
    """From 30 %: nothing with 3 or 5 attempts, 59 points with 10, 45 with 20, 28 with 50."""
    assert [None, None, 0.59, 0.45, 0.28] == [power.detectable_difference(n, 0.3) for n in (3, 5, 10, 20, 50)]
    assert 0.5 == power.detectable_difference(10, 0.5, "down")
    assert power.detectable_difference(50, 1.0, "up") is None


@pytest.mark.parametrize("test", list(P_VALUE))
@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 3), (5, 5), (4, 7), (9, 9), (12, 5)])
def test_the_region_is_where_the_test_rejects(test: power.Test, n_a: int, n_b: int) -> None:
    """Table by table, at two levels; Fisher's two-sided value is doubled for unequal arms here."""
    for alpha in (0.05, 0.1):
        region = power.rejection_region(n_a, n_b, alpha, test)
        for k_a in range(n_a + 1):
            for k_b in range(n_b + 1):
                sides = [P_VALUE[test](k_a, n_a, k_b, n_b, side) for side in ("greater", "less")]
                assert bool(region[k_a, k_b]) == (2 * min(sides) <= alpha * (1 + 1e-9)), (k_a, k_b)


@given(st.integers(2, 14), st.integers(2, 14), st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_power_is_a_sum_over_tables(n_a: int, n_b: int, p_a: float, p_b: float) -> None:
    """Of the probabilities of all tables where the test rejects; the arms can be swapped."""
    region = power.rejection_region(n_a, n_b)
    by_hand = sum(
        comb(n_a, a) * p_a**a * (1 - p_a) ** (n_a - a) * comb(n_b, b) * p_b**b * (1 - p_b) ** (n_b - b)
        for a in range(n_a + 1)
        for b in range(n_b + 1)
        if region[a, b]
    )
    assert by_hand == pytest.approx(power.power_two_arms(p_a, p_b, n_a, n_b), abs=1e-9)
    assert by_hand == pytest.approx(power.power_two_arms(p_b, p_a, n_b, n_a), abs=1e-9)
    assert power.power_two_arms(p_a, p_a, n_a, n_b) <= 0.05 + 1e-9


def test_false_alarms_of_the_oracle(oracle) -> None:
    """The largest over all rates, by test and attempts per arm, to the four digits printed."""
    for n, row in oracle("power_tables")["type1_max"].items():
        for name, test in TESTS.items():
            assert row[name] == pytest.approx(power.largest_false_alarm(int(n), int(n), 0.05, test), abs=5.1e-5)


def test_detectable_differences_of_the_oracle(oracle) -> None:
    """40 of them, up and down, in whole points."""
    for row in oracle("power_tables")["mde80"]:
        found = [power.detectable_difference(row["n"], row["base"], side) for side in ("up", "down")]
        assert [row["mde_up"], row["mde_down"]] == found, row


def needed(row: dict, most: float) -> None:
    for name, test in TESTS.items():
        for percent in (80, 90):
            if row.get(f"{name}_{percent}", most) < most:
                found = power.attempts_needed(row["p1"], row["p2"], percent / 100, test=test)
                assert row[f"{name}_{percent}"] == found, (row, name, percent)


@pytest.mark.slow
def test_attempts_needed_of_the_oracle(oracle) -> None:
    """Up to 130 per arm, exactly; all by the normal approximation, to the digit printed."""
    for row in oracle("power_tables")["n_for_power"]:
        needed(row, 131)
        for percent in (80, 90):
            if f"normal_{percent}" in row:
                found = power.normal_attempts_needed(row["p1"], row["p2"], percent / 100)
                assert row[f"normal_{percent}"] == pytest.approx(found, abs=0.051)


@pytest.mark.slow
def test_the_largest_attempts_needed_of_the_oracle(oracle) -> None:
    """All of them, up to 227 per arm."""
    for row in oracle("power_tables")["n_for_power"]:
        needed(row, 1000)


def test_pairing_at_random_loses_power(oracle) -> None:
    """Exact McNemar on pairs that share nothing against the tests of independent arms."""
    for name, row in oracle("power_tables")["random_pairing_loss"].items():
        n, rates = name.split(",")
        pairs = int(n.removeprefix("n="))
        p_a, p_b = map(float, rates.split("vs"))
        found = {
            "mcnemar_exact_random_pairing": mcnemar_power(pairs, p_a * (1 - p_b), p_b * (1 - p_a)),
            "boschloo": power.power_two_arms(p_a, p_b, pairs, pairs),
            "fisher": power.power_two_arms(p_a, p_b, pairs, pairs, test="fisher"),
        }
        assert row == pytest.approx(found, abs=5.1e-4), name


def mcnemar_power(pairs: int, only_a: float, only_b: float) -> float:
    """Over all discordant counts."""
    return sum(
        comb(pairs, a) * comb(pairs - a, b) * only_a**a * only_b**b * (1 - only_a - only_b) ** (pairs - a - b)
        for a in range(pairs + 1)
        for b in range(pairs + 1 - a)
        if exact.mcnemar(a, b) <= 0.05
    )


def test_r_documents_the_same_approximation(published) -> None:
    """power.prop.test(p1 = .50, p2 = .75, power = .90) gives n = 76.7."""
    expected = published["r_power_prop_test"]["full_precision_expected"][1]
    assert expected == pytest.approx(power.normal_attempts_needed(0.5, 0.75, 0.9), abs=1e-9)


def test_fifteen_points_need_scenarios() -> None:
    """4 scenarios can never show 15 points for scenarios that differ by 10; 20 can, with 9 attempts."""
    assert planning.attempts_needed_like_these(4, 0.15, omega=0.1) is None
    assert 9 == planning.attempts_needed_like_these(20, 0.15, omega=0.1)
    assert 15 == planning.attempts_needed_these(8, 0.15)
    assert planning.detectable_like_these(planning.Suite(1, 50)) is None
    assert 0.0 == planning.power_like_these(planning.Suite(1, 50), 0.5)


def test_suites_of_the_oracle(oracle) -> None:
    """126 detectable differences to three digits, and attempts for 10 to 30 points."""
    data = oracle("planning_S_by_K")
    for row in data["rows"]:
        suite = planning.Suite(row["S"], row["K"], row["sigma2"], row["omega"])
        found = planning.detectable_like_these(suite)
        assert (row["mde_generalise"] is None) == (found is None)
        assert row["mde_generalise"] is None or row["mde_generalise"] == pytest.approx(found, abs=5.1e-4)
        assert row["mde_these_scenarios"] == pytest.approx(planning.detectable_these(suite), abs=5.1e-4)
    for row in data["attempts_needed"]:
        for points in (10, 15, 20, 30):
            like = planning.attempts_needed_like_these(row["S"], points / 100, row["omega"])
            these = planning.attempts_needed_these(row["S"], points / 100)
            assert [row[f"K_for_{points}pt_{claim}"] for claim in ("generalise", "these")] == [like, these]


def test_millers_sample_sizes(published) -> None:
    """969 questions for 3 points; 13.3 and 7.6 points with 198 questions, 1 and 10 attempts."""
    assert 969 == planning.questions_needed(0.03, 1 / 9, 0.0, 0.0)
    example = published["miller_mde_198"]
    for attempts, expected in zip(example["inputs"]["K"], example["full_precision_expected"], strict=True):
        # omega and the normal: what detectable_these gives when omega^2 is put among the attempts' noise
        folded = planning.Suite(198, 1, sigma2=(1 / 9 + 2 * (1 / 6) / attempts) / 2)
        assert expected == pytest.approx(planning.detectable_these(folded), abs=1e-9)
        assert planning.questions_needed(expected * (1 + 1e-9), 1 / 9, 1 / 6, 1 / 6, attempts, attempts) == 198


@given(st.integers(2, 60), st.integers(1, 60), st.floats(0, 0.4), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_power_over_scenarios_behaves(scenarios: int, attempts: int, omega: float, difference: float) -> None:
    """In [0, 1], at least alpha, rising with the difference, the scenarios and the attempts, the same for both signs."""
    suite = planning.Suite(scenarios, attempts, 0.17, omega)
    found = planning.power_like_these(suite, difference)
    assert 0.05 - 1e-9 <= found <= 1
    assert found == planning.power_like_these(suite, -difference)
    bigger = [
        planning.power_like_these(suite, difference + 0.05),
        planning.power_like_these(planning.Suite(scenarios + 1, attempts, 0.17, omega), difference),
        planning.power_like_these(planning.Suite(scenarios, attempts + 1, 0.17, omega), difference),
        planning.power_these(suite, difference),
    ]
    assert all(found <= other + 1e-9 for other in bigger)


@given(st.integers(2, 40), st.integers(1, 40), st.floats(0, 0.4), st.floats(0.1, 0.95))
@settings(deadline=None, max_examples=40)
def test_what_is_detectable_has_the_power(scenarios: int, attempts: int, omega: float, wanted: float) -> None:
    """The detectable difference is where the power is the wanted one."""
    suite = planning.Suite(scenarios, attempts, 0.17, omega)
    found = planning.detectable_like_these(suite, wanted)
    assert found is not None
    assert wanted == pytest.approx(planning.power_like_these(suite, found), abs=1e-8)
    assert wanted <= planning.power_these(suite, planning.detectable_these(suite, wanted)) + 1e-9


def test_far_differences_have_power_one() -> None:
    """Where SciPy's noncentral t gives NaN: no NaN, and no drop."""
    for scenarios in (2, 3, 6, 10, 40):
        suite = planning.Suite(scenarios, 50)
        found = [planning.power_like_these(suite, shift / 10) for shift in range(200)]
        assert all(one <= other + 1e-12 for one, other in pairwise(found))
        assert 0.99 < found[-1] <= 1
    assert not np.isnan(found).any()


def test_impossible_plans_are_refused() -> None:
    """Rates and levels out of range, no scenario, no noise at all."""
    with pytest.raises(ValueError, match="p_a must be in"):
        power.power_two_arms(1.2, 0.5, 5, 5)
    with pytest.raises(ValueError, match="power must be strictly"):
        power.attempts_needed(0.5, 0.8, power=1.0)
    with pytest.raises(ValueError, match="alpha must be strictly"):
        power.power_two_arms(0.2, 0.5, 5, 5, alpha=0.0)
    with pytest.raises(ValueError, match="n_a must be at least 1"):
        power.power_two_arms(0.2, 0.5, 0, 5)
    with pytest.raises(ValueError, match="at most 1000"):
        power.power_two_arms(0.2, 0.5, 600, 600)
    with pytest.raises(ValueError, match="equal rates"):
        power.normal_attempts_needed(0.5, 0.5)
    with pytest.raises(ValueError, match="scenarios must be at least 1"):
        planning.Suite(0, 5)
    with pytest.raises(ValueError, match="without noise"):
        planning.Suite(4, 5, sigma2=0.0)
    with pytest.raises(ValueError, match="difference must be above 0"):
        planning.attempts_needed_like_these(4, 0.0)
