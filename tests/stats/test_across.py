"""Differences over several scenarios, their heterogeneity, and the common odds ratio."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.meta_analysis import combine_effects

from crucible.stats.across import clustered_se, mean_rate, mover, paired_t, welch_over_scenarios
from crucible.stats.heterogeneity import dersimonian_laird
from crucible.stats.one_sample import wilson
from crucible.stats.permutation import stratified_passes
from crucible.stats.stratified import mantel_haenszel
from crucible.stats.two_sample import miettinen_nurminen

PASSES = [(5, 2), (4, 4), (3, 1), (2, 0), (5, 4), (4, 1), (5, 5), (1, 2)]
DIFFERENCES = [(a - b) / 5 for a, b in PASSES]
STRATA = [(a, 5, b, 5) for a, b in PASSES]
values = st.floats(-100, 100).map(lambda x: round(x, 3))


@st.composite
def strata(draw: st.DrawFn, least: int = 1) -> list[tuple[int, int, int, int]]:
    found = []
    for _ in range(draw(st.integers(1, 8))):
        n_a, n_b = draw(st.integers(least, 8)), draw(st.integers(least, 8))
        found.append((draw(st.integers(0, n_a)), n_a, draw(st.integers(0, n_b)), n_b))
    return found


def test_eight_scenarios() -> None:
    """The worked example: a mean of 25 points, 0 to 50 on scenarios like these, 5 to 40 on these."""
    found = paired_t(DIFFERENCES)
    assert found.interval is not None
    assert 0.25 == pytest.approx(found.mean, abs=1e-15)
    assert 0.049173714204803425 == pytest.approx(found.p_value, abs=1e-12)
    assert (0.0011922117463802, 0.4988077882536198) == pytest.approx(
        (found.interval.low, found.interval.high), abs=1e-12
    )
    these = mover(STRATA)
    assert (0.0538382889, 0.4022671051) == pytest.approx((these.low, these.high), abs=1e-9)


def test_the_worked_example_of_the_oracle(oracle) -> None:
    """All statistics over the eight scenarios."""
    data = oracle("worked_example_8_scenarios")
    results = data["results"]
    pairs = list(zip(data["passes_A"], data["passes_B"], strict=True))
    differences, tables = [(a - b) / 5 for a, b in pairs], [(a, 5, b, 5) for a, b in pairs]
    like_these, these, common = paired_t(differences), mover(tables), mantel_haenszel(tables)
    assert like_these.interval is not None
    rates = [sum(k for k, _ in pairs) / 40, sum(k for _, k in pairs) / 40]
    found = {
        "mean_diff": like_these.mean,
        "paired_t_se": like_these.se,
        "paired_t_p": like_these.p_value,
        "cluster_robust_se_CR0": clustered_se(differences, range(8)),
        "naive_pooled_se": sqrt(sum(p * (1 - p) / 40 for p in rates)),
        "cmh_chi2": common.chi_square,
        "cmh_p": common.p_value,
        "mantel_haenszel_or": common.odds_ratio,
    }
    assert {name: results[name]["value"] for name in found} == pytest.approx(found, abs=1e-9)
    limits = like_these.interval.low, like_these.interval.high
    assert results["paired_t_ci95"]["value"] == pytest.approx(list(limits), abs=1e-9)
    name = "mover_miettinen_nurminen_ci95_these_scenarios"
    assert results[name]["value"] == pytest.approx([these.low, these.high], abs=1e-9)


def test_published_examples_of_the_oracle(published) -> None:
    """Miller's clustered standard error and paired intervals; Agresti's eight centres."""
    example = published["miller_clustered_se_formula"]
    found = clustered_se(example["inputs"]["y"], example["inputs"]["cluster"])
    assert example["full_precision_expected"][0] == pytest.approx(found, abs=1e-9)
    example = published["cmh_agresti_8_centers"]
    tables = [(first[0], sum(first), second[0], sum(second)) for first, second in example["inputs"]["tables"]]
    common = mantel_haenszel(tables)
    found_three = [common.chi_square, common.p_value, common.odds_ratio]
    assert example["full_precision_expected"] == pytest.approx(found_three, abs=1e-9)


@given(st.lists(values, min_size=2, max_size=20), st.floats(0.5, 0.99))
@settings(deadline=None, max_examples=60)
def test_paired_t_is_scipys(differences: list[float], level: float) -> None:
    """Wherever there is a spread at all."""
    found = paired_t(differences, level)
    if found.interval is None:
        assert len(set(differences)) == 1
        return
    theirs = ttest_1samp(differences, 0)
    assert theirs.pvalue == pytest.approx(found.p_value, abs=1e-9)
    limits = theirs.confidence_interval(level)
    assert (limits.low, limits.high) == pytest.approx((found.interval.low, found.interval.high), abs=1e-7)
    assert found.mean in found.interval


def test_no_spread_no_interval() -> None:
    """One scenario, or several that all differ alike, up to rounding: no number is made up, and the reason is given."""
    assert "one scenario" in str(paired_t([0.2]).why_not)
    for differences in ([0.2, 0.2, 0.2], [0.1 + 0.2, 0.3, 0.3], [0.0, 0.0]):
        found = paired_t(differences)
        assert (None, None, None) == (found.interval, found.p_value, found.se)
        assert "the same difference" in str(found.why_not)


@given(st.lists(values, min_size=2, max_size=9), st.lists(values, min_size=2, max_size=9))
@settings(deadline=None, max_examples=60)
def test_one_scenario_of_scores_is_welch(a: list[float], b: list[float]) -> None:
    """SciPy's Welch test and interval; SciPy warns of an arm without spread, which is none of our concern."""
    found = welch_over_scenarios([(a, b)])
    assert (found.interval is None) == (len(set(a)) == len(set(b)) == 1)
    if found.interval is None or min(len(set(a)), len(set(b))) == 1:
        return
    theirs = ttest_ind(a, b, equal_var=False)
    assert theirs.pvalue == pytest.approx(found.p_value, abs=1e-9)
    limits = theirs.confidence_interval(0.95)
    assert (limits.low, limits.high) == pytest.approx((found.interval.low, found.interval.high), rel=1e-9, abs=1e-9)


