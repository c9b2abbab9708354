"""Exact tests of two pass rates."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import barnard_exact, boschloo_exact, fisher_exact

from crucible.stats import exact
from crucible.stats.unconditional import binomial_weights, largest_probability, stays_within

Table = tuple[int, int, int, int]
VACCINE = 0.03407671636576781
"""SciPy's p-value of Chan's vaccine; see `test_a_tie_that_scipy_loses_by_rounding`."""
ONE_SIDED: tuple[Literal["greater", "less"], ...] = ("greater", "less")


@st.composite
def tables(draw: st.DrawFn, most: int = 15) -> Table:
    n_a, n_b = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, n_a)), n_a, draw(st.integers(0, n_b)), n_b


def columns(table: Table) -> list[list[int]]:
    """As SciPy's unconditional tests want it: the arms are the columns."""
    k_a, n_a, k_b, n_b = table
    return [[k_a, k_b], [n_a - k_a, n_b - k_b]]


def test_published_p_values() -> None:
    """Fisher's tea, SciPy's whales and jobs, Barnard's 3 against 0."""
    assert float(Fraction(17, 70)) == pytest.approx(exact.fisher(3, 4, 1, 4, "greater"), abs=1e-15)
    assert float(Fraction(34, 70)) == pytest.approx(exact.fisher(3, 4, 1, 4), abs=1e-15)
    assert 0.034965034965034975 == pytest.approx(exact.fisher(8, 10, 1, 6), abs=1e-15)
    assert 0.0355 == pytest.approx(exact.boschloo(74, 117, 31, 63, "greater"), abs=1e-4)
    assert [1 / 20, 1 / 64, 1 / 32] == pytest.approx(
        [exact.fisher(3, 3, 0, 3, "greater"), exact.boschloo(3, 3, 0, 3, "greater"), exact.boschloo(3, 3, 0, 3)],
        abs=1e-12,
    )


def test_a_tie_that_scipy_loses_by_rounding() -> None:
    """Chan's vaccine, 7/15 against 12/15: 3/15 against 8/15 has exactly the same z and belongs to the region.

    SciPy's documentation prints 0.03407, which is the value without that table (`barnard_exact` compares floats).
    """

    def z_squared(a: int, b: int) -> Fraction:
        pooled = Fraction(a + b, 30)
        return Fraction(a - b) ** 2 / (pooled * (1 - pooled)) if 0 < pooled < 1 else Fraction(0)

    assert z_squared(7, 12) == z_squared(3, 8)
    region = [(a, b) for a in range(16) for b in range(a + 1, 16) if z_squared(a, b) >= z_squared(7, 12)]
    by_total = np.zeros(31)
    for a, b in region:
        by_total[a + b] += comb(15, a) * comb(15, b) / comb(30, a + b)
    assert largest_probability(by_total) == pytest.approx(exact.barnard(7, 15, 12, 15, "less"), abs=1e-12)
    by_total[11] -= comb(15, 3) * comb(15, 8) / comb(30, 11)
    assert VACCINE == pytest.approx(largest_probability(by_total), abs=1e-12)
    assert VACCINE == pytest.approx(barnard_exact(columns((7, 15, 12, 15)), alternative="less", n=128).pvalue, abs=1e-9)


def test_published_mcnemar() -> None:
    """Fagerland et al. 2013: 1 against 7 gives .070 exact and .039 mid-p."""
    assert 0.0703125 == exact.mcnemar(1, 7)
    assert 0.0390625 == exact.mcnemar_mid_p(1, 7)
    assert 1.0 == exact.mcnemar(0, 0)


def test_some_tables_of_the_oracle(oracle) -> None:
    """Fisher, both mid-p, Boschloo and Barnard, of tables of every size up to 12 per arm."""
    small = [case for case in oracle("two_arm_grid")["cases"] if max(case["n1"], case["n2"]) <= 12]
    as_the_oracle(small[::5])


@pytest.mark.slow
def test_every_table_of_the_oracle(oracle) -> None:
    """284 tables."""
    as_the_oracle(oracle("two_arm_grid")["cases"])


def as_the_oracle(cases: Sequence[dict[str, float]]) -> None:
    assert cases
    for case in cases:
        table = case["x1"], case["n1"], case["x2"], case["n2"]
        found = {
            "fisher_two_sided": exact.fisher(*table),
            "fisher_one_sided_greater": exact.fisher(*table, "greater"),
            "fisher_midp_two_sided_minlike": exact.fisher_mid_p_by_likelihood(*table),
            "boschloo_two_sided": exact.boschloo(*table),
            "barnard_zpooled_two_sided": exact.barnard(*table),
        }
        assert {name: case[name] for name in found} == pytest.approx(found, abs=1e-9), table


