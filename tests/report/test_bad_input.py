"""Data that answer little get the sentence a statistician would say: no exception, no NaN, no interval of no width."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.report.claims import claims
from crucible.report.overall import Overall, overall
from crucible.report.tallies import Metric, Pair, Tally, Terms
from crucible.report.terminal import beside, overall_view
from crucible.report.two_runs import two_runs
from crucible.report.verdict import Verdict, verdict_like_these, verdict_on_these
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store


def passes(k: int, n: int, lost: int = 0, score: float | None = None) -> list[Filled]:
    return [Filled(passed=i < k, score=score) for i in range(n)] + [Filled(passed=None)] * lost


def report(store: Store, scenarios: dict[str, Any], **run: Any) -> Overall:
    found = overall(store, fill_run(store, scenarios, "old", **run), detailed=True)
    assert found is not None
    check_numbers(found.as_dict())
    overall_view(found, beside(store, found), detailed=True)
    return found


def check_numbers(value: Any) -> None:
    """Everything can be JSON, every number is finite, and no interval has no width."""
    json.dumps(value, allow_nan=False)
    if isinstance(value, dict):
        interval = value.get("interval")
        assert interval is None or interval[0] < interval[1]
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        check_numbers(part)


ONE = "one scenario, however often it is attempted, says nothing about others; it takes at least two"
CASES: dict[str, tuple[list[Filled], list[Filled], dict[str, Any], str, str]] = {
    "one attempt": (
        passes(1, 1), passes(0, 1), {}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: 1 of 1 against 0 of 1 green, +100 points (95% interval "
        "-59 to +100, Miettinen-Nurminen; p = 0.500, Boschloo). 1 attempt per arm can never tell two arms apart: even all "
        "against none is p >= 0.05."),
    ),
    "one attempt, scores": (
        passes(1, 1, score=0.9), passes(0, 1, score=0.1), {"primary_metric": "score"}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: mean score 0.90 (1 of 1 scored) against 0.10 (1 of 1 "
        "scored), +0.80 of the score (p = 1.000, exact permutation; no interval: one attempt of an arm says nothing about "
        "the spread between attempts)."),
    ),
    "zero attempts": ([], [], {}, "not tested", "Not tested: no scenario has attempts of both arms."),
    "all pass on both sides": (
        passes(5, 5), passes(5, 5), {}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: 5 of 5 against 5 of 5 green, 0 points (95% interval "
        "-46 to +46, Miettinen-Nurminen; p = 1.000, Boschloo). Every attempt of either arm passed: to tell the arms apart "
        "takes harder scenarios; to show that they are equivalent takes 25 attempts per arm."),
    ),
    "none passes on either side": (
        passes(0, 5), passes(0, 5), {"margin": 0.0}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: 0 of 5 against 0 of 5 green, 0 points (95% interval "
        "-46 to +46, Miettinen-Nurminen; p = 1.000, Boschloo). No attempt passed: to tell the arms apart takes easier "
        "scenarios."),
    ),
    "all pass, enough to be equivalent": (
        passes(60, 60), passes(60, 60), {}, "equivalent",
        ("new and old are equivalent on this scenario, within 10 points: 60 of 60 against 60 of 60 green, 0 points (95% "
        "interval -6 to +6, Miettinen-Nurminen; p = 1.000, Boschloo)."),
    ),
    "a margin of 0": (
        passes(60, 60), passes(60, 60), {"margin": 0.0}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: 60 of 60 against 60 of 60 green, 0 points (95% interval "
        "-6 to +6, Miettinen-Nurminen; p = 1.000, Boschloo). Every attempt of either arm passed: to tell the arms apart "
        "takes harder scenarios."),
    ),
    "one arm entirely not counted": (
        passes(3, 5), passes(0, 0, lost=5), {}, "not tested", "Not tested: old has no attempt that counts.",
    ),
    "losses that hit one arm": (
        passes(9, 10), [*passes(3, 4), *passes(0, 0, lost=6)], {"blocks": 10}, "inconclusive",
        "No verdict: the run is not complete (old: 4 of 10), and a look half-way is no test.",
    ),
    "unequal numbers of attempts": (
        passes(9, 10), passes(1, 4), {}, "inconclusive",
        "No verdict: the run is not complete (old: 4 of 10), and a look half-way is no test.",
    ),
    "scores without any spread": (
        passes(5, 5, score=0.9), passes(5, 5, score=0.9), {"primary_metric": "score"}, "inconclusive",
        ("Inconclusive: these attempts do not tell new and old apart: mean score 0.90 (5 of 5 scored) against 0.90 (5 of 5 "
        "scored), 0.00 of the score (p = 1.000, exact permutation; no interval: within each arm every attempt scored the "
        "same: no spread to judge by)."),
    ),
    "no score at all": (
        passes(5, 5), passes(5, 5), {"primary_metric": "score"}, "not tested", "Not tested: no attempt of new is scored.",
    ),
    "scores missing in one arm": (
        passes(8, 8, score=0.9), [*passes(2, 2, score=0.1), *passes(6, 6)], {"primary_metric": "score"}, "inconclusive",
        "No verdict: missing scores hit one arm more than chance explains (0 against 6).",
    ),
    "a rehearsal": (
        passes(9, 10), passes(1, 10), {"rehearsal": True}, "not tested",
        "Not tested: the sessions are scripted, no model was asked.",
    ),
    "an arm against itself": (
        passes(9, 10), passes(1, 10), {"kind": "aa"}, "not tested",
        "Not tested: this run sets one arm against itself; it measures the noise, not a difference.",
    ),
    "a run that may stop early, before its first look": (
        passes(2, 2), passes(0, 2), {"sequential": True, "blocks": 10}, "inconclusive",
        "No verdict yet: 2 of at most 10 pairs are made, the first look is after 4.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_a_statistician_would_say(store: Store, name: str) -> None:
    new, old, run, word, sentence = CASES[name]
    found = report(store, {"only": {"new": new, "old": old}}, **run)
    assert (word, sentence) == (found.verdict.word, found.verdict.sentence)
    if new or old:
        assert found.comparisons[0].verdict.sentence == sentence


def test_a_single_scenario_makes_no_claim_about_many(store: Store) -> None:
    found = report(store, {"only": {"new": passes(10, 10), "old": passes(0, 10)}})
    assert ["better", "not tested"] == [claim.verdict.word for claim in found.claims]
    assert f"Not tested on scenarios like these: {ONE}." == found.claims[1].verdict.sentence


def test_four_scenarios_can_be_too_few_however_many_attempts_are_made(store: Store) -> None:
    """The effect differs so much between them that no number of attempts on these four would do."""
    run = {f"s{n}": {"new": passes(k, 10), "old": passes(4, 10)} for n, k in enumerate((10, 9, 5, 1))}
    (_, like_these) = report(store, run).claims
    assert "inconclusive" == like_these.verdict.word
    assert "with 4 scenarios is impossible, however many attempts are made; about " in like_these.verdict.sentence


def test_a_small_difference_takes_many_attempts_and_is_not_impossible() -> None:
    """Two scenarios that agree: a thousand attempts are not enough, which is not the same as never."""
    pairs = [Pair(Tally("new", 200, 200, 0, k), Tally("old", 200, 200, 0, 100), f"s{k}") for k in (101, 102)]
    verdict = verdict_like_these(pairs, None, Terms(margin=0.02))
    assert "or more than 1,000 attempts per arm on each of these." in verdict.sentence
    assert "impossible" not in verdict.sentence


def test_a_wider_claim_than_the_attempts_bear_out_is_not_made() -> None:
    """Four of five scenarios differ by one pass: hardly any spread between them, and hardly any evidence on them."""
    passed = [(3, 2), (4, 4), (2, 1), (1, 0), (5, 4)]
    pairs = [Pair(Tally("new", 5, 5, 0, a), Tally("old", 5, 5, 0, b), f"s{n}") for n, (a, b) in enumerate(passed)]
    these, like_these = (claim.verdict for claim in claims(pairs))
    assert ("inconclusive", "inconclusive") == (these.word, like_these.word)
    assert like_these.p_value is not None
    assert like_these.p_value < 0.05
    assert like_these.sentence.endswith(
        "paired t over scenarios). The scenarios agree among themselves, but the attempts do not show as much even on these: "
        "few scenarios can look alike by luck."
    )


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_of_scenarios_like_these_no_more_is_claimed_than_of_these(data: st.DataObject) -> None:
    """Neither a direction nor equivalence."""
    metric = data.draw(METRICS)
    these, like_these = verdicts(data.draw(complete_pairs()), Terms(metric, 0.4))
    if like_these.word in ("better", "worse"):
        assert these.word == like_these.word
    if like_these.word == "equivalent":
        assert these.word in ("equivalent", "better", "worse")


def test_scenarios_that_all_differ_alike_have_no_spread_to_judge_by(store: Store) -> None:
    run = {f"s{n}": {"new": passes(5, 5), "old": passes(5, 5)} for n in range(3)}
    these, like_these = (claim.verdict for claim in report(store, run).claims)
    assert ("inconclusive", "inconclusive") == (these.word, like_these.word)
    assert (
        "(no interval: every scenario shows the same difference: there is no spread to judge by)" in like_these.sentence
    )
    assert "Every attempt of either arm passed: to tell the arms apart takes harder scenarios." in these.sentence


def test_one_scenario_that_is_not_complete_withholds_the_verdict_on_all(store: Store) -> None:
    run = {"a": {"new": passes(5, 5), "old": passes(0, 5)}, "b": {"new": passes(5, 5), "old": passes(0, 3, lost=1)}}
    found = report(store, run)
    expected = "No verdict: the run is not complete (b, old: 3 of 5), and a look half-way is no test."
    assert [expected, expected] == [claim.verdict.sentence for claim in found.claims]
    assert ("better", "inconclusive") == tuple(one.verdict.word for one in found.comparisons)
    assert ((), (), None) == (found.scenarios, found.dimensions, found.scenarios_summary), (
        "a look half-way shows no test"
    )


def test_losses_that_hit_one_arm_withhold_the_verdict_on_all_scenarios() -> None:
    """Twice against never on each of six scenarios: chance does not explain it."""
    pairs = [Pair(Tally("new", 5, 5, 2, 4), Tally("old", 5, 5, 0, 1), f"s{n}") for n in range(6)]
    verdict = verdict_on_these(pairs)
    assert (
        "No verdict: attempts that do not count hit one arm more than chance explains (12 against 0)."
        == verdict.sentence
    )


def test_scenarios_with_different_arms_have_no_verdict_together(store: Store) -> None:
    run = {"a": {"new": passes(5, 5), "old": passes(0, 5)}, "b": {"other": passes(5, 5), "old": passes(0, 5)}}
    found = report(store, run)
    assert (
        "the scenarios compare different arms; the verdict on each scenario stands by itself" in found.verdict.sentence
    )
    assert ["better", "better"] == [one.verdict.word for one in found.comparisons]


def test_several_scenarios_that_stopped_early_have_no_verdict_together(store: Store) -> None:
    run = {f"s{n}": {"new": passes(8, 8), "old": passes(0, 8)} for n in range(2)}
    found = report(store, run, sequential=True, blocks=8)
    assert "No verdict over the 2 scenarios: each scenario stopped on its own results" in found.verdict.sentence
    assert ["better", "better"] == [one.verdict.word for one in found.comparisons]


def test_a_run_against_itself_or_a_missing_run(store: Store) -> None:
    run = fill_run(store, {"only": {"new": passes(5, 5), "old": passes(0, 5)}}, "old")
    found = two_runs(store, run, run)
    assert found is not None
    assert ("both are run 1; a run says nothing against itself",) == found.incomparable
    assert two_runs(store, run, 99) is None
    assert overall(store, 99) is None


# Any counts at all

METRICS = st.sampled_from(("pass_rate", "score"))


@st.composite
def tallies(draw: st.DrawFn, arm: str, attempts: int | None = None) -> Tally:
    counted = draw(st.integers(0, 9)) if attempts is None else attempts
    scores = draw(
        st.lists(st.none() | st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 1.0]), min_size=counted, max_size=counted)
    )
    planned = counted + draw(st.integers(0, 1) if attempts is None else st.just(0))
    lost = draw(st.integers(0, 4)) if attempts is None else 0
    return Tally(arm, planned, counted, lost, draw(st.integers(0, counted)), tuple(scores))


@st.composite
def any_pairs(draw: st.DrawFn) -> list[Pair]:
    many = draw(st.integers(1, 4))
    return [Pair(draw(tallies("new")), draw(tallies("old")), f"s{n}") for n in range(many)]


@st.composite
def complete_pairs(draw: st.DrawFn) -> list[Pair]:
    many, attempts = draw(st.integers(1, 3)), draw(st.integers(1, 8))
    return [Pair(draw(tallies("new", attempts)), draw(tallies("old", attempts)), f"s{n}") for n in range(many)]


def verdicts(pairs: Sequence[Pair], terms: Terms) -> list[Verdict]:
    return [verdict_on_these(pairs, None, terms), verdict_like_these(pairs, None, terms)]


@settings(deadline=None, max_examples=60)
@given(any_pairs(), METRICS, st.sampled_from((0.0, 0.1, 0.5)))
def test_any_counts_give_a_sentence(pairs: list[Pair], metric: Metric, margin: float) -> None:
    for verdict in verdicts(pairs, Terms(metric, margin)):
        assert verdict.sentence.endswith(".")
        assert "nan" not in verdict.sentence.lower().replace("permutation", "").split()
        for number in (verdict.p_value, verdict.difference, *(verdict.interval or ())):
            assert number is None or isfinite(number)
        assert verdict.interval is None or all(low < high for low, high in pairwise(verdict.interval))
        assert margin or verdict.word != "equivalent"


@settings(deadline=None, max_examples=60)
@given(complete_pairs(), METRICS)
def test_swapping_the_arms_mirrors_the_verdict(pairs: list[Pair], metric: Metric) -> None:
    """Better becomes worse, the difference and its interval turn their signs, and nothing else changes."""
    swapped = [Pair(p.baseline, p.treatment, p.scenario) for p in pairs]
    for one, other in zip(verdicts(pairs, Terms(metric)), verdicts(swapped, Terms(metric)), strict=True):
        assert {"better": "worse", "worse": "better"}.get(one.word, one.word) == other.word
        assert one.p_value == (None if other.p_value is None else pytest.approx(other.p_value, abs=1e-12))
        if one.interval is not None and other.interval is not None:
            assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-9)
        assert one.difference == (None if other.difference is None else pytest.approx(-other.difference, abs=1e-12))


@settings(deadline=None, max_examples=50)
@given(complete_pairs(), METRICS, st.integers(1, 3))
def test_attempts_that_do_not_count_in_both_arms_change_nothing(pairs: list[Pair], metric: Metric, lost: int) -> None:
    """The same losses in both arms leave every claim as it was."""

    def with_losses(tally: Tally) -> Tally:
        return Tally(tally.arm, tally.planned, tally.counted, tally.not_counted + lost, tally.passed, tally.scores)

    more = [Pair(with_losses(p.treatment), with_losses(p.baseline), p.scenario) for p in pairs]
    assert claims(pairs, None, Terms(metric)) == claims(more, None, Terms(metric))


@settings(deadline=None, max_examples=50)
@given(complete_pairs(), METRICS)
def test_a_direction_is_named_only_when_the_test_supports_it(pairs: list[Pair], metric: Metric) -> None:
    for verdict in verdicts(pairs, Terms(metric)):
        named = " is better than " in verdict.sentence or " is worse than " in verdict.sentence
        assert named == (verdict.word in ("better", "worse"))
        if named:
            assert verdict.p_value is not None
            assert verdict.p_value < 0.05
            assert verdict.difference is not None
            assert (verdict.difference > 0) == (verdict.word == "better")
