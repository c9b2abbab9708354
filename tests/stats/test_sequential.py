"""Stopping early: exact designs, e-processes, the nightly detector."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.stats import evalues, looks, nightly, sequential
from crucible.stats.power import power_two_arms, rejection_region
from crucible.stats.sequential import Design
from crucible.stats.stratified import mantel_haenszel

UNDER_CALIBRATED = {50: 2.3029}
"""The oracle's 2.3013 for N = 50 lets 5.0039 % false alarms through at a rate of 0.3607: its grid of rates, in steps of
0.025, misses that maximum."""


def rates(text: str) -> tuple[float, float]:
    a, b = text.split("v")
    return float(a), float(b)


def test_constants() -> None:
    """Calibrated for some N, with what they let through at most."""
    for pairs, constant in ((5, 2.0721), (8, 2.1492), (20, 2.2762), (30, 2.2975)):
        design = sequential.calibrated(pairs)
        assert constant == design.constant
        assert 0.02 < sequential.largest_false_alarm(design) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [*range(4, 26), 37, 50])
def test_no_design_raises_false_alarms(pairs: int) -> None:
    """At most 5 % at 3000 rates, by counting paths; and the constant is the smallest of four decimals that keeps it."""
    design = sequential.calibrated(pairs)
    every = looks.paths(design, futile=False)
    grid = np.linspace(0, 1, 3001)
    chance = np.zeros(3001)
    for look, ends in every.crossed.items():
        by_total = np.zeros(2 * look + 1)
        a, b = np.nonzero(ends)
        np.add.at(by_total, a + b, ends[a, b])
        total = np.arange(2 * look + 1)
        chance += (by_total * grid[:, None] ** total * (1 - grid[:, None]) ** (2 * look - total)).sum(axis=1)
    assert chance.max() <= 0.05
    assert float(chance.max()) == pytest.approx(sequential.largest_false_alarm(design), abs=2e-6)
    smaller = Design(pairs, round(design.constant - 1e-4, 4))
    assert sequential.largest_false_alarm(smaller) > 0.05 or sequential.boundary(smaller, pairs) == sequential.boundary(
        design, pairs
    )


def test_boundaries_of_the_oracle(oracle) -> None:
    """13 designs: constants, integer boundaries, false alarms, operating characteristics with and without futility."""
    for row in oracle("sequential_boundaries")["designs"]:
        pairs = row["N_max_per_arm"]
        assert UNDER_CALIBRATED.get(pairs, row["c"]) == sequential.calibrated(pairs).constant
        design = Design(pairs, row["c"])
        for look, expected in (row["boundary_min_abs_diff_by_total_successes"] or {}).items():
            assert expected == sequential.boundary(design, int(look))
        at = looks.operating(design, row["at_p"], row["at_p"], futile=False).power
        assert row["exact_type1_max"] == pytest.approx(at, abs=1e-9)
        for name, expected in row["operating"].items():
            plain = looks.operating(design, *rates(name), futile=False)
            short = looks.operating(design, *rates(name))
            assert [expected["power"], expected["with_futility_power"]] == pytest.approx(
                [plain.power, short.power], abs=5.1e-5
            )
            means = [plain.mean_pairs, short.mean_pairs]
            assert [expected["expected_n_per_arm"], expected["with_futility_n"]] == pytest.approx(means, abs=5.1e-4)


def test_one_oracle_constant_is_too_small(oracle) -> None:
    """N = 50: see `UNDER_CALIBRATED`."""
    row = next(d for d in oracle("sequential_boundaries")["designs"] if d["N_max_per_arm"] == 50)
    assert 0.0500391 == pytest.approx(sequential.largest_false_alarm(Design(50, row["c"])), abs=1e-6)
    assert looks.operating(Design(50, row["c"]), 0.3607, 0.3607, futile=False).power > 0.05


def test_exact_rows_of_the_simulation_oracle(oracle) -> None:
    """A fixed N, three shapes, futility: everything in it that was computed and not simulated, for N = 20 and 30."""
    for text in ("20", "30"):
        rows, pairs = oracle("sequential_simulation")["results"][text], int(text)
        for name, row in rows.items():
            shape = {"C1": 0.0, "C2": 0.25, "C3": 0.5}.get(name[:2])
            for key, (chance, mean) in ((k, v) for k, v in row.items() if "v" in k):
                if name.startswith("A "):
                    assert chance == pytest.approx(power_two_arms(*rates(key), pairs, pairs), abs=5.1e-5)
                elif shape is not None:
                    design = sequential.calibrated(pairs, shape=shape)
                    found = looks.operating(design, *rates(key), futile=name.startswith("C2f"))
                    assert mean == pytest.approx(found.mean_pairs, abs=5.1e-3)
                    assert chance == pytest.approx(found.power, abs=5.1e-5)


def test_designs_of_equal_power_of_the_oracle(oracle) -> None:
    """80 % power for less: the declared N, and the mean number of pairs when the difference is real.

    Within a unit of the last digit: the oracle calibrated these on a coarser grid of rates (its N = 27 lets 5.06 % pass).
    """
    for row in oracle("sequential_simulation_2")["equal_power"]:
        for name, futile in (("C2", False), ("C2f", True)):
            design = sequential.calibrated(row[name]["N_max"])
            there = looks.operating(design, row["p1"], row["p2"], futile=futile)
            assert row[name]["power"] == pytest.approx(there.power, abs=1.1e-3)
            assert row[name]["EN_alt"] == pytest.approx(there.mean_pairs, abs=0.11)
            assert there.power >= 0.8


def test_looking_without_correction_triples_false_alarms(oracle) -> None:
    """Stopping at Boschloo's or Fisher's p < .05 at every look from the third: 15 % and 9 % for N = 20."""
    rows = oracle("sequential_simulation")["results"]["20"]
    for name, test in (
        ("H1 NAIVE Fisher<.05 at every look (invalid)", "fisher"),
        ("H2 NAIVE Boschloo<.05 at every look (invalid)", "boschloo"),
    ):
        going, stopped = np.ones((1, 1)), 0.0
        for look in range(1, 21):
            going = sequential.one_more_pair(going)
            if look >= 3:
                ends = rejection_region(look, look, 0.05, test)
                stopped += float(going[ends].sum()) / 4**look
                going = np.where(ends, 0.0, going)
        assert rows[name]["0.5v0.5"][0] == pytest.approx(stopped, abs=5.1e-5)


def test_eleven_against_four_of_twelve() -> None:
    """Stopped at 12 of 20: A is better, by 6.5 to 85.7 points."""
    design = sequential.calibrated(20)
    found = looks.at_look(design, 12, 11, 4)
    assert ("A better", 2.5862625219533215) == (found.decision, pytest.approx(found.critical, abs=1e-12))
    interval = sequential.repeated_interval(design, 12, 11, 4)
    assert (0.0652457840521509, 0.8570470490887214) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert "B better" == looks.at_look(design, 12, 4, 11).decision


def test_the_repeated_interval_of_the_oracle(oracle) -> None:
    """The worked example's."""
    row = oracle("worked_example_8_scenarios")["results"]["repeated_ci_look12_of_20_11_vs_4"]
    interval = sequential.repeated_interval(sequential.calibrated(20), 12, 11, 4)
    assert row["value"] == pytest.approx([interval.low, interval.high], abs=1e-9)
    assert row["z_crit"] == pytest.approx(sequential.calibrated(20).critical(12), abs=1e-9)


