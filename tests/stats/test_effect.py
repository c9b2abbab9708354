"""Effect sizes, ratios, and times with time-outs."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import CensoredData, logrank, mannwhitneyu
from statsmodels.duration.survfunc import SurvfuncRight

from crucible.stats import effect
from crucible.stats.across import paired_t
from crucible.stats.bayes import probability_better
from crucible.stats.censored import log_rank, restricted_mean, restricted_mean_difference
from crucible.stats.one_sample import bayes_laplace

COSTS = [0.42, 0.38, 0.55, 1.9, 0.47], [0.61, 0.72, 0.58, 0.95, 1.1]
scores = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=8)
times = st.lists(st.tuples(st.integers(1, 20).map(float), st.booleans()), min_size=1, max_size=6)


def split(arm: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [time for time, _ in arm], [done for _, done in arm]


def test_the_worked_example() -> None:
    """A costs 0.78 times B, 0.35 to 1.75; a success costs 0.744."""
    ratio = effect.ratio_of_geometric_means(*COSTS)
    assert ratio.interval is not None
    found = [ratio.ratio, ratio.interval.low, ratio.interval.high, ratio.p_value]
    assert [0.7830835193813305, 0.3505031503900396, 1.7495414738619615, 0.4762986667578598] == pytest.approx(
        found, abs=1e-12
    )
    assert -0.6 == pytest.approx(effect.cliffs_delta(*COSTS), abs=1e-15)
    assert -0.2 == pytest.approx(effect.hodges_lehmann(*COSTS), abs=1e-15)
    assert 0.744 == pytest.approx(effect.cost_per_success(COSTS[0], 5), abs=1e-15)


def test_the_worked_example_of_the_oracle(oracle) -> None:
    """The cost rows."""
    results = oracle("worked_example_8_scenarios")["results"]
    a, b = results["cost_inputs"]["A"], results["cost_inputs"]["B"]
    ratio = effect.ratio_of_geometric_means(a, b)
    assert ratio.interval is not None
    found = {
        "cost_ratio_geomean_A_over_B": ratio.ratio,
        "cost_log_welch_p": ratio.p_value,
        "cliffs_delta": effect.cliffs_delta(a, b),
        "hodges_lehmann_shift": effect.hodges_lehmann(a, b),
        "cost_per_success_A_scn_asd": effect.cost_per_success(a, 5),
    }
    assert {name: results[name]["value"] for name in found} == pytest.approx(found, abs=1e-9)
    limits = [ratio.interval.low, ratio.interval.high]
    assert results["cost_ratio_ci95_welch_log"]["value"] == pytest.approx(limits, abs=1e-9)


@given(scores, scores)
@settings(deadline=None, max_examples=60)
def test_effects_mirror_and_lie_in_range(a: list[float], b: list[float]) -> None:
    """Cliff's delta in [-1, 1] and P(A > B) are what Mann and Whitney's U says; all turn with the arms."""
    delta = effect.cliffs_delta(a, b)
    assert -1 <= delta <= 1
    assert delta == -effect.cliffs_delta(b, a)
    assert 1.0 == pytest.approx(effect.probability_higher(a, b) + effect.probability_higher(b, a))
    assert effect.hodges_lehmann(a, b) == pytest.approx(-effect.hodges_lehmann(b, a))
    u = mannwhitneyu(a, b, method="asymptotic").statistic if len({*a, *b}) > 1 else len(a) * len(b) / 2
    assert 2 * u / (len(a) * len(b)) - 1 == pytest.approx(delta, abs=1e-12)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=6), st.floats(0.1, 10))
@settings(deadline=None, max_examples=60)
def test_a_ratio_is_free_of_the_currency(costs: list[float], factor: float) -> None:
    """The ratio of scaled costs to themselves is the scale; its inverse the other way round."""
    scaled = [cost * factor for cost in costs]
    there, back = effect.ratio_of_geometric_means(scaled, costs), effect.ratio_of_geometric_means(costs, scaled)
    assert factor == pytest.approx(there.ratio, rel=1e-9)
    assert 1 / factor == pytest.approx(back.ratio, rel=1e-9)
    if there.interval is not None and back.interval is not None:
        assert (1 / there.interval.high, 1 / there.interval.low) == pytest.approx(
            (back.interval.low, back.interval.high), rel=1e-6
        )


def test_a_ratio_over_scenarios_is_a_t_on_mean_logs() -> None:
    """Twice as dear in each of three scenarios, a little more or less."""
    logs = [effect.mean_log_ratio([2.0 * x, 2.0], [1.0, 1.0]) for x in (0.9, 1.0, 1.1)]
    over = effect.as_ratio(paired_t(logs))
    assert over.interval is not None
    assert exp(sum(logs) / 3) == pytest.approx(over.ratio)
    assert 2.0 in over.interval
    assert log(over.interval.low) < log(over.ratio) < log(over.interval.high)


def test_what_cannot_be_said_is_none_with_a_reason() -> None:
    """One attempt, or costs all alike: a ratio, no interval. No success: no cost per success."""
    single = effect.ratio_of_geometric_means([1.0], [2.0, 3.0])
    assert (None, None) == (single.interval, single.p_value)
    assert "one attempt" in str(single.why_not)
    assert "no spread" in str(effect.ratio_of_geometric_means([1.0, 1.0], [2.0, 2.0]).why_not)
    assert effect.cost_per_success([1.0, 2.0], 0) is None


def test_impossible_values_are_refused() -> None:
    """A cost of 0 has no logarithm; more passes than attempts; an empty arm; NaN."""
    with pytest.raises(ValueError, match="a must be above 0"):
        effect.ratio_of_geometric_means([0.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="k must be at most"):
        effect.cost_per_success([1.0], 2)
    with pytest.raises(ValueError, match="at least one value"):
        effect.mean_log_ratio([], [1.0])
    for call in (effect.cliffs_delta, effect.hodges_lehmann, effect.ratio_of_geometric_means):
        with pytest.raises(ValueError, match=r"at least 1|at least one|needs at least"):
            call([], [1.0])
        with pytest.raises(ValueError, match="finite"):
            call([float("nan")], [1.0])


def test_posterior_probabilities(oracle, published) -> None:
    """Bowyer's six pairs by a closed form, and P(old worse) of 22 comparisons by Jeffreys' prior."""
    example = published["bowyer_langchain_pairwise_prob"]
    found = [probability_better(a, 20, b, 20) for *_, a, b in example["inputs"]["pairs"]]
    assert example["full_precision_expected"] == pytest.approx(found, abs=1e-9)
    for case in oracle("old_vs_new_exact")["comparisons"]:
        old_new = case["old_fail"], case["old_n"], case["new_fail"], case["new_n"]
        assert case["jeffreys_P_old_worse"] == pytest.approx(probability_better(*old_new, "jeffreys"), abs=1e-9)


@given(st.integers(1, 400), st.integers(1, 400), st.data())
@settings(deadline=None, max_examples=40)
def test_posterior_probabilities_sum_to_one(n_a: int, n_b: int, data: st.DataObject) -> None:
    """For both priors; equal data give a half."""
    k_a, k_b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    for prior in ("uniform", "jeffreys"):
        there, back = probability_better(k_a, n_a, k_b, n_b, prior), probability_better(k_b, n_b, k_a, n_a, prior)
        assert 1.0 == pytest.approx(there + back, abs=1e-10)
        assert 0.5 == pytest.approx(probability_better(k_a, n_a, k_a, n_a, prior), abs=1e-10)


def test_uniform_posterior_against_nothing() -> None:
    """P(rate > another uniform rate) is the posterior mean: (k + 1) / (n + 2), with the other's Beta(1, 1) from no data
    replaced by its closed form at one failure: 1 - E[(1 - x)^2]."""
    k, n = 3, 7
    squared = (n - k + 1) * (n - k + 2) / ((n + 2) * (n + 3))
    assert 1 - squared == pytest.approx(probability_better(k, n, 0, 1), abs=1e-12)
    assert bayes_laplace(k, n).low < (k + 1) / (n + 2) < bayes_laplace(k, n).high


def test_time_outs_count_as_the_time_limit() -> None:
    """When all are stopped at the limit, the restricted mean is the plain mean of the times."""
    arm = [10.0, 20.0, 60.0, 60.0], [True, True, False, False]
    assert 37.5 == pytest.approx(restricted_mean(*arm, 60.0).mean)
    assert 30 == pytest.approx(restricted_mean([60.0], [False], 30.0).mean)
    difference = restricted_mean_difference(arm, ([30.0, 30.0], [True, True]), 60.0)
    assert 7.5 == pytest.approx((difference.low + difference.high) / 2)


@given(times)
@settings(deadline=None, max_examples=60)
def test_the_restricted_mean_is_the_area_under_statsmodels_curve(arm: list[tuple[float, bool]]) -> None:
    """With time-outs anywhere, up to the longest time."""
    when, done = split(arm)
    horizon = max(when)
    curve = SurvfuncRight(np.array(when), np.array(done, dtype=int)) if any(done) else None
    edges = [0.0, *([] if curve is None else [t for t in curve.surv_times if t < horizon]), horizon]
    heights = [
        1.0,
        *([] if curve is None else [s for t, s in zip(curve.surv_times, curve.surv_prob, strict=True) if t < horizon]),
    ]
    area = sum(h * (right - left) for h, left, right in zip(heights, edges, edges[1:], strict=False))
    found = restricted_mean(when, done, horizon)
    assert area == pytest.approx(found.mean, abs=1e-9)
    assert 0 <= found.mean <= horizon


def test_the_spread_of_a_restricted_mean_without_time_outs() -> None:
    """Greenwood's formula is then the variance of the mean, with n in the place of n - 1."""
    when = [3.0, 8.0, 11.0, 20.0, 21.0]
    found = restricted_mean(when, [True] * 5, 21.0)
    assert float(np.std(when) / np.sqrt(5)) == pytest.approx(found.se, abs=1e-12)