def test_scores_over_scenarios() -> None:
    """Three scenarios: the mean of the differences; variances add; all spreads equal gives all degrees of freedom."""
    shape = [0.0, 1.0, 2.0]
    found = welch_over_scenarios([([x + shift for x in shape], shape) for shift in (1.0, 2.0, 6.0)])
    assert 3.0 == pytest.approx(found.mean)
    assert sqrt(3 * (1 / 3 + 1 / 3)) / 3 == pytest.approx(found.se)
    assert 12 == pytest.approx(found.df)
    assert "one attempt" in str(welch_over_scenarios([([1.0], [1.0, 2.0])]).why_not)
    assert "no spread" in str(welch_over_scenarios([([1.0, 1.0], [0.3, 0.3])]).why_not)


@given(strata())
@settings(deadline=None, max_examples=50)
def test_mover_contains_the_mean_and_mirrors(several: list[tuple[int, int, int, int]]) -> None:
    """In [-1, 1]; swapping the arms turns its sign; with one scenario it is Miettinen-Nurminen."""
    found, swapped = mover(several), mover([(k_b, n_b, k_a, n_a) for k_a, n_a, k_b, n_b in several])
    mean = sum(k_a / n_a - k_b / n_b for k_a, n_a, k_b, n_b in several) / len(several)
    assert -1 <= found.low <= mean <= found.high <= 1
    assert found.low < found.high
    assert (-found.high, -found.low) == pytest.approx((swapped.low, swapped.high), abs=1e-12)
    alone = miettinen_nurminen(*several[0])
    assert (alone.low, alone.high) == pytest.approx((mover(several[:1]).low, mover(several[:1]).high), abs=1e-12)


