"""Correcting for an imperfect judge, and agreement between raters."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from crucible.stats import agreement
from crucible.stats import judge_correction as judge
from crucible.stats.judge_correction import Labels

ALPHA = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
ICC = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
square = st.integers(2, 4).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 9), min_size=size, max_size=size), min_size=size, max_size=size)
)


def test_published_agreement() -> None:
    """Krippendorff 2011, Shrout and Fleiss 1979, and the pair of tables with equal agreement and unequal kappa."""
    found = [agreement.krippendorff_alpha(ALPHA, scale) for scale in ("nominal", "ordinal", "interval", "ratio")]
    assert [0.743, 0.815, 0.849, 0.797] == pytest.approx(found, abs=6e-4)
    icc = agreement.intraclass(ICC)
    assert icc is not None
    assert (0.29, 0.62) == pytest.approx((icc.single, icc.average), abs=6e-3)
    for table, kappa in (([[45, 15], [25, 15]], 0.1304), ([[25, 35], [5, 35]], 0.2593)):
        assert kappa == pytest.approx(agreement.cohen_kappa(table).kappa, abs=6e-5)
        assert 0.6 == pytest.approx(agreement.cohen_kappa(table).observed)


def test_agreement_of_the_oracle(published) -> None:
    """At full precision."""
    example = published["cohen_kappa_paradox"]
    found = [agreement.cohen_kappa(table).kappa for table in example["inputs"]["tables"]]
    assert example["full_precision_expected"] == pytest.approx(found, abs=1e-9)
    example = published["fleiss_kappa_wikipedia"]
    assert example["full_precision_expected"][0] == pytest.approx(
        agreement.fleiss_kappa(example["inputs"]["counts"]), abs=1e-9
    )
    example = published["krippendorff_2011"]
    ratings = example["inputs"]["reliability_data"]
    found = [agreement.krippendorff_alpha(ratings, scale) for scale in ("nominal", "ordinal", "interval", "ratio")]
    assert example["full_precision_expected"] == pytest.approx(found, abs=1e-9)
    example = published["icc_shrout_fleiss_1979"]
    icc = agreement.intraclass(example["inputs"]["ratings"])
    assert [example["full_precision_expected"][i] for i in (1, 4)] == pytest.approx([icc.single, icc.average], abs=1e-9)


@given(square, st.sampled_from(["none", "linear", "quadratic"]))
@settings(deadline=None, max_examples=80)
def test_kappa_is_statsmodels(table: list[list[int]], weights: agreement.Weights) -> None:
    """With its standard error; swapping the raters changes nothing."""
    if sum(map(sum, table)) == 0 or (found := agreement.cohen_kappa(table, weights)) is None:
        return
    wt = {"none": None, "linear": "linear", "quadratic": "quadratic"}[weights]
    with np.errstate(all="ignore"):  # its z divides by 0 where a margin is empty
        theirs = cohens_kappa(np.array(table), wt=wt)
    assert theirs.kappa == pytest.approx(found.kappa, abs=1e-9)
    assert sqrt(max(0.0, theirs.var_kappa)) == pytest.approx(found.se, abs=1e-6)
    assert -1 <= found.interval.low <= found.kappa <= found.interval.high <= 1
    turned = agreement.cohen_kappa([list(row) for row in zip(*table, strict=True)], weights)
    assert found.kappa == pytest.approx(turned.kappa, abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=2, max_size=8))
@settings(deadline=None, max_examples=60)
def test_fleiss_and_krippendorff(items: list[list[int]]) -> None:
    """Fleiss as statsmodels has it; alpha without gaps is its small-sample twin, 1 - (1 - kappa)(N - 1) / N."""
    counts = [[ratings.count(category) for category in range(3)] for ratings in items]
    kappa = agreement.fleiss_kappa(counts)
    alpha = agreement.krippendorff_alpha([list(rater) for rater in zip(*items, strict=True)])
    assert (kappa is None) == (alpha is None)
    if kappa is not None and alpha is not None:
        assert fleiss_kappa(np.array(counts)) == pytest.approx(kappa, abs=1e-9)
        total = 5 * len(items)
        assert 1 - (1 - kappa) * (total - 1) / total == pytest.approx(alpha, abs=1e-9)


def test_perfect_agreement_is_one_and_no_variation_is_none() -> None:
    """All ratings alike say nothing about agreement."""
    assert 1.0 == agreement.cohen_kappa([[5, 0], [0, 7]]).kappa
    assert 1.0 == agreement.fleiss_kappa([[3, 0], [0, 3]])
    assert 1.0 == agreement.krippendorff_alpha([[1, 2, 3], [1, 2, 3]], "interval")
    assert 1.0 == agreement.intraclass([[1, 1], [4, 4], [2, 2]]).single
    assert agreement.cohen_kappa([[5, 0], [0, 0]]) is None
    assert agreement.fleiss_kappa([[3, 0], [3, 0]]) is None
    assert agreement.krippendorff_alpha([[1, 1], [1, 1]]) is None
    assert agreement.krippendorff_alpha([[1, None], [None, 2]]) is None
    assert agreement.intraclass([[2, 2], [2, 2]]) is None


def test_impossible_ratings_are_refused() -> None:
    """Tables that are no tables, unequal raters, NaN."""
    with pytest.raises(ValueError, match="square"):
        agreement.cohen_kappa([[1, 2]])
    with pytest.raises(ValueError, match="at least one item"):
        agreement.cohen_kappa([[0, 0], [0, 0]])
    with pytest.raises(ValueError, match="same number of raters"):
        agreement.fleiss_kappa([[2, 1], [2, 2]])
    with pytest.raises(ValueError, match="finite"):
        agreement.krippendorff_alpha([[1.0, float("nan")], [1.0, 2.0]])
    with pytest.raises(ValueError, match="no negative ratings"):
        agreement.krippendorff_alpha([[-1.0, 2.0], [1.0, 2.0]], "ratio")
    with pytest.raises(ValueError, match="at least 2 items"):
        agreement.intraclass([[1.0, 2.0]])


def test_corrections_of_the_oracle(oracle) -> None:
    """60 intervals, attenuation, and the best number of repeats."""
    data = oracle("judge_correction")
    for case in data["corrected_ci"]:
        labels = Labels(case["q1"], case["m_per_class"], case["q0"], case["m_per_class"])
        found = judge.corrected_interval(case["observed"], case["n"], labels)
        assert case["ci"] == pytest.approx([found.low, found.high], abs=1e-9)
        assert case["width"] == pytest.approx(found.width, abs=1e-9)
        assert case["true"] == pytest.approx(judge.corrected_rate(case["observed"], case["q1"], case["q0"]), abs=1e-9)
    for case in data["attenuation"]:
        assert case["observed_diff"] == pytest.approx(
            judge.attenuated(case["true_diff"], case["q1"], case["q0"]), abs=1e-9
        )
        assert case["sample_inflation"] == pytest.approx(judge.sample_inflation(case["q1"], case["q0"]), abs=5.1e-3)
    for case in data["optimal_repeats"]:
        names = ("cost_attempt", "cost_judge", "sd_attempt", "sd_judge")
        assert case["m_star"] == pytest.approx(judge.best_repeats(*(case[name] for name in names)), abs=5.1e-3)


@given(st.floats(0, 1), st.floats(0.5, 1), st.floats(0.51, 1))
@settings(deadline=None, max_examples=60)
def test_correction_undoes_the_judge(true: float, sensitivity: float, specificity: float) -> None:
    """A judged rate made from a true one leads back to it; a perfect judge needs no correction."""
    judged = true * sensitivity + (1 - true) * (1 - specificity)
    assert true == pytest.approx(judge.corrected_rate(judged, sensitivity, specificity), abs=1e-9)
    assert true == pytest.approx(judge.corrected_rate(true, 1.0, 1.0))
    assert 1 <= judge.sample_inflation(sensitivity, specificity)


def test_a_judge_no_better_than_chance_is_refused() -> None:
    """TPR + TNR of 1 or less; also when the counts only look better by a smoothing pseudo-count."""
    with pytest.raises(ValueError, match="no better than chance"):
        judge.corrected_rate(0.5, 0.6, 0.4)
    with pytest.raises(ValueError, match="no better than chance"):
        judge.corrected_interval(0.5, 30, Labels.from_counts(25, 50, 25, 50))
    with pytest.raises(ValueError, match=r"k \(passing\) must be at most"):
        Labels.from_counts(51, 50, 25, 50)
    with pytest.raises(ValueError, match="judged_rate must be"):
        judge.corrected_interval(1.2, 30, Labels.from_counts(45, 50, 45, 50))


def test_coverage_as_in_the_oracles_simulation(oracle) -> None:
    """500 runs with labels and attempts both drawn: within four standard errors of the 95 % printed."""
    random = np.random.default_rng(4)
    for row in oracle("judgy_coverage")["rows"]:
        m, n, q0, q1, true = row["m_per_class"], row["n_attempts"], row["q0"], row["q1"], row["true"]
        covered = 0
        for _ in range(500):
            labels = Labels.from_counts(int(random.binomial(m, q1)), m, int(random.binomial(m, q0)), m)
            judged = random.binomial(n, true * q1 + (1 - true) * (1 - q0)) / n
            covered += true in judge.corrected_interval(judged, n, labels)
        assert abs(row["coverage_lee"] - covered / 500) <= 4 * sqrt(0.05 * 0.95 * (1 / 500 + 1 / 600))