def test_log_rank_is_exact_and_agrees_with_the_large_sample_test() -> None:
    """25 per arm, a third stopped: near SciPy's normal p-value. A difference that finishes sooner is greater."""
    random = np.random.default_rng(2)
    a, b = random.exponential(20, 25), random.exponential(45, 25)
    arms = [(np.minimum(x, 40).tolist(), (x < 40).tolist()) for x in (a, b)]
    found = log_rank(*arms)
    censored = [CensoredData(uncensored=x[x < 40], right=np.full((x >= 40).sum(), 40.0)) for x in (a, b)]
    assert logrank(*censored).pvalue == pytest.approx(found.p_value, abs=0.01)
    assert found.p_greater < found.p_less


def test_all_finished_against_all_stopped_is_the_rarest_deal() -> None:
    """4 of 4 finish, 4 of 4 time out: one of 70 deals."""
    found = log_rank(([1.0, 2.0, 3.0, 4.0], [True] * 4), ([9.0] * 4, [False] * 4))
    assert found.exact
    assert 1 / 70 == pytest.approx(found.p_greater, abs=1e-12)
    nobody = log_rank(([9.0] * 4, [False] * 4), ([9.0] * 4, [False] * 4))
    assert 1.0 == nobody.p_value


@given(times, times)
@settings(deadline=None, max_examples=40)
def test_log_rank_mirrors(a: list[tuple[float, bool]], b: list[tuple[float, bool]]) -> None:
    """Swapping the arms swaps the tails."""
    one, other = log_rank(split(a), split(b)), log_rank(split(b), split(a))
    if one.exact:
        assert (one.p_greater, one.p_less) == pytest.approx((other.p_less, other.p_greater), abs=1e-9)
    assert 0 < one.p_value <= 1


def test_impossible_times_are_refused() -> None:
    """No data, times of 0, lists that do not match, a horizon where nobody was watched any more."""
    with pytest.raises(ValueError, match="beyond the data"):
        restricted_mean([5.0, 9.0], [True, False], 10.0)
    assert 7.0 == pytest.approx(restricted_mean([5.0, 9.0], [True, True], 10.0).mean)
    with pytest.raises(ValueError, match="a time must be above 0"):
        restricted_mean([0.0], [True], 1.0)
    with pytest.raises(ValueError, match="equally long"):
        restricted_mean([1.0], [True, False], 1.0)
    with pytest.raises(ValueError, match="at least one time"):
        log_rank(([], []), ([1.0], [True]))
