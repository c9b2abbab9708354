"""Adjusting for many tests; k attempts instead of one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from crucible.stats.exact import boschloo, smallest_p
from crucible.stats.multiplicity import benjamini_hochberg, holm, tarone
from crucible.stats.passk import mean_over_scenarios, pass_at_k, pass_hat_k

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)
AIRLINE = [0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 4, 2, 0, 2, 1, 1, 4, 0, 4, 3, 0, 0, 4]
AIRLINE += [0, 2, 2, 0, 1, 2, 2, 0, 0, 3, 4, 4, 3, 4, 1, 3, 2, 4, 1, 2, 2, 2, 1, 4, 4]
"""Passes of 4 attempts on the 50 tasks of tau-bench airline, gpt-4o."""
BH_1995 = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0,
]


def test_benjamini_and_hochbergs_own_example() -> None:
    """1995: Bonferroni and Holm reject 3 of 15, their procedure 4."""
    assert 3 == sum(p <= 0.05 for p in holm(BH_1995))
    assert 4 == sum(p <= 0.05 for p in benjamini_hochberg(BH_1995))


def test_the_worked_example_of_the_oracle(oracle) -> None:
    """Boschloo per scenario, by Holm and by Benjamini and Hochberg."""
    data = oracle("worked_example_8_scenarios")
    plain = [boschloo(a, 5, b, 5) for a, b in zip(data["passes_A"], data["passes_B"], strict=True)]
    for name, found in (("boschloo_p", plain), ("holm", holm(plain)), ("bh", benjamini_hochberg(plain))):
        assert data["results"][f"per_scenario_{name}"]["value"] == pytest.approx(found, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("plain", [[0.04], [0.01, 0.04, 0.03], [0.001, 0.2, 0.2, 1.0, 0.0, 0.049]])
def test_statsmodels_agrees_on_a_few(plain: list[float]) -> None:
    as_statsmodels(plain)


@pytest.mark.slow
@given(p_values)
@settings(deadline=None, max_examples=10)  # statsmodels collects garbage at every call
def test_statsmodels_agrees(plain: list[float]) -> None:
    as_statsmodels(plain)


def as_statsmodels(plain: list[float]) -> None:
    """Both procedures, in the order given; adjusted is never below plain, Holm never below Benjamini-Hochberg."""
    by_holm, by_rate = holm(plain), benjamini_hochberg(plain)
    assert multipletests(plain, method="holm")[1].tolist() == pytest.approx(by_holm, abs=1e-12)
    assert multipletests(plain, method="fdr_bh")[1].tolist() == pytest.approx(by_rate, abs=1e-12)
    for p, rate, family in zip(plain, by_rate, by_holm, strict=True):
        assert p <= rate + 1e-12 <= family + 2e-12 <= 1 + 1e-11


def test_tarone_leaves_out_what_can_never_reject() -> None:
    """Ten scenarios of 4 per arm beside two of 8: Bonferroni over 12 could reject none of the ten, Tarone counts two."""
    smallest = [smallest_p(8, 8), smallest_p(8, 8), *[smallest_p(3, 3)] * 10]
    found = tarone([0.02, 0.03, *[smallest_p(3, 3)] * 10], smallest)
    assert (2, (0, 1), (0,)) == (found.factor, found.testable, found.rejected)
    everything = tarone([0.001] * 3, [0.0001] * 3)
    assert (3, (0, 1, 2)) == (everything.factor, everything.rejected)
    nothing = tarone([0.2, 0.3], [0.2, 0.3])
    assert (1, (), ()) == (nothing.factor, nothing.testable, nothing.rejected)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
@settings(deadline=None, max_examples=60)
def test_tarone_rejects_at_least_what_bonferroni_does(tests: list[tuple[float, float]]) -> None:
    """Of the p-values that are attainable; the factor is the smallest that covers the testable ones."""
    smallest = [min(pair) for pair in tests]
    plain = [max(pair) for pair in tests]
    found = tarone(plain, smallest)
    assert len(found.testable) <= found.factor
    bonferroni = {i for i, p in enumerate(plain) if p <= 0.05 / len(plain)}
    assert bonferroni <= set(found.rejected) <= set(found.testable)


def test_p_values_out_of_range_are_refused() -> None:
    """Above 1, NaN, lists that do not match."""
    for bad in (1.2, -0.1, float("nan")):
        for procedure in (holm, benjamini_hochberg):
            with pytest.raises(ValueError, match="a p-value must be"):
                procedure([0.1, bad])
    with pytest.raises(ValueError, match="equally long"):
        tarone([0.1], [0.1, 0.2])
    assert [] == holm([]) == benjamini_hochberg([])


def test_tau_bench_airline() -> None:
    """The published row of gpt-4o, pass^1 to pass^4: 0.420, 0.273, 0.220, 0.200."""
    counts = [(passes, 4) for passes in AIRLINE]
    found = [float(mean_over_scenarios(pass_hat_k, counts, k)) for k in (1, 2, 3, 4)]
    assert [0.42, 0.273333, 0.22, 0.2] == pytest.approx(found, abs=1e-6)
    capability = [float(mean_over_scenarios(pass_at_k, counts, k)) for k in (1, 2, 3, 4)]
    assert [0.42, 0.566667, 0.66, 0.72] == pytest.approx(capability, abs=1e-6)


def test_every_case_of_the_oracle(oracle, published) -> None:
    """215 (n, c, k) as fractions, and tau-bench at full precision."""
    for case in oracle("pass_at_k_table")["cases"]:
        at, hat = (measure(case["c"], case["n"], case["k"]) for measure in (pass_at_k, pass_hat_k))
        if case["pass_at_k_fraction"] is not None:
            assert Fraction(case["pass_at_k_fraction"]) == at
        assert [case["pass_at_k"], case["pass_hat_k"]] == pytest.approx([float(at), float(hat)], abs=1e-9)
    example = published["tau_bench_gpt4o_airline_pass_at_k"]
    counts = [(passes, 4) for passes in example["inputs"]["successes_per_task"]]
    found = [float(mean_over_scenarios(pass_at_k, counts, k)) for k in (1, 2, 3, 4)]
    assert example["full_precision_expected"] == pytest.approx(found, abs=1e-9)


def test_pass_k_of_the_worked_example_of_the_oracle(oracle) -> None:
    """Both measures of both arms for k of 1, 2, 3 and 5."""
    data = oracle("worked_example_8_scenarios")
    for arm in "AB":
        counts = [(passes, 5) for passes in data[f"passes_{arm}"]]
        for k in (1, 2, 3, 5):
            for name, measure in (("pass_hat", pass_hat_k), ("pass_at", pass_at_k)):
                expected = data["results"][f"{name}_{k}_{arm}"]["value"]
                assert expected == pytest.approx(float(mean_over_scenarios(measure, counts, k)), abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=60)
def test_pass_k_is_the_share_of_all_choices(results: list[bool], data: st.DataObject) -> None:
    """By listing every choice of k attempts; pass^k <= c/n <= pass@k."""
    k = data.draw(st.integers(1, len(results)))
    choices = list(combinations(results, k))
    found = pass_at_k(sum(results), len(results), k), pass_hat_k(sum(results), len(results), k)
    assert found == (
        Fraction(sum(map(any, choices)), len(choices)),
        Fraction(sum(map(all, choices)), len(choices)),
    )
    assert found[1] <= Fraction(sum(results), len(results)) <= found[0]


@pytest.mark.parametrize("measure", [pass_at_k, pass_hat_k])
def test_more_attempts_than_were_made_are_refused(measure) -> None:
    """k above n is not extrapolated; k of 0 means nothing."""
    with pytest.raises(ValueError, match="need at least 6 attempts, not 5"):
        measure(3, 5, 6)
    with pytest.raises(ValueError, match="k must be at least 1"):
        measure(3, 5, 0)
    with pytest.raises(ValueError, match="k must be at most n"):
        measure(6, 5, 1)
    with pytest.raises(ValueError, match="at least one scenario"):
        mean_over_scenarios(measure, [], 1)