def test_decisions_in_order() -> None:
    """No decision before the first look, none for futility at the fourth pair; an end without difference is undecided."""
    design = sequential.calibrated(20)
    assert "go on" == looks.at_look(design, 3, 3, 0).decision
    assert "A better" == looks.at_look(design, 4, 4, 0).decision or design.critical(4) > sqrt(8)
    assert "go on" == looks.at_look(design, 4, 4, 4).decision
    assert "futile" == looks.at_look(design, 12, 6, 6).decision
    assert "undecided" == looks.at_look(design, 20, 10, 10).decision
    assert 1.0 == pytest.approx(looks.at_look(design, 20, 19, 3).chance_at_end)


@given(st.integers(4, 24), st.data())
@settings(deadline=None, max_examples=60)
def test_decisions_mirror(pairs: int, data: st.DataObject) -> None:
    """Swapping the arms swaps the names and nothing else; chances are in [0, 1]; the interval mirrors too."""
    design = sequential.calibrated(pairs)
    look = data.draw(st.integers(1, pairs))
    a, b = data.draw(st.integers(0, look)), data.draw(st.integers(0, look))
    one, other = looks.at_look(design, look, a, b), looks.at_look(design, look, b, a)
    swap = {"A better": "B better", "B better": "A better"}
    assert swap.get(one.decision, one.decision) == other.decision
    assert one.z == -other.z
    assert 0 <= one.chance_at_end <= 1 + 1e-9
    if look >= design.first_look:
        there, back = sequential.repeated_interval(design, look, a, b), sequential.repeated_interval(design, look, b, a)
        assert (-there.high, -there.low) == (back.low, back.high)
        assert abs(one.z) < one.critical or one.z * (there.low + there.high) > 0