def test_published_examples_of_the_oracle(published) -> None:
    """At full precision."""
    found = {
        "fisher_tea": [exact.fisher(3, 4, 1, 4, "greater"), exact.fisher(3, 4, 1, 4)],
        "fisher_scipy_whales": [exact.fisher(8, 10, 1, 6)],
        "barnard_vaccine_chan1998": [exact.pooled_z(7, 15, 12, 15), VACCINE, exact.fisher(7, 15, 12, 15, "less")],
        "boschloo_scipy_jobs": [exact.fisher(74, 117, 31, 63, "greater"), exact.boschloo(74, 117, 31, 63, "greater")],
        "barnard1945_3_0_0_3": [
            exact.fisher(3, 3, 0, 3, "greater"),
            exact.barnard(3, 3, 0, 3, "greater"),
            exact.barnard(3, 3, 0, 3),
        ],
    }
    for name, values in found.items():
        assert published[name]["full_precision_expected"] == pytest.approx(values, abs=1e-9), name


def test_every_pairing_of_the_oracle(oracle) -> None:
    """McNemar exact and mid-p on 230 discordant counts."""
    for case in oracle("mcnemar_grid")["cases"]:
        found = [exact.mcnemar(case["b"], case["c"]), exact.mcnemar_mid_p(case["b"], case["c"])]
        assert [case["exact"], case["midp"]] == pytest.approx(found, abs=1e-9), case


def test_smallest_attainable_p_of_the_oracle(oracle) -> None:
    """By attempts per arm, with what Bonferroni makes of it."""
    data = oracle("min_attainable_p")
    for row in data["table"]:
        n = row["n_per_arm"]
        found = {
            "fisher_two_sided": exact.smallest_p(n, n, "fisher"),
            "fisher_one_sided": exact.fisher(n, n, 0, n, "greater"),
            "boschloo_two_sided": exact.smallest_p(n, n),
            "boschloo_one_sided": exact.boschloo(n, n, 0, n, "greater"),
            "closed_form_boschloo_one_sided": 0.25**n,
            "mcnemar_exact_two_sided": exact.mcnemar(n, 0),
        }
        assert {name: row[name] for name in found} == pytest.approx(found, abs=1e-9), n
    for row in data["bonferroni"]:
        n, threshold = row["n_per_arm"], row["alpha_over_m"]
        assert row["fisher_can_ever_reject_bonferroni"] == (exact.smallest_p(n, n, "fisher") <= threshold)
        assert row["boschloo_can"] == (exact.smallest_p(n, n) <= threshold)


@given(tables(most=7), st.sampled_from(ONE_SIDED))
@settings(deadline=None, max_examples=10)
def test_scipy_agrees_on_small_tables(table: Table, side: Literal["greater", "less"]) -> None:
    as_scipy(table, side)


@pytest.mark.slow
@given(tables(), st.sampled_from(ONE_SIDED))
@settings(deadline=None, max_examples=60)
def test_scipy_agrees(table: Table, side: Literal["greater", "less"]) -> None:
    as_scipy(table, side)


def as_scipy(table: Table, side: Literal["greater", "less"]) -> None:
    """SciPy searches the rate with an optimiser, which may stop short: never above ours by more than rounding."""
    theirs = boschloo_exact(columns(table), alternative=side, n=128).pvalue
    ours = exact.boschloo(*table, side)
    assert theirs <= ours + 1e-9
    assert ours == pytest.approx(theirs, abs=1e-6)
    k_a, n_a, k_b, n_b = table
    rows = [[k_a, n_a - k_a], [k_b, n_b - k_b]]
    assert fisher_exact(rows, alternative=side).pvalue == pytest.approx(exact.fisher(*table, side), abs=1e-9)
    assert fisher_exact(rows).pvalue == pytest.approx(exact.fisher(*table), abs=1e-9)


def brute_boschloo(table: Table) -> float:
    """One-sided, by its definition: every table, at 2001 rates."""
    k_a, n_a, k_b, n_b = table
    threshold = exact.fisher(k_a, n_a, k_b, n_b, "greater") * (1 + 1e-12)
    rates = np.linspace(0, 1, 2001)
    chance = np.zeros(2001)
    for a in range(n_a + 1):
        for b in range(n_b + 1):
            if exact.fisher(a, n_a, b, n_b, "greater") <= threshold:
                ways = comb(n_a, a) * comb(n_b, b)
                chance += ways * rates ** (a + b) * (1 - rates) ** (n_a + n_b - a - b)
    return float(chance.max())


@given(tables(7))
@settings(deadline=None, max_examples=40)
def test_boschloo_is_its_definition(table: Table) -> None:
    """The largest chance, over a common rate, of a Fisher p-value as small as this one."""
    assert brute_boschloo(table) == pytest.approx(exact.boschloo(*table, "greater"), abs=1e-5)


