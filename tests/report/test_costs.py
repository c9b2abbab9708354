"""Cost three ways, time with time-outs, cost of a success, and the one sentence on quality and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from crucible.llm.price import Price
from crucible.report.arms import Mean, Side
from crucible.report.costs import Way, costs
from crucible.report.dominance import dominance
from crucible.report.tallies import Pair, Tally, Terms
from crucible.report.times import times
from crucible.report.verdict import decide
from crucible.stats.one_sample import wilson
from crucible.store.measures import Measured

BLANK = Measured(
    id=1, scenario_hash="h", arm="new", block=1, retry=0, model="m", sandbox="overlay", session=None, ending="finished",
    cause="agent", detail="", counted=True, passed=True, turns=1, tool_calls=0, blocked=0, warned=0, got_past=0, seconds=1.0,
    input_uncached=None, input_cached=None, cache_write=None, output=None, tokens=None, cost_usd=None, similarity=None,
)  # fmt: skip
PRICE = Price(2e-6, 1e-5, cached=2e-7)
TIERED = Price(2e-6, 1e-5, above=(1000, Price(4e-6, 2e-5)))


def side(arm: str, attempts: Sequence[Measured]) -> Side:
    return Side(arm, "m", arm == "old", len(attempts), tuple(attempts), tuple(attempts))


def used(uncached: int, cached: int, output: int) -> Measured:
    """An attempt with its bill at PRICE."""
    bill = uncached * 2e-6 + cached * 2e-7 + output * 1e-5
    return replace(BLANK, input_uncached=uncached, input_cached=cached, output=output, cost_usd=bill)


def ways(new: Sequence[Measured], old: Sequence[Measured], price: Price | None = PRICE) -> dict[str, Way]:
    return {way.name: way for way in costs([(side("new", new), side("old", old))], lambda _: price).ways}


def test_a_warm_cache_is_no_advantage_of_the_arm() -> None:
    """Both arms take the same tokens; only the bill differs, because one of them met a warm cache."""
    found = ways([used(100, 900, 10)] * 3, [used(1000, 0, 10)] * 3)
    assert found["as billed"].ratio == pytest.approx((200e-6 + 180e-6 + 100e-6) / (2000e-6 + 100e-6))
    assert 1.0 == pytest.approx(found["as if nothing were cached"].ratio or 0)
    assert 1.0 == pytest.approx(found["output only"].ratio or 0)
    assert "US dollars" == found["output only"].unit


def test_without_a_price_tokens_are_compared_and_nothing_is_guessed() -> None:
    found = ways([used(100, 900, 10)] * 3, [used(1000, 0, 20)] * 3, price=None)
    uncached = found["as if nothing were cached"]
    assert ("tokens", pytest.approx(1010 / 1020)) == (uncached.unit, uncached.ratio)
    assert ("tokens", pytest.approx(0.5)) == (found["output only"].unit, found["output only"].ratio)


def test_a_dearer_tier_that_may_apply_leaves_the_price_unknown() -> None:
    """Which request was long is not known from the sums."""
    assert (
        "tokens"
        == ways([used(100, 1900, 10)] * 3, [used(1000, 0, 20)] * 3, price=TIERED)["as if nothing were cached"].unit
    )
    assert "US dollars" == ways([used(100, 800, 10)] * 3, [used(900, 0, 20)] * 3, price=TIERED)["output only"].unit


def test_an_unknown_bill_is_unknown_and_not_zero() -> None:
    found = costs([(side("new", [BLANK, used(1, 0, 1)]), side("old", [BLANK]))], lambda _: PRICE)
    billed = found.ways[0]
    assert ((1, 2), (0, 1)) == ((billed.treatment.n, billed.treatment.of), (billed.baseline.n, billed.baseline.of))
    assert billed.ratio is None
    assert "not known for both arms" == billed.why_not
    assert (None, None) == found.success.cost
    assert (None, "not known for both arms") == (found.success.ratio, found.success.why_not)


def test_a_success_costs_what_all_attempts_cost() -> None:
    failed = replace(used(1000, 0, 0), passed=False)
    found = costs([(side("new", [failed, failed, used(1000, 0, 0)]), side("old", [failed]))], lambda _: PRICE)
    assert (pytest.approx(0.006), None) == found.success.cost
    assert ((1, 0), (3, 1), "nothing passed") == (found.success.passes, found.success.attempts, found.success.why_not)


def test_a_success_has_an_interval_and_so_has_the_ratio() -> None:
    """At equal bills a success of 9 in 10 costs a ninth of one of 1 in 10, and the intervals say how far that carries."""
    bill = used(1000, 0, 0)
    new, old = ([replace(bill, passed=n < green) for n in range(10)] for green in (9, 1))
    found = costs([(side("new", new), side("old", old))], lambda _: PRICE).success
    rate = wilson(9, 10)
    assert (0.002 / rate.high, 0.002 / rate.low) == pytest.approx(found.within[0])
    assert 1 / 9 == pytest.approx(found.ratio or 0)
    assert found.interval is not None
    assert found.interval[1] < 1
    assert found.stopped().interval is None, "a run that stopped on its passes has none"
    assert (found.cost, found.within) == (found.uncompared("x").cost, found.uncompared("x").within)
    assert (None, None) == (found.uncompared("x").ratio, found.uncompared("x").interval)


def test_a_success_is_not_known_while_a_scenario_has_no_attempt() -> None:
    pairs = [(side("new", [used(1, 0, 1)]), side("old", [used(1, 0, 1)])), (side("new", []), side("old", []))]
    assert (None, None) == costs(pairs, lambda _: PRICE).success.cost


def test_attempts_that_cost_nothing_have_no_ratio() -> None:
    free = replace(BLANK, cost_usd=0.0)
    assert "no ratio: some attempts took nothing" == ways([free] * 2, [free] * 2)["as billed"].why_not


def test_a_time_out_counts_as_at_least_that_long() -> None:
    """All of one arm is cut at 60 s: its restricted mean is 60, and the log-rank test sees the difference."""
    fast = [replace(BLANK, seconds=10.0 + n) for n in range(6)]
    cut = [replace(BLANK, seconds=60.0, ending="budget_time", cause="budget") for _ in range(6)]
    found = times([(side("new", fast), side("old", cut))])
    assert ((0, 6), None) == (found.timed_out, found.way.ratio)
    assert found.within == pytest.approx((12.5, 15.0)), "cut at the longest time that both arms have"
    assert found.p_value is not None
    assert found.p_value < 0.01
    plain = times([(side("new", fast), side("old", [replace(a, seconds=2 * (a.seconds or 0)) for a in fast]))])
    assert 0.5 == pytest.approx(plain.way.ratio or 0)


def billed(ratio: float | None, low: float = 0.0, high: float = 0.0) -> Way:
    mean = Mean(1.0, 1, 1)
    if ratio is None:
        return Way("as billed", "US dollars", mean, mean, why_not="not known")
    return Way("as billed", "US dollars", mean, mean, ratio, (low, high))


CHEAPER, DEARER, EITHER, UNKNOWN = billed(0.6, 0.5, 0.7), billed(1.6, 1.2, 2.1), billed(1.1, 0.8, 1.5), billed(None)


@pytest.mark.parametrize(
    ("new", "old", "way", "expected"),
    [
        ((9, 10), (2, 10), CHEAPER, "new is better and cheaper"),
        ((9, 10), (2, 10), DEARER, "new is better at 1.6 times the cost"),
        ((9, 10), (2, 10), EITHER, "new is better; whether it costs more or less cannot be told"),
        (
            (9, 10),
            (2, 10),
            UNKNOWN,
            "new is better; whether it costs more or less cannot be told (as billed: not known)",
        ),
        ((2, 10), (9, 10), CHEAPER, "new is worse but cheaper"),
        ((2, 10), (9, 10), DEARER, "new is worse at 1.6 times the cost"),
        ((60, 60), (60, 60), CHEAPER, "new is equivalent to old and cheaper"),
        ((8, 10), (5, 10), CHEAPER, "new is cheaper, no worse by more than 10 points"),
        ((8, 10), (5, 10), DEARER, "new is no worse by more than 10 points at 1.6 times the cost"),
        ((5, 10), (5, 10), CHEAPER, "new is cheaper; whether it is better or worse cannot be told"),
        ((5, 10), (5, 10), EITHER, "Cannot tell which arm is better, nor which costs less"),
    ],
)
def test_quality_and_cost_in_one_sentence(new: tuple[int, int], old: tuple[int, int], way: Way, expected: str) -> None:
    treatment, baseline = Tally("new", new[1], new[1], 0, new[0]), Tally("old", old[1], old[1], 0, old[0])
    said = dominance("new", decide(treatment, baseline), [Pair(treatment, baseline)], Terms(), way)
    assert said is not None
    assert said.startswith(expected)


def test_without_a_verdict_nothing_is_held_against_the_cost() -> None:
    treatment, baseline = Tally("new", 10, 9, 0, 9), Tally("old", 10, 9, 0, 0)
    assert dominance("new", decide(treatment, baseline), [Pair(treatment, baseline)], Terms(), CHEAPER) is None


def test_a_ratio_weighs_every_scenario_the_same() -> None:
    """Half the cost on one, the same on the other: the geometric mean of the two ratios."""
    cheap, dear = replace(BLANK, cost_usd=1.0), replace(BLANK, cost_usd=2.0)
    pairs = [(side("new", [cheap] * 3), side("old", [dear] * 3)), (side("new", [dear] * 5), side("old", [dear] * 5))]
    assert 0.5**0.5 == pytest.approx(costs(pairs, lambda _: None).ways[0].ratio or 0)