@given(st.integers(4, 20), st.floats(0, 1), st.floats(0, 1), st.booleans())
@settings(deadline=None, max_examples=60)
def test_endings_sum_to_one(pairs: int, p_a: float, p_b: float, futile: bool) -> None:
    """Every path ends once; futility never adds a finding; swapped rates swap the arms."""
    design = sequential.calibrated(pairs)
    found, swapped = looks.operating(design, p_a, p_b, futile=futile), looks.operating(design, p_b, p_a, futile=futile)
    assert 1.0 == pytest.approx(found.a_better + found.b_better + found.futile + found.undecided, abs=1e-9)
    assert 1 <= found.mean_pairs <= pairs + 1e-9
    assert (found.a_better, found.b_better) == pytest.approx((swapped.b_better, swapped.a_better), abs=1e-12)
    assert found.power <= looks.operating(design, p_a, p_b, futile=False).power + 1e-12
    if p_a == p_b:
        assert found.power <= 0.05


def test_the_prediction_is_a_beta_binomial() -> None:
    """After 3 of 5, the chance of x more in 2 by a uniform prior: 10, 16 (twice 8 of 28 x 56...) by the polya urn."""
    found = looks._predicted_passes(5, 7)[3]
    urn = [(3 / 7) * (4 / 8), 2 * (4 / 7) * (3 / 8), (4 / 7) * (5 / 8)]
    assert urn == pytest.approx(found[3:6].tolist(), abs=1e-12)
    assert 1.0 == pytest.approx(float(found.sum()), abs=1e-12)


def test_impossible_designs_and_looks_are_refused() -> None:
    """Fewer pairs than the first look, too many, a look outside the design, more passes than attempts."""
    for pairs in (0, 3, 201):
        with pytest.raises(ValueError, match=r"pairs"):
            sequential.calibrated(pairs)
    design = sequential.calibrated(10)
    with pytest.raises(ValueError, match="look must be"):
        looks.at_look(design, 11, 0, 0)
    with pytest.raises(ValueError, match="k_a must be at most"):
        looks.at_look(design, 5, 6, 0)
    with pytest.raises(ValueError, match="first look is after 4 pairs, not 3"):
        sequential.repeated_interval(design, 3, 3, 0)
    with pytest.raises(ValueError, match="done must be"):
        looks.rounds_critical(6, 5)


def test_rounds_over_many_scenarios_keep_the_level(oracle) -> None:
    """400 comparisons of 6 scenarios in 5 rounds without a difference: rarely more than the oracle's 2.9 %."""
    row = next(
        r for r in oracle("sequential_simulation_2")["multi"] if (r["S"], r["K"], r["delta_logit"]) == (6, 5, 0.0)
    )
    printed, _ = row["WT0.25 CMH z c=2.30"]
    random, alarms = np.random.default_rng(11), 0
    for _ in range(400):
        rate = 1 / (1 + np.exp(-random.normal(0.3, 1.5, 6)))
        passed = (random.random((5, 2, 6)) < rate).cumsum(axis=0)
        alarms += any(
            abs(mantel_haenszel([(int(a), done, int(b), done) for a, b in passed[done - 1].T]).z)
            >= looks.rounds_critical(done, 5)
            for done in range(1, 6)
        )
    assert abs(printed - alarms / 400) <= 4 * sqrt(printed * (1 - printed) / 400)


E_PAIRS = list(zip([1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], strict=True))


def test_e_processes_of_the_oracle(oracle) -> None:
    """Three of them on twelve pairs."""
    results = oracle("worked_example_8_scenarios")["results"]
    pairs = list(zip(results["e_inputs"]["A"], results["e_inputs"]["B"], strict=True))
    for name, process in (
        ("e_discordant_beta_half", evalues.discordant),
        ("e_turner_beta_0.18", evalues.turner),
        ("e_betting_agrapa_075", evalues.betting),
    ):
        assert results[name]["value"] == pytest.approx(process(pairs), abs=1e-9)


def test_e_processes_by_hand() -> None:
    """One pass of A alone: no evidence yet; three of them: 2.5 and 3.06; the p-value never rises again."""
    assert [1.0, 1.5, 2.5] == pytest.approx(evalues.discordant([(True, False)] * 3))
    assert [1.0, 1.75, 3.0625] == pytest.approx(evalues.betting([(1.0, 0.0)] * 3))
    assert [1.0, 0.5, 0.5, 0.25] == evalues.anytime_p_values([0.5, 2.0, 1.0, 4.0])
    assert 26.8125 == pytest.approx(evalues.discordant(E_PAIRS)[-1])