@given(strata(2))
@settings(deadline=None, max_examples=50)
def test_mantel_haenszel_is_statsmodels(several: list[tuple[int, int, int, int]]) -> None:
    """Where anything is informative; a scenario without news changes nothing."""
    found = mantel_haenszel(several)
    assert found == approx_same(mantel_haenszel([*several, (3, 3, 4, 4)]))
    tables = [np.array([[k_a, n_a - k_a], [k_b, n_b - k_b]]) for k_a, n_a, k_b, n_b in several]
    informative = [table for table in tables if table.sum(axis=0).min() > 0]
    if not informative:
        assert (0.0, 1.0) == (found.z, found.p_value)
        return
    theirs = StratifiedTable(informative)
    assert theirs.test_null_odds(correction=False).statistic == pytest.approx(found.chi_square, abs=1e-9)
    if found.odds_ratio is not None:
        assert theirs.oddsratio_pooled == pytest.approx(found.odds_ratio, abs=1e-9)


def approx_same(expected):
    """All four fields within rounding."""
    return type(expected)(
        pytest.approx(expected.z, abs=1e-12),
        pytest.approx(expected.chi_square, abs=1e-12),
        pytest.approx(expected.p_value, abs=1e-12),
        expected.odds_ratio if expected.odds_ratio is None else pytest.approx(expected.odds_ratio, abs=1e-12),
    )


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=2, max_size=8))
@settings(deadline=None, max_examples=60)
def test_dersimonian_laird_is_statsmodels(effects: list[tuple[float, float]]) -> None:
    """Between-scenario variance, Q, mean and interval; shrunken effects lie between their own and the mean.

    statsmodels divides by zero where the scenarios agree: compared only where they do not.
    """
    own, variances = [e for e, _ in effects], [v for _, v in effects]
    found = dersimonian_laird(own, variances)
    if found.between > 1e-6:
        theirs = combine_effects(np.array(own), np.array(variances), method_re="dl")
        assert (theirs.tau2, theirs.q) == pytest.approx((found.between, found.q), abs=1e-9)
        assert theirs.mean_effect_re == pytest.approx(found.mean, abs=1e-9)
        assert theirs.sd_eff_w_re == pytest.approx(found.interval.width / 2 / 1.959963984540054, abs=1e-9)
    assert 0 <= found.share <= 1
    for effect, shrunk in zip(own, found.shrunken, strict=True):
        assert min(effect, found.mean) - 1e-12 <= shrunk <= max(effect, found.mean) + 1e-12


def test_agreeing_scenarios_are_shrunk_to_one_effect() -> None:
    """No visible heterogeneity: every scenario is given the mean."""
    found = dersimonian_laird([0.1, 0.2, 0.15], [0.05, 0.05, 0.05])
    assert (0.0, 0.0) == (found.between, found.share)
    assert (0.15, 0.15, 0.15) == pytest.approx(found.shrunken)


