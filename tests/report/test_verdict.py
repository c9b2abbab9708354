"""The verdict names a direction only when the test supports it, and none where nothing was tested."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.report.reach import could_see, what_a_design_can_see
from crucible.report.tallies import Pair, Terms
from crucible.report.verdict import ALPHA, Tally, decide, what_can_be_seen


def arm(name: str, passed: int, counted: int, planned: int | None = None, lost: int = 0) -> Tally:
    return Tally(name, counted if planned is None else planned, counted, lost, passed)


@pytest.mark.parametrize(
    ("treatment", "baseline", "word"),
    [
        ((9, 10), (3, 10), "better"),
        ((3, 10), (9, 10), "worse"),
        ((3, 3), (0, 3), "better"),
        ((2, 2), (0, 2), "inconclusive"),
        ((6, 10), (4, 10), "inconclusive"),
        ((10, 10), (10, 10), "inconclusive"),
        ((60, 60), (60, 60), "equivalent"),
        ((0, 0), (5, 5), "not tested"),
    ],
)
def test_words(treatment: tuple[int, int], baseline: tuple[int, int], word: str) -> None:
    assert word == decide(arm("t", *treatment), arm("b", *baseline)).word


def test_the_sentence_holds_the_evidence() -> None:
    verdict = decide(arm("assisted", 9, 10), arm("baseline", 3, 10))
    assert verdict.sentence == (
        "assisted is better than baseline on this scenario: 9 of 10 against 3 of 10 green, +60 points "
        "(95% interval +17 to +84, Miettinen-Nurminen; p = 0.008, Boschloo)."
    )


def test_a_reason_found_elsewhere_comes_first() -> None:
    verdict = decide(arm("t", 9, 10), arm("b", 3, 10), "both arms were the same")
    assert ("not tested", None) == (verdict.word, verdict.p_value)


def test_a_look_half_way_is_no_test() -> None:
    verdict = decide(arm("t", 9, 9, planned=20), arm("b", 0, 9, planned=20))
    assert ("inconclusive", None) == (verdict.word, verdict.p_value)
    assert "a look half-way is no test" in verdict.sentence


def test_losses_that_hit_one_arm_withhold_the_verdict() -> None:
    verdict = decide(arm("t", 9, 10, lost=9), arm("b", 3, 10))
    assert "hit one arm more than chance explains (9 against 0)" in verdict.sentence


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_a_direction_is_named_only_when_p_is_below_alpha_and_swapping_arms_turns_it_round(
    n_t: int, n_b: int, data: st.DataObject
) -> None:
    k_t, k_b = data.draw(st.integers(0, n_t)), data.draw(st.integers(0, n_b))
    one, other = decide(arm("t", k_t, n_t), arm("b", k_b, n_b)), decide(arm("b", k_b, n_b), arm("t", k_t, n_t))
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.p_value or 1) < ALPHA or one.word in ("inconclusive", "equivalent")
    assert {"better": "worse", "worse": "better"}.get(one.word, one.word) == other.word


def test_what_a_number_of_attempts_can_see_is_said_before_the_run() -> None:
    assert "2 attempts per arm can never tell two arms apart" in what_can_be_seen(2)
    assert "5 attempts per arm find no difference from 50%" in what_can_be_seen(5)
    assert "20 attempts per arm find a difference of +40 or -40 points from 50%" in what_can_be_seen(20)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (what_can_be_seen(60), "60 attempts per arm find a difference of +25 or -25 points from 50%"),
        (what_can_be_seen(390), "390 attempts per arm find a difference of about +10 or -10 points from 50%"),
        (what_can_be_seen(100, 1.0), "100 attempts per arm find a difference of about -8 points from 100%"),
        (what_a_design_can_see(60), "of at most 60 pairs finds a difference of 27 points from 50%"),
        (what_a_design_can_see(61), "of at most 61 pairs finds a difference of about +27 or -27 points from 50%"),
    ],
)
def test_what_can_be_seen_is_said_at_any_size(said: str, expected: str) -> None:
    """Exactly up to 60 attempts, by the normal approximation above; the two join."""
    assert f"{expected} four times in five; smaller ones mostly stay unseen." in said


def test_what_scores_without_a_spread_could_show_is_not_made_up() -> None:
    """One attempt of each arm on twelve scenarios: how attempts vary is not known, how scenarios do is."""

    def pairs(scores: tuple[float, ...]) -> list[Pair]:
        both = [(Tally("new", n, n, 0, n, (score,) * n), Tally("old", n, n, 0, 0, (0.5,) * n)) for score in scores]
        return [Pair(*arms, f"s{place}") for place, arms in enumerate(both)]

    n = 1
    unknown, like_these = could_see(pairs(tuple(x / 12 for x in range(12))), Terms("score"))
    assert (
        "On these 12 scenarios: what could have been seen cannot be told, one attempt of each arm does not tell"
        in unknown
    )
    assert "On scenarios like these: a difference of 0.27 of the score is found four times in five." == like_these
    n = 3
    assert (
        "On this scenario: what could have been seen cannot be told, every attempt of an arm came out the same.",
    ) == tuple(could_see(pairs((0.7,)), Terms("score")))
