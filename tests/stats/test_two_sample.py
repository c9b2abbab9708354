"""Intervals of the difference of two pass rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from crucible.stats import two_sample
from crucible.stats.interval import Interval
from crucible.stats.unconditional import binomial_weights

Table = tuple[int, int, int, int]
NAMES = {
    "newcombe": two_sample.newcombe,
    "miettinen_nurminen": two_sample.miettinen_nurminen,
    "agresti_caffo": two_sample.agresti_caffo,
}
EXACT_ENDS = [two_sample.newcombe, two_sample.miettinen_nurminen]


@st.composite
def tables(draw: st.DrawFn, most: int = 60) -> Table:
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, n_a)), n_a, draw(st.integers(0, n_b)), n_b


def limits(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def test_published_limits() -> None:
    """Newcombe 1998, table II, methods 10 and 6; 56/70 against 48/80 is where statsmodels' score interval is wrong."""
    assert [0.0528, 0.3382] == pytest.approx(limits(two_sample.miettinen_nurminen(56, 70, 48, 80)), abs=1.1e-4)
    assert [0.7156, 1.0] == pytest.approx(limits(two_sample.miettinen_nurminen(10, 10, 0, 20)), abs=1.1e-4)
    assert [-0.0381, 0.1926] == pytest.approx(limits(two_sample.newcombe(5, 56, 0, 29)), abs=6e-5)
    assert [0.0582, 0.8062] == pytest.approx(limits(two_sample.newcombe(6, 7, 2, 7)), abs=6e-5)


def test_all_against_nothing_in_closed_form() -> None:
    """10/10 against 0/10: the lower score limit d solves (1 - d) / (1 + d) = z^2 / 19."""
    ratio = 1.959963984540054**2 / 19
    assert [(1 - ratio) / (1 + ratio), 1.0] == pytest.approx(
        limits(two_sample.miettinen_nurminen(10, 10, 0, 10)), abs=1e-12
    )


def test_every_table_of_the_oracle(oracle) -> None:
    """284 tables, three methods."""
    for case in oracle("two_arm_grid")["cases"]:
        table = case["x1"], case["n1"], case["x2"], case["n2"]
        for name, method in NAMES.items():
            assert case[f"{name}95"] == pytest.approx(limits(method(*table)), abs=1e-9), (name, table)


def test_published_examples_of_the_oracle(published) -> None:
    """Newcombe's differences at full precision."""
    found = {name: example for name, example in published.items() if name.startswith("newcombe1998_diff")}
    assert len(found) >= 9
    for name, example in found.items():
        given_ = example["inputs"]
        table = given_["x1"], given_["n1"], given_["x2"], given_["n2"]
        method = two_sample.newcombe if name.endswith("method10") else two_sample.miettinen_nurminen
        assert example["full_precision_expected"] == pytest.approx(limits(method(*table, given_["conf"])), abs=1e-9), (
            name
        )


def test_exact_coverage_of_the_oracle(oracle) -> None:
    """Mean, smallest and 5th-percentile coverage and mean width over 25 x 25 rates, to the four digits printed."""
    rates = np.linspace(0.02, 0.98, 25)
    differences = rates[:, None] - rates[None, :]
    for text, row in oracle("coverage_exact")["difference"].items():
        n = int(text)
        weights = binomial_weights(n, rates)
        joint = weights[:, None, :, None] * weights[None, :, None, :]
        for name, method in NAMES.items():
            ends = np.array([[limits(method(a, n, b, n)) for b in range(n + 1)] for a in range(n + 1)])
            apart = differences[:, :, None, None]
            coverage = (joint * ((ends[..., 0] <= apart) & (apart <= ends[..., 1]))).sum(axis=(2, 3))
            width = (weights @ (ends[..., 1] - ends[..., 0]) @ weights.T).mean()
            found = {
                "mean": coverage.mean(),
                "min": coverage.min(),
                "p05": np.percentile(coverage, 5),
                "mean_width": width,
            }
            assert row[name] == pytest.approx(found, abs=5.1e-5), (n, name)


@given(tables(), st.sampled_from(EXACT_ENDS), st.floats(0.5, 0.999))
@settings(deadline=None, max_examples=60)
def test_an_interval_contains_the_difference_and_lies_in_range(
    table: Table, method: Callable[..., Interval], level: float
) -> None:
    """Also at 0/n and n/n, and never of no width."""
    k_a, n_a, k_b, n_b = table
    found = method(*table, level)
    assert -1 <= found.low <= k_a / n_a - k_b / n_b <= found.high <= 1
    assert found.width > 0


@given(tables(), st.sampled_from(EXACT_ENDS))
@settings(deadline=None, max_examples=60)
def test_swapping_the_arms_turns_the_sign(table: Table, method: Callable[..., Interval]) -> None:
    """To the last bit, so that a verdict mirrors."""
    k_a, n_a, k_b, n_b = table
    one, other = method(k_a, n_a, k_b, n_b), method(k_b, n_b, k_a, n_a)
    assert [-one.high, -one.low] == limits(other)


@given(tables(), st.sampled_from(EXACT_ENDS))
@settings(deadline=None, max_examples=60)
def test_one_more_pass_of_a_raises_both_limits(table: Table, method: Callable[..., Interval]) -> None:
    """Monotone in the passes."""
    k_a, n_a, k_b, n_b = table
    if k_a < n_a:
        one, more = method(k_a, n_a, k_b, n_b), method(k_a + 1, n_a, k_b, n_b)
        assert one.low <= more.low + 1e-12
        assert one.high <= more.high + 1e-12


@given(tables(), st.floats(0.3, 6.0))
@settings(deadline=None, max_examples=60)
def test_the_limits_are_where_the_score_statistic_is_z(table: Table, z: float) -> None:
    """Inside (-1, 1) the limit differs from the estimate by exactly z standard errors there; any z is taken."""
    found = two_sample.miettinen_nurminen(*table, z=z)
    k_a, n_a, k_b, n_b = table
    for limit in (found.low, found.high):
        if -1 + 1e-6 < limit < 1 - 1e-6:
            reach = z * two_sample._score_variance(*table, limit) ** 0.5
            assert reach == pytest.approx(abs(k_a / n_a - k_b / n_b - limit), abs=1e-7)


@given(tables(30))
@settings(deadline=None, max_examples=60)
def test_statsmodels_agrees_on_newcombe(table: Table) -> None:
    """A second opinion where statsmodels is right."""
    expected = confint_proportions_2indep(*table, compare="diff", method="newcomb")
    assert tuple(expected) == pytest.approx(tuple(limits(two_sample.newcombe(*table))), abs=1e-9)


@pytest.mark.parametrize("method", list(NAMES.values()))
@pytest.mark.parametrize("table", [(3, 2, 0, 1), (0, 0, 0, 1), (0, 1, 2, 1), (0, 1, 0, 0), (-1, 1, 0, 1)])
def test_impossible_tables_are_refused(method: Callable[..., Interval], table: Table) -> None:
    """The error names the arm."""
    with pytest.raises(ValueError, match=r"[kn]_[ab] must be"):
        method(*table)


def test_impossible_quantiles_are_refused() -> None:
    """z of 0, below 0, or NaN."""
    for z in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="z must be"):
            two_sample.miettinen_nurminen(1, 2, 1, 2, z=z)