@given(st.floats(0, 1), st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6))
@settings(deadline=None, max_examples=60)
def test_an_e_process_does_not_grow_by_itself(rate: float, history: list[tuple[bool, bool]]) -> None:
    """Under equal rates the mean of the next value is at most the present one, whatever came before."""
    for process in (evalues.discordant, evalues.turner, evalues.betting):
        now = process(history)[-1] if history else 1.0
        chances = {
            (a, b): (rate if a else 1 - rate) * (rate if b else 1 - rate) for a in (True, False) for b in (True, False)
        }
        after = sum(chance * process([*history, pair])[-1] for pair, chance in chances.items())
        assert after <= now * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_betting_on_scores_stays_positive_and_mirrors(pairs: list[tuple[float, float]]) -> None:
    """Never all is staked; swapping the arms bets the other way and wins the same."""
    values = evalues.betting(pairs)
    assert min(values) > 0
    assert values == pytest.approx(evalues.betting([(b, a) for a, b in pairs]))


def test_impossible_pairs_are_refused() -> None:
    """A score above 1, a result that is neither pass nor fail, NaN."""
    with pytest.raises(ValueError, match="a score must be"):
        evalues.betting([(1.2, 0.0)])
    with pytest.raises(ValueError, match="a score must be"):
        evalues.betting([(float("nan"), 0.0)])
    for process in (evalues.discordant, evalues.turner):
        with pytest.raises(ValueError, match="True or False"):
            process([(0.5, 1)])


def test_e_process_power_as_in_the_oracles_simulation(oracle) -> None:
    """1000 comparisons of 20 pairs, 50 v 80 and none: the share that ever reaches 20."""
    rows = oracle("sequential_simulation")["results"]["20"]
    random = np.random.default_rng(6)
    for name, process in (("D", evalues.turner), ("E", evalues.discordant), ("G", evalues.betting)):
        row = next(row for label, row in rows.items() if label.startswith(f"{name} "))
        for key in ("0.5v0.5", "0.5v0.8"):
            results = random.random((1000, 20, 2)) < np.array(rates(key))
            found = sum(max(process(pairs.tolist())) >= 20 for pairs in results) / 1000
            printed = row[key][0]
            assert abs(printed - found) <= 4 * sqrt(max(printed, 0.005) / 1000)


def nights_to_alarm(random: np.random.Generator, base: float, rate: float, most: int) -> int:
    detector = nightly.Detector(base)
    while not nightly.alarm(detector) and detector.nights < most:
        detector = nightly.after_night(detector, int(random.binomial(10, rate)), 10)
    return detector.nights


def test_nightly_delays_as_in_the_oracles_simulation(oracle) -> None:
    """From 90 %, ten a night: 4.7 nights to see 70 %, 1.9 to see 50 %, and 365 or more between false alarms."""
    row = next(r for r in oracle("nightly_simulation")["rows"] if (r["n"], r["p0"]) == (10, 0.9))
    name = next(label for label in row["arl0"] if label.startswith("D "))
    random = np.random.default_rng(12)
    for rate in (0.7, 0.5):
        delays = [nights_to_alarm(random, 0.9, rate, 1000) for _ in range(400)]
        printed = row[f"mean_delay_nights_to_{rate:.2f}"][name]
        assert abs(printed - float(np.mean(delays))) <= 4 * float(np.std(delays)) / 20 + 0.051
    quiet = [nights_to_alarm(random, 0.9, 0.9, 1000) for _ in range(100)]
    assert abs(row["arl0"][name] - float(np.mean(quiet))) <= 4 * float(np.std(quiet)) / 10
    assert float(np.mean(quiet)) > 365


@given(st.floats(0.02, 0.98), st.integers(1, 20), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_a_night_at_or_above_the_base_is_no_evidence_on_average(base: float, attempts: int, better: float) -> None:
    """The mean likelihood ratio is at most 1 at every true rate from the base upwards."""
    rate = base + better * (1 - base)
    passes = np.arange(attempts + 1)
    from crucible.stats.unconditional import binomial_weights

    weights = binomial_weights(attempts, np.array([rate]))[0]
    for drop in nightly.DROPS:
        ratios = [nightly._likelihood_ratio(int(k), attempts, base, drop) for k in passes]
        assert float(weights @ np.array(ratios)) <= 1 + 1e-9


def test_the_detector_remembers_only_its_evidence() -> None:
    """A good night takes evidence away, a bad one adds; impossible nights are refused."""
    start = nightly.Detector(0.9)
    bad, good = nightly.after_night(start, 3, 10), nightly.after_night(start, 10, 10)
    assert 1 < bad.value
    assert good.value < 1
    assert 1 == bad.nights
    assert not nightly.alarm(good)
    with pytest.raises(ValueError, match="k must be at most n"):
        nightly.after_night(start, 11, 10)
    with pytest.raises(ValueError, match="base must be"):
        nightly.Detector(1.0)
