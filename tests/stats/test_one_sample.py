"""Intervals of one pass rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from crucible.stats import one_sample
from crucible.stats.interval import Interval, level_of, normal_quantile
from crucible.stats.unconditional import binomial_weights

METHODS = [one_sample.wilson, one_sample.clopper_pearson, one_sample.jeffreys, one_sample.bayes_laplace]
NAMES = dict(zip(["wilson", "clopper_pearson", "jeffreys_bcd", "beta11"], METHODS, strict=True))
Method = Callable[..., Interval]


@st.composite
def counts(draw: st.DrawFn, most: int = 200) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def limits(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


@pytest.mark.parametrize(
    ("method", "k", "n", "low", "high"),
    [
        (one_sample.wilson, 81, 263, 0.2553, 0.3662),
        (one_sample.wilson, 15, 148, 0.0624, 0.1605),
        (one_sample.wilson, 0, 20, 0.0, 0.1611),
        (one_sample.wilson, 1, 29, 0.0061, 0.1718),
        (one_sample.clopper_pearson, 81, 263, 0.2527, 0.3676),
        (one_sample.clopper_pearson, 15, 148, 0.0578, 0.1617),
        (one_sample.clopper_pearson, 0, 20, 0.0, 0.1684),
        (one_sample.clopper_pearson, 1, 29, 0.0009, 0.1776),
        (one_sample.bayes_laplace, 20, 20, 0.838902, 0.998795),
    ],
)
def test_published_limits(method: Method, k: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, methods 3 and 5, and Bowyer et al. 2025 to the digits they print."""
    assert [low, high] == pytest.approx(limits(method(k, n)), abs=5.1e-5)


def test_rule_of_three() -> None:
    """Nothing seen in n attempts bounds the rate exactly as Clopper-Pearson does, near 3/n."""
    for n, printed in ((10, 0.259), (30, 0.095), (100, 0.0295), (14, 0.193)):
        bound = one_sample.upper_bound_without_event(n)
        assert printed == pytest.approx(bound, abs=6e-4)
        assert one_sample.clopper_pearson_upper(0, n) == pytest.approx(bound, abs=1e-12)


def test_every_interval_of_the_oracle(oracle) -> None:
    """296 cases at 95 and 90 %, all four methods."""
    for case in oracle("intervals_one_sample")["cases"]:
        for name, method in NAMES.items():
            found = method(case["x"], case["n"], case["conf"])
            assert case[name] == pytest.approx(limits(found), abs=1e-9), (name, case)


def test_published_examples_of_the_oracle(published) -> None:
    """Newcombe's single proportions, Bowyer's notebook and the rule of three at full precision."""
    for name, example in published.items():
        given_ = example["inputs"]
        if name.startswith(("newcombe1998_wilson", "newcombe1998_clopper")):
            method = one_sample.wilson if "wilson" in name else one_sample.clopper_pearson
            found = limits(method(given_["x"], given_["n"], given_["conf"]))
        elif name == "bowyer_langchain_beta_intervals":
            found = [x for k in given_["successes"].values() for x in limits(one_sample.bayes_laplace(k, given_["n"]))]
        elif name == "rule_of_three":
            found = [one_sample.upper_bound_without_event(n) for n in given_["n"]]
        else:
            continue
        assert example["full_precision_expected"] == pytest.approx(found, abs=1e-9), name


def test_exact_coverage_of_the_oracle(oracle) -> None:
    """Mean and smallest coverage and mean width over 99 rates, to the four digits printed."""
    rates = np.linspace(0.01, 0.99, 99)
    names = {"wilson": "wilson", "clopper": "clopper_pearson", "jeffreys": "jeffreys_bcd", "beta11": "beta11"}
    for n, row in oracle("coverage_exact")["one_sample"].items():
        weights = binomial_weights(int(n), rates)
        for printed, name in names.items():
            found = np.array([limits(NAMES[name](k, int(n))) for k in range(int(n) + 1)])
            covered = (found[:, 0] <= rates[:, None]) & (rates[:, None] <= found[:, 1])
            coverage = (weights * covered).sum(axis=1)
            width = (weights @ (found[:, 1] - found[:, 0])).mean()
            assert list(row[printed].values()) == pytest.approx([coverage.mean(), coverage.min(), width], abs=5.1e-5)


@given(counts(), st.floats(0.5, 0.999))
@settings(deadline=None, max_examples=60)
def test_an_interval_contains_the_rate_and_lies_in_range(case: tuple[int, int], level: float) -> None:
    """All but Bayes-Laplace, whose limits are inside (0, 1) also when nothing or everything passed."""
    k, n = case
    for method in METHODS:
        found = method(k, n, level)
        assert 0 <= found.low < found.high <= 1
        assert method is one_sample.bayes_laplace or k / n in found
        assert level == found.level


@given(counts(), st.sampled_from(METHODS))
@settings(deadline=None, max_examples=60)
def test_passes_and_failures_mirror(case: tuple[int, int], method: Method) -> None:
    """The interval of the failures is one minus the interval of the passes."""
    k, n = case
    one, other = method(k, n), method(n - k, n)
    assert [1 - one.high, 1 - one.low] == pytest.approx(limits(other), abs=1e-14)


@given(counts(), st.sampled_from(METHODS))
@settings(deadline=None, max_examples=60)
def test_one_more_pass_raises_both_limits(case: tuple[int, int], method: Method) -> None:
    """Monotone in the passes, and wider at a higher level."""
    k, n = case
    if k < n:
        assert method(k, n).low <= method(k + 1, n).low
        assert method(k, n).high <= method(k + 1, n).high
    assert method(k, n, 0.9).width < method(k, n, 0.95).width


@given(counts(60), st.sampled_from(["wilson", "beta", "jeffreys"]))
@settings(deadline=None, max_examples=60)
def test_statsmodels_agrees(case: tuple[int, int], name: str) -> None:
    """A second opinion, except for Jeffreys at 0 and n of n, where statsmodels does not use Brown, Cai and DasGupta's ends."""
    k, n = case
    if name == "jeffreys" and k in (0, n):
        return
    method = {"wilson": one_sample.wilson, "beta": one_sample.clopper_pearson, "jeffreys": one_sample.jeffreys}[name]
    assert pytest.approx(proportion_confint(k, n, method=name), abs=1e-9) == tuple(limits(method(k, n)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("k", "n", "level"),
    [
        (3, 2, 0.95),
        (-1, 2, 0.95),
        (0, 0, 0.95),
        (1, 2, 0.0),
        (1, 2, 1.0),
        (1, 2, float("nan")),
        (1.0, 2, 0.95),
        (True, 2, 0.95),
    ],
)
def test_impossible_arguments_are_refused(method: Method, k: int, n: int, level: float) -> None:
    """More passes than attempts, no attempts, a level that is none, NaN, a float or a bool for a count."""
    with pytest.raises(ValueError, match="must be"):
        method(k, n, level)


@given(st.floats(0.01, 0.9999))
@settings(deadline=None, max_examples=60)
def test_a_level_and_its_quantile_are_inverse(level: float) -> None:
    """1.96 is 0.95 and back."""
    assert level == pytest.approx(level_of(normal_quantile(level)), abs=1e-12)
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054, abs=1e-12)