def test_impossible_arguments_are_refused() -> None:
    """Nothing given, NaN, lists that do not match, variances of 0."""
    with pytest.raises(ValueError, match="at least one scenario"):
        mover([])
    with pytest.raises(ValueError, match="at least one scenario"):
        welch_over_scenarios([])
    with pytest.raises(ValueError, match="at least one scenario"):
        mantel_haenszel([])
    with pytest.raises(ValueError, match="finite"):
        paired_t([0.1, float("nan")])
    with pytest.raises(ValueError, match="level must be"):
        paired_t([0.1, 0.2], 95)
    with pytest.raises(ValueError, match="equally long"):
        clustered_se([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="a variance must be above 0"):
        dersimonian_laird([0.1, 0.2], [0.1, 0.0])


def bernoulli(random: np.random.Generator, scenarios: int, attempts: int, effect: float, spread: float) -> list:
    """Strata of a simulated comparison: difficulty logit N(.3, 1.5), effect logit N(effect, spread)."""
    base = random.normal(0.3, 1.5, scenarios)
    rate_a = 1 / (1 + np.exp(-(base + random.normal(effect, spread, scenarios))))
    rate_b = 1 / (1 + np.exp(-base))
    counts = zip(random.binomial(attempts, rate_a), random.binomial(attempts, rate_b), strict=True)
    return [(int(a), attempts, int(b), attempts) for a, b in counts], float((rate_a - rate_b).mean())


def near(printed: float, found: float, ours: int, theirs: int) -> bool:
    """Two simulated shares within four standard errors of their difference."""
    share = min(0.98, max(0.02, printed))
    return abs(printed - found) <= 4 * sqrt(share * (1 - share) * (1 / ours + 1 / theirs))


@pytest.mark.slow
@pytest.mark.parametrize(("scenarios", "setting"), [(8, "sharp null"), (8, "heterogeneous null tau=1 logit")])
def test_false_alarms_as_in_the_oracles_simulation(oracle, scenarios: int, setting: str) -> None:
    """400 runs of 8 x 10: paired t keeps 5 % in both; the stratified test does only when the scenarios agree."""
    rows = oracle("cluster_simulation")["results"]
    row = next(r for r in rows if (r["S"], r["K"], r["setting"]) == (scenarios, 10, setting))
    random, t, exact = np.random.default_rng(20260701), 0, 0
    for _ in range(400):
        several, _ = bernoulli(random, scenarios, 10, 0.0, 0.0 if setting == "sharp null" else 1.0)
        p_value = paired_t([(a - b) / 10 for a, _, b, _ in several]).p_value
        t += p_value is not None and p_value <= 0.05
        exact += stratified_passes(several).p_value <= 0.05
    assert near(row["reject"]["paired_t"], t / 400, 400, 800)
    assert near(row["reject"]["strat_exact_perm"], exact / 400, 400, 800)


def test_mover_coverage_as_in_the_oracles_simulation(oracle) -> None:
    """300 runs each of two sizes, for the difference on these scenarios."""
    for scenarios, attempts in ((1, 5), (8, 5)):
        rows = oracle("fixed_set_interval_simulation")["rows"]
        row = next(r for r in rows if (r["S"], r["K"]) == (scenarios, attempts))
        random, covered = np.random.default_rng(7), 0
        for _ in range(300):
            several, truth = bernoulli(random, scenarios, attempts, 1.0, 0.5)
            covered += truth in mover(several)
        assert near(row["mover_MN"]["cov"], covered / 300, 300, 4000)


@settings(deadline=None)
@given(st.lists(st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=6))
def test_the_interval_of_a_mean_rate_holds_it_and_mirrors(counts: list[tuple[int, int]]) -> None:
    """Within [0, 1], never without width, and turned round when passes and failures change places."""
    found = mean_rate(counts)
    assert 0 <= found.low <= sum(k / n for k, n in counts) / len(counts) + 1e-12
    assert sum(k / n for k, n in counts) / len(counts) - 1e-12 <= found.high <= 1
    assert found.low < found.high
    turned = mean_rate([(n - k, n) for k, n in counts])
    assert (found.low, found.high) == pytest.approx((1 - turned.high, 1 - turned.low), abs=1e-12)


def test_the_interval_of_the_rate_on_one_scenario_is_wilsons() -> None:
    assert (wilson(7, 10).low, wilson(7, 10).high) == (mean_rate([(7, 10)]).low, mean_rate([(7, 10)]).high)
    with pytest.raises(ValueError, match="at least one scenario"):
        mean_rate([])


@pytest.mark.parametrize(
    ("scenarios", "attempts", "rates"),
    [(8, 1, (0.3,)), (20, 2, (0.9,)), (20, 10, (0.9,)), (8, 5, (0.1, 0.9, 0.5, 0.7)), (4, 30, (0.0, 1.0, 1.0, 0.5))],
)
def test_the_interval_of_a_mean_rate_covers_it(scenarios: int, attempts: int, rates: tuple[float, ...]) -> None:
    """At least 0.92 of 2000 experiments, where the limits joined by MOVER cover 0.75 to 0.92 of the first three."""
    true = np.resize(rates, scenarios)
    made = np.random.default_rng(11).binomial(attempts, true, size=(2000, scenarios))
    held = [true.mean() in mean_rate([(int(k), attempts) for k in one]) for one in made]
    assert sum(held) / len(held) >= 0.92
