"""Permutation tests, against brute enumeration and published values."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, permutation_test

from crucible.stats import distribution
from crucible.stats import permutation as module
from crucible.stats.permutation import permutation, rank_sum, sign_flip, stratified_passes, stratified_permutation

MOUSE = (
    [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0],
    [52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0],
)
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
COSTS = [0.42, 0.38, 0.55, 1.9, 0.47], [0.61, 0.72, 0.58, 0.95, 1.1]
PASSES = [(5, 2), (4, 4), (3, 1), (2, 0), (5, 4), (4, 1), (5, 5), (1, 2)]

tenths = st.integers(0, 10).map(lambda x: x / 10)
passes = st.sampled_from([0.0, 1.0])
decimals = st.integers(0, 10**6).map(lambda x: x / 10**6)


def strata(score: st.SearchStrategy[float]) -> st.SearchStrategy[list[tuple[list[float], list[float]]]]:
    arm = st.lists(score, min_size=1, max_size=3)
    return st.lists(st.tuples(arm, arm), min_size=1, max_size=3)


def deals(stratum: tuple[list[float], list[float]]) -> list[Fraction]:
    """Every difference of means, in fractions, one per deal."""
    scores = [Fraction(str(score)) for score in (*stratum[0], *stratum[1])]
    size, rest = len(stratum[0]), len(stratum[1])
    return [
        Fraction(sum(taken), size) - Fraction(sum(scores) - sum(taken), rest) for taken in combinations(scores, size)
    ]


def brute(several: list[tuple[list[float], list[float]]]) -> tuple[float, float]:
    """Both tails by listing every joint deal."""
    observed = sum(
        Fraction(sum(map(Fraction, map(str, a))), len(a)) - Fraction(sum(map(Fraction, map(str, b))), len(b))
        for a, b in several
    )
    every = [deals(stratum) for stratum in several]
    sums = [sum(parts) for parts in product(*every)]
    assert len(sums) == prod(map(len, every))
    return sum(s >= observed for s in sums) / len(sums), sum(s <= observed for s in sums) / len(sums)


@given(st.one_of(strata(tenths), strata(passes), strata(decimals)))
@settings(deadline=None, max_examples=80)
def test_every_deal_is_counted_once(several: list[tuple[list[float], list[float]]]) -> None:
    """Equal to listing them all in fractions: binary, lattice and arbitrary scores, unequal arms, ties included."""
    found = stratified_permutation(several)
    greater, less = brute(several)
    assert found.exact
    assert (greater, less) == pytest.approx((found.p_greater, found.p_less), abs=1e-12)
    assert min(1.0, 2 * min(greater, less)) == pytest.approx(found.p_value, abs=1e-12)


@given(strata(tenths))
@settings(deadline=None, max_examples=60)
def test_swapping_the_arms_mirrors(several: list[tuple[list[float], list[float]]]) -> None:
    """The difference turns its sign and the tails change places; every p-value is in (0, 1]."""
    one, other = stratified_permutation(several), stratified_permutation([(b, a) for a, b in several])
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert (one.p_greater, one.p_less) == pytest.approx((other.p_less, other.p_greater), abs=1e-12)
    assert 0 < one.p_value <= 1


@given(strata(decimals), st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_monte_carlo_is_near_the_exact_value_and_never_zero(
    several: list[tuple[list[float], list[float]]], seed: int
) -> None:
    """Within six standard errors; the observed deal counts as one of the draws."""
    draws = 2000
    found = module._drawn_tails(several, draws, seed)
    for estimate, truth in zip(found, brute(several), strict=True):
        assert 1 / (draws + 1) <= estimate <= 1
        assert truth == pytest.approx(estimate, abs=6 * (truth * (1 - truth) / draws) ** 0.5 + 2 / draws)


def test_published_values() -> None:
    """Efron and Tibshirani's mice, by all 11,440 deals, and Darwin's maize, 1726 of 32768."""
    assert 0.1409965034965035 == pytest.approx(permutation(*MOUSE).p_greater, abs=1e-12)
    assert 30.63492063492064 == pytest.approx(permutation(*MOUSE).difference, abs=1e-12)
    assert 1726 / 32768 == pytest.approx(sign_flip(DARWIN), abs=1e-15)


def test_eight_scenarios_exactly() -> None:
    """The fraction that integer arithmetic gives, 2050501 / 123451776."""
    found = stratified_passes([(a, 5, b, 5) for a, b in PASSES])
    assert 2050501 / 123451776 == pytest.approx(found.p_value, abs=1e-15)
    assert 0.25 == pytest.approx(found.difference, abs=1e-15)
    assert found.exact


def test_the_worked_example_of_the_oracle(oracle) -> None:
    """Stratified exact, sign-flip, cost permutation, Mann-Whitney."""
    data = oracle("worked_example_8_scenarios")
    results = data["results"]
    pairs = list(zip(data["passes_A"], data["passes_B"], strict=True))
    costs = results["cost_inputs"]["A"], results["cost_inputs"]["B"]
    found = {
        "stratified_exact_permutation_p": stratified_passes([(a, 5, b, 5) for a, b in pairs]).p_value,
        "sign_flip_exact_p": sign_flip([(a - b) / 5 for a, b in pairs]),
        "cost_mean_diff_exact_permutation_p": permutation(*costs).p_value,
        "mann_whitney_exact_p": rank_sum(*costs).p_value,
    }
    assert {name: results[name]["value"] for name in found} == pytest.approx(found, abs=1e-9)


def test_smallest_sign_flip_p_of_the_oracle(oracle) -> None:
    """2 / 2^scenarios."""
    for row in oracle("min_attainable_p")["table"]:
        scenarios = row["n_per_arm"]
        assert row["sign_flip_scenarios_two_sided"] == pytest.approx(sign_flip([1.0] * scenarios), abs=1e-12)


def test_scipy_agrees() -> None:
    """Its enumeration of deals, of signs, and its exact Mann-Whitney test."""
    a, b = COSTS

    def difference(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    theirs = permutation_test(COSTS, difference, permutation_type="independent", n_resamples=np.inf, vectorized=True)
    assert theirs.pvalue == pytest.approx(permutation(a, b).p_value, abs=1e-12)
    assert mannwhitneyu(a, b, method="exact").pvalue == pytest.approx(rank_sum(a, b).p_value, abs=1e-12)


def test_identical_results_give_p_of_one() -> None:
    """All passed on both sides, nothing passed, one attempt each: no error and no NaN."""
    for a, b in (([1.0] * 5, [1.0] * 5), ([0.0] * 5, [0.0] * 3), ([0.3], [0.3])):
        found = permutation(a, b)
        assert (0.0, 1.0, 1.0, 1.0) == (found.difference, found.p_value, found.p_greater, found.p_less)
    assert 1.0 == sign_flip([0.0, 0.0, 0.0])


def test_ties_in_floats_are_ties() -> None:
    """0.1 + 0.2 against 0.3 + 0.0: equal in decimals, unequal in floats."""
    found = permutation([0.1, 0.2], [0.3, 0.0])
    assert found.p_greater == pytest.approx(found.p_less, abs=1e-15)


def test_scores_beyond_enumeration_are_drawn_with_a_seed() -> None:
    """2 x 30 scores without a lattice: the same seed gives the same p-value, and it says how many draws it took."""
    scores = np.random.default_rng(5).random((2, 30)).tolist()
    one, same, other = (permutation(*scores, draws=3000, seed=seed) for seed in (1, 1, 2))
    assert not one.exact
    assert 3000 == one.draws
    assert one == same
    assert one.p_value != other.p_value
    assert one.p_value == pytest.approx(other.p_value, abs=0.08)


def test_many_attempts_on_a_lattice_stay_exact() -> None:
    """20 scenarios of 2 x 50 scores in hundredths; a Monte Carlo of the same agrees."""
    random = np.random.default_rng(8)
    several = [(random.integers(0, 101, 50) / 100, random.integers(4, 101, 50) / 100) for _ in range(20)]
    found = stratified_permutation(several)
    assert found.exact
    drawn = module._drawn_tails([(list(a), list(b)) for a, b in several], 4000, 1)
    assert found.p_greater == pytest.approx(drawn[0], abs=0.02)
    assert found.p_less == pytest.approx(drawn[1], abs=0.02)


def test_what_is_too_much_to_count_is_given_up_at_once() -> None:
    """A lattice too fine for a table of 2 x 50 attempts, and many scenarios whose sums hardly ever coincide."""
    random = np.random.default_rng(9)
    fine = [(random.integers(0, 1001, 50) / 1000, random.integers(0, 1001, 50) / 1000)]
    assert not stratified_permutation(fine).exact
    asked = []

    def parts():
        for number in range(40):
            asked.append(number)
            yield distribution.sum_of_subset(random.integers(0, 10**9, 20).tolist(), 10)

    assert distribution.tails_of_sum(parts(), 0, 0) is None
    assert 3 == len(asked), "the third cannot be added, so the other 37 are not counted out"


def test_passes_are_counted_exactly_whatever_the_numbers_of_attempts() -> None:
    """Attempts of 47 to 53 have no small common multiple."""
    strata = [(30, 47, 25, 49), (20, 53, 22, 51), (10, 50, 18, 48)]
    found = stratified_passes(strata)
    assert found.exact
    drawn = module._drawn_tails([([1] * a + [0] * (n - a), [1] * b + [0] * (m - b)) for a, n, b, m in strata], 20000, 1)
    assert (found.p_greater, found.p_less) == pytest.approx(drawn, abs=0.02)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9), st.data())
@settings(deadline=None, max_examples=60)
def test_the_sum_of_a_random_subset(items: list[int], data: st.DataObject) -> None:
    """All three ways to count are the same as listing the subsets."""
    size = data.draw(st.integers(1, len(items) - 1))
    sums = [sum(subset) for subset in combinations(items, size)]
    expected = {value: sums.count(value) / len(sums) for value in sums}
    found = distribution.sum_of_subset(items, size)
    assert found is not None
    assert expected == pytest.approx(dict(zip(found.values.tolist(), found.weights.tolist(), strict=True)), abs=1e-12)
    least = min(items)
    merged = distribution._by_merging([item - least for item in items], size)
    assert merged is not None
    shifted = dict(zip((merged.values + size * least).tolist(), (merged.weights / len(sums)).tolist(), strict=True))
    assert expected == pytest.approx(shifted, abs=1e-12)


def test_a_convolution_through_fourier_is_the_direct_one() -> None:
    """To rounding, at a size where the direct one is still quick."""
    random = np.random.default_rng(3)
    one, other = random.random(9000), random.random(9000)
    found = distribution._convolved(one, other)
    assert np.convolve(one[:50], other[:50])[:50] == pytest.approx(found[:50], rel=1e-9)
    assert float(one.sum() * other.sum()) == pytest.approx(float(found.sum()), rel=1e-12)
    parts = one / one.sum(), other / other.sum()
    assert np.abs(distribution._convolved(*parts) - np.convolve(*parts)).max() < 1e-16
    small = distribution._convolved(one[:1500], other[:5000])
    assert np.convolve(one[:1500], other[:5000]) == pytest.approx(small, rel=1e-12, abs=0)


def test_impossible_arguments_are_refused() -> None:
    """No scenario, an empty arm, NaN, more passes than attempts, no draws."""
    for several in ([], [([], [1.0])], [([1.0], [])], [([float("nan")], [1.0])], [([float("inf")], [1.0])]):
        with pytest.raises(ValueError, match=r"needs at least|finite"):
            stratified_permutation(several)
    with pytest.raises(ValueError, match="k_b must be at most"):
        stratified_passes([(1, 2, 3, 2)])
    with pytest.raises(ValueError, match="draws must be at least 1"):
        permutation([1.0], [0.0], draws=0)
    with pytest.raises(ValueError, match="needs at least 1"):
        sign_flip([])