@pytest.mark.slow
@given(tables(40))
@settings(deadline=None, max_examples=60)
def test_p_values_are_in_range_and_mirror(table: Table) -> None:
    """In (0, 1]; swapping the arms changes no two-sided value by a bit, and turns greater into less."""
    k_a, n_a, k_b, n_b = table
    assert exact.barnard(*table) == pytest.approx(exact.barnard(k_b, n_b, k_a, n_a), abs=1e-12)
    for test in (exact.boschloo, exact.fisher, exact.fisher_mid_p):
        assert 0 < test(*table) <= 1
        assert test(*table) == test(k_b, n_b, k_a, n_a)
        assert test(*table, "greater") == test(k_b, n_b, k_a, n_a, "less")


@given(tables(25))
@settings(deadline=None, max_examples=60)
def test_more_separation_is_less_likely(table: Table) -> None:
    """One more pass of A never raises the one-sided p-value; unconditional never exceeds conditional."""
    k_a, n_a, k_b, n_b = table
    for test in (exact.boschloo, exact.fisher, exact.fisher_mid_p):
        if k_a < n_a:
            assert test(k_a + 1, n_a, k_b, n_b, "greater") <= test(*table, "greater") + 1e-12
    assert exact.boschloo(*table, "greater") <= exact.fisher(*table, "greater") + 1e-12
    assert exact.fisher_mid_p(*table, "greater") < exact.fisher(*table, "greater")


def test_the_default_changes_above_four_hundred_attempts() -> None:
    """Boschloo up to 400 per arm, mid-p above, and the two are close where they meet."""
    (small, boschloo), (large, mid_p) = exact.two_arms(200, 400, 230, 400), exact.two_arms(200, 401, 230, 401)
    assert ("Boschloo", "Fisher mid-p") == (boschloo, mid_p)
    assert small == pytest.approx(large, abs=5e-3)


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_binomial_weights_are_those_of_whole_numbers(n: int) -> None:
    """At the rates 0 and 1 too, where one count has them all."""
    rates = [Fraction(0), Fraction(1, 1 << 60), Fraction(1, 4), Fraction(1, 2), Fraction(1023, 1024), Fraction(1)]
    found = binomial_weights(n, np.array([float(rate) for rate in rates]))
    for rate, weights in zip(rates, found, strict=True):
        assert 1.0 == pytest.approx(float(weights.sum()), rel=1e-12)
        for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
            expected = float(comb(n, k) * rate**k * (1 - rate) ** (n - k))
            assert expected == pytest.approx(float(weights[k]), rel=1e-12, abs=1e-300)


def test_boschloo_does_without_scipy() -> None:
    """Half a second of importing that a confirmation of fourteen runs would wait for at its end."""
    code = (
        "import sys; from crucible.stats.exact import boschloo; boschloo(2, 10, 0, 14); print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == done.stdout.strip()


def test_the_maximum_over_the_rate_is_found_between_grid_points() -> None:
    """One table of 2n: n p^(n-1) (1-p) has its maximum at (n-1)/n, wherever the grid lies; flat chances are no trap."""
    for n in (3, 17, 101, 999):
        conditional = np.zeros(n + 1)
        conditional[n - 1] = 1.0
        peak = n * ((n - 1) / n) ** (n - 1) / n
        assert peak == pytest.approx(largest_probability(conditional), rel=1e-12)
        assert stays_within(conditional, peak * (1 + 1e-9))
        assert not stays_within(conditional, peak * (1 - 1e-9))
    assert 1.0 == pytest.approx(largest_probability(np.ones(51)), abs=1e-12)
    assert 0.0 == largest_probability(np.zeros(51))


@pytest.mark.parametrize("test", [exact.boschloo, exact.fisher, exact.fisher_mid_p, exact.barnard])
def test_impossible_tables_are_refused(test) -> None:
    """More passes than attempts, no attempts, NaN."""
    for table in ((3, 2, 0, 1), (0, 0, 0, 1), (0, 1, 0, 0), (float("nan"), 2, 0, 1)):
        with pytest.raises(ValueError, match="must be"):
            test(*table)


def test_too_many_attempts_are_refused_where_they_are_enumerated() -> None:
    """1000 of both arms; Fisher has no such end."""
    with pytest.raises(ValueError, match="at most 1000 attempts"):
        exact.boschloo(1, 501, 1, 500)
    assert 0 < exact.fisher_mid_p(900, 3000, 1000, 3000) < 0.01
    with pytest.raises(ValueError, match="at least 0"):
        exact.mcnemar(-1, 2)
    with pytest.raises(ValueError, match="at least 0"):
        exact.mcnemar_mid_p(2, -2)
