"""Clamps, scores from facts, totals and versions: the arithmetic of judging."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.judging.clamps import clamp, size_cap
from crucible.judging.facts import score_facts
from crucible.judging.total import Total, total
from crucible.judging.types import Clamp, Facts, NotScored, Score, Scored
from crucible.judging.versions import facts_hash, judge_version, prompt_hash, rubric_hash, version_of
from crucible.scenario.schema import Dimension

GREEN = Facts(
    suite="green",
    tests_passed=8,
    tests_failed=0,
    changed=True,
    size_ratio=1.0,
    similarity=1.0,
    turns=5,
    tool_calls=10,
    tokens=30_000,
    budget_turns=25,
    budget_tokens=60_000,
    blocked_calls=1,
    failing_before=4,
    fixed=4,
)
RED = replace(GREEN, suite="red", tests_passed=5, tests_failed=3, fixed=1)
RATIOS = st.floats(0, 1e6)
UNIT = st.floats(0, 1)
FACTS = st.builds(
    replace,
    st.just(GREEN),
    suite=st.sampled_from(["green", "red", "no_verdict"]),
    changed=st.booleans(),
    size_ratio=st.none() | RATIOS,
    similarity=st.none() | UNIT,
    turns=st.integers(0, 50),
    tool_calls=st.integers(0, 200),
    tokens=st.none() | st.integers(0, 10**7),
)
NAMES = ("correctness", "minimality", "reasoning_quality", "efficiency")


def measured(name: str, facts: Facts) -> Scored:
    score = score_facts([name], facts)[name]
    assert isinstance(score, Scored), score
    return score


# clamps


def test_a_green_suite_leaves_correctness_alone() -> None:
    assert clamp("correctness", 1.0, GREEN) == (1.0, ())


@pytest.mark.parametrize("suite", ["red", "no_verdict"])
def test_a_suite_that_is_not_green_caps_correctness_and_says_so(suite: Any) -> None:
    value, clamps = clamp("correctness", 0.9, replace(RED, suite=suite))
    assert value == 0.3
    assert [(c.name, c.cap) for c in clamps] == [("suite_not_green", 0.3)]


def test_nothing_changed_caps_correctness_at_zero_whatever_the_suite_says() -> None:
    assert (0.0, (Clamp("nothing_changed", 0.0, "nothing was changed"),)) == clamp(
        "correctness", 0.8, replace(GREEN, changed=False)
    )


def test_a_cap_that_a_score_does_not_reach_is_not_recorded() -> None:
    assert clamp("correctness", 0.2, RED) == (0.2, ())


def test_a_large_change_caps_minimality() -> None:
    value, clamps = clamp("minimality", 1.0, replace(GREEN, size_ratio=3.0))
    assert value == 0.5
    assert (Clamp("size_ratio", 0.5, "the change is 3.00 times the size of the reference"),) == clamps


def test_an_unknown_size_clamps_nothing() -> None:
    assert clamp("minimality", 1.0, replace(GREEN, size_ratio=None)) == (1.0, ())


def test_other_dimensions_are_never_clamped() -> None:
    assert clamp("reasoning_quality", 1.0, replace(RED, changed=False, size_ratio=99.0)) == (1.0, ())


@pytest.mark.parametrize("raw", [math.nan, math.inf, -math.inf, -0.1, 1.1])
def test_a_raw_score_that_is_no_score_is_refused_not_clamped(raw: float) -> None:
    with pytest.raises(ValueError, match="finite number from 0 to 1"):
        clamp("correctness", raw, GREEN)


@given(RATIOS, RATIOS)
def test_the_size_cap_never_rises_and_stays_within_zero_and_one(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert 1 >= size_cap(small) >= size_cap(large) > 0


def test_the_size_cap_has_no_step() -> None:
    assert [size_cap(ratio) for ratio in (0, 1, 1.5, 2, 10)] == [1.0, 1.0, 1.0, 0.75, 0.15]


@given(st.sampled_from(NAMES), UNIT, FACTS)
def test_a_clamp_only_lowers_and_every_lowering_is_recorded(name: str, raw: float, facts: Facts) -> None:
    value, clamps = clamp(name, raw, facts)
    assert 0 <= value <= raw
    assert min([raw, *(c.cap for c in clamps)]) == value
    assert bool(clamps) == (value < raw)


@pytest.mark.parametrize(
    "changes",
    [
        {"size_ratio": math.nan},
        {"size_ratio": math.inf},
        {"size_ratio": -1.0},
        {"similarity": 1.01},
        {"similarity": math.nan},
        {"turns": -1},
        {"budget_turns": 0},
        {"fixed": 5},
        {"fixed": None},
    ],
)
def test_facts_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|known together"):
        replace(GREEN, **changes)


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.01, 1.01])
def test_a_score_outside_zero_and_one_cannot_be_made(value: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Scored(value, 0.5)


def test_the_spread_is_unknown_for_one_sample_and_a_distance_for_more() -> None:
    assert tuple(Scored(0.5, 0.5, samples=s).spread for s in ((3,), (3, 3), (2, 5, 4))) == (None, 0.0, 0.6)


# facts


def test_the_reference_itself_measures_perfect_correctness() -> None:
    score = measured("correctness", GREEN)
    assert score.value == 1.0
    assert score.evidence[0] == "the suite is green (8 passed, 0 failed): 0.8"


def test_green_without_any_similarity_is_four_fifths() -> None:
    assert measured("correctness", replace(GREEN, similarity=0.0)).value == 0.8


def test_green_with_unknown_similarity_is_the_least_it_can_be_and_says_so() -> None:
    score = measured("correctness", replace(GREEN, similarity=None))
    assert score.value == 0.8
    assert "similarity to the reference is unknown" in score.evidence[1]


def test_red_scores_its_share_of_the_failing_tests_it_mended() -> None:
    score = measured("correctness", RED)
    assert pytest.approx(0.075) == score.value
    assert score.evidence[1] == "1 of 4 originally failing tests pass now: 0.3 x that share"


def test_red_that_mended_all_and_broke_another_reaches_the_cap_and_no_more() -> None:
    assert measured("correctness", replace(RED, fixed=4)).value == 0.3


def test_red_known_by_exit_code_alone_mended_nothing() -> None:
    score = measured("correctness", replace(RED, failing_before=None, fixed=None))
    assert score.value == 0.0
    assert "0 of 1 fixed" in score.evidence[1]


@pytest.mark.parametrize("suite", ["tampered", "no_verdict"])
def test_a_change_that_kept_the_suite_from_its_verdict_earns_nothing(suite: Any) -> None:
    """The suite gives one with the reference: what stopped it is the change, and that must not be worth more than red."""
    assert 0.0 == measured("correctness", replace(RED, fixed=4, suite=suite)).value


def test_a_judge_cannot_raise_what_was_tampered_with() -> None:
    value, biting = clamp("correctness", 0.9, replace(GREEN, suite="tampered"))
    assert (0.0, ["suite_tampered"]) == (value, [cap.name for cap in biting])


@pytest.mark.parametrize("name", ["correctness", "minimality", "efficiency"])
@pytest.mark.parametrize("suite", ["green", "red", "tampered", "no_verdict"])
def test_an_attempt_that_changed_nothing_earns_nothing(name: str, suite: Any) -> None:
    assert measured(name, replace(GREEN, changed=False, size_ratio=0.0, suite=suite)).value == 0.0


def test_minimality_follows_the_size_and_is_unknown_with_it() -> None:
    assert measured("minimality", replace(GREEN, size_ratio=3.0)).value == 0.5
    assert isinstance(score_facts(["minimality"], replace(GREEN, size_ratio=None))["minimality"], NotScored)


def test_efficiency_is_what_was_left_of_turns_calls_and_tokens() -> None:
    assert pytest.approx(1 - (5 / 25 + 10 / 25 + 0.5) / 3) == measured("efficiency", GREEN).value


def test_efficiency_of_a_budget_spent_and_overspent_is_zero() -> None:
    assert measured("efficiency", replace(GREEN, turns=25, tool_calls=99, tokens=70_000)).value == 0.0


@pytest.mark.parametrize("name", ["minimality", "efficiency"])
def test_what_was_not_done_was_neither_minimal_nor_efficient(name: str) -> None:
    whole = measured(name, GREEN).value
    red = replace(GREEN, suite="red", failing_before=4, fixed=1)
    assert pytest.approx(whole / 4) == measured(name, red).value
    for idle in (replace(red, fixed=0), replace(red, suite="tampered"), replace(red, suite="no_verdict")):
        assert 0.0 == measured(name, idle).value


def test_efficiency_without_token_counts_is_not_scored() -> None:
    assert {"efficiency": NotScored("the tokens used are unknown")} == score_facts(
        ["efficiency"], replace(GREEN, tokens=None)
    )


@pytest.mark.parametrize("name", ["reasoning_quality", "elegance"])
def test_what_cannot_be_measured_needs_a_judge(name: str) -> None:
    assert {name: NotScored("needs a judge model")} == score_facts([name], GREEN)


@given(FACTS)
def test_every_measured_score_is_in_range_and_gives_its_numbers(facts: Facts) -> None:
    scores = score_facts(NAMES, facts)
    assert set(NAMES) == set(scores)
    assert all(0 <= s.value <= 1 and s.evidence for s in scores.values() if isinstance(s, Scored))


@given(FACTS.filter(lambda facts: facts.suite == "red"), UNIT)
def test_red_never_measures_above_green(red: Facts, similarity: float) -> None:
    assert measured("correctness", red).value <= measured("correctness", replace(GREEN, similarity=similarity)).value


# total

WEIGHTS = {"correctness": 0.4, "minimality": 0.25, "reasoning_quality": 0.2, "efficiency": 0.15}


def test_a_complete_total_is_the_weighted_mean() -> None:
    scores: dict[str, Score] = {"correctness": Scored(1, 1), "minimality": Scored(0.5, 0.5)}
    assert Total(0.75, None, (), 1.0) == total(scores, {"correctness": 0.5, "minimality": 0.5})


def test_one_missing_dimension_makes_the_total_missing_and_the_rest_partial() -> None:
    scores: dict[str, Score] = {"correctness": Scored(1, 1), "minimality": NotScored("no")}
    assert Total(None, 1.0, ("minimality",), 0.25) == total(scores, {"correctness": 0.25, "minimality": 0.75})


def test_a_dimension_nobody_scored_is_missing_too() -> None:
    assert Total(None, None, ("correctness",), 0.0) == total({}, {"correctness": 1.0})


def test_leaving_out_a_bad_dimension_cannot_raise_the_total() -> None:
    assert total({"correctness": Scored(1, 1)}, WEIGHTS).value is None


@pytest.mark.parametrize("weights", [{}, {"a": 0.0}, {"a": -1.0}, {"a": math.nan}, {"a": math.inf}])
def test_weights_that_cannot_be_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        total({}, weights)


def test_a_score_without_a_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="scores without a weight: elegance"):
        total({"elegance": Scored(1, 1)}, WEIGHTS)


MAYBE = st.none() | UNIT.map(lambda value: Scored(value, value)) | st.just(NotScored("no"))


@given(st.dictionaries(st.sampled_from(NAMES), st.tuples(MAYBE, st.floats(0.01, 1)), min_size=1))
def test_a_total_lies_between_its_scores_and_knows_what_is_missing(
    given_: dict[str, tuple[Score | None, float]],
) -> None:
    scores = {name: score for name, (score, _) in given_.items() if score is not None}
    result = total(scores, {name: weight for name, (_, weight) in given_.items()})
    values = [score.value for score in scores.values() if isinstance(score, Scored)]
    assert (result.value is None) == (len(values) < len(given_)) == bool(result.missing)
    assert 0 <= result.weight_scored <= 1
    mean = result.value if result.value is not None else result.partial
    assert (mean is None) == (not values)
    if mean is not None:
        assert min(values) - 1e-12 <= mean <= min(1.0, max(values) + 1e-12)


# versions


def test_a_judge_version_changes_with_each_of_its_parts() -> None:
    versions = {
        judge_version("m", "p", "r", 1),
        judge_version("n", "p", "r", 1),
        judge_version("m", "q", "r", 1),
        judge_version("m", "p", "s", 1),
        judge_version("m", "p", "r", 3),
    }
    assert len(versions) == 5
    assert {16} == {len(version) for version in versions}


def test_a_rubric_hash_changes_with_criteria_weight_and_order_but_not_with_a_weights_spelling() -> None:
    one, two = (Dimension(name=name, weight=0.5, criteria="c") for name in ("one", "two"))
    others = [
        [two, one],
        [one],
        [one, two.model_copy(update={"criteria": "d"})],
        [one, two.model_copy(update={"weight": 0.4})],
    ]
    assert rubric_hash([one, two]) not in {rubric_hash(other) for other in others}
    assert rubric_hash([Dimension(name="one", weight=1, criteria="c")]) == rubric_hash(
        [Dimension(name="one", weight=1.0, criteria="c")]
    )


def test_facts_have_a_version_of_their_own_without_samples() -> None:
    rubric = [Dimension(name="one", weight=1.0, criteria="c")]
    assert version_of("facts", rubric, 1) == version_of("facts", rubric, 3) != version_of("m", rubric, 1)
    assert prompt_hash() == prompt_hash() != facts_hash()
