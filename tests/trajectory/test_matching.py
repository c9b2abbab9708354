"""The matcher against brute force, on whatever small lists come: maximum, one direction, order where it counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.trajectory import UNKNOWN, ArgsRule, Call, ExpectedCall, match, maximum_matching
from crucible.scoring.trajectory.assignment import in_order, longest_common

ORDERS = ("exact", "same-calls", "at-least", "only-from", "in-order")
MODES = ("exact", "at-least", "only-from", "ignore")

small_args = st.dictionaries(st.sampled_from("ab"), st.sampled_from([0, 1, True, False, None, "1"]), max_size=2)
call = st.builds(Call, st.sampled_from("tu"), small_args)
few = st.lists(call, max_size=5)
rows_of = st.integers(1, 6).flatmap(
    lambda width: st.tuples(st.lists(st.integers(0, 2**width - 1), max_size=6), st.just(width))
)


def most_pairs(rows: Sequence[int], width: int) -> int:
    """The size of the largest pairing, by trying every way to give each row a place or none."""
    choices = itertools.product(*[[None, *(at for at in range(width) if row >> at & 1)] for row in rows])
    return max(len(taken) for one in choices if len(taken := [at for at in one if at is not None]) == len(set(taken)))


def most_in_sequence(rows: Sequence[int], width: int) -> int:
    """The longest pairing whose places rise, by trying every choice."""
    best = 0
    for count in range(min(len(rows), width) + 1):
        for made in itertools.combinations(range(len(rows)), count):
            for wanted in itertools.combinations(range(width), count):
                if all(rows[one] >> other & 1 for one, other in zip(made, wanted, strict=True)):
                    best = count
    return best


@given(rows_of)
def test_a_matching_is_as_large_as_any(case: tuple[list[int], int]) -> None:
    rows, width = case
    pairs = maximum_matching(rows)
    assert most_pairs(rows, width) == len(pairs)
    assert len(set(pairs.values())) == len(pairs)
    assert all(rows[made] >> wanted & 1 for made, wanted in pairs.items())


@given(rows_of)
def test_a_sequence_is_as_long_as_any(case: tuple[list[int], int]) -> None:
    rows, width = case
    assert most_in_sequence(rows, width) == longest_common(rows, width)


@given(rows_of)
def test_taking_the_first_that_fits_finds_a_whole_sequence_when_there_is_one(case: tuple[list[int], int]) -> None:
    rows, width = case
    assert (most_in_sequence(rows, width) == width) == (len(in_order(rows, width)) == width)


@given(few, few, st.sampled_from(MODES))
def test_orders_mean_what_their_names_say(actual: list[Call], expected: list[Call], mode: str) -> None:
    def fit(made: Call, want: Call) -> bool:
        return match([made], [want], "exact", mode).matched

    rows = [sum(fit(made, want) << at for at, want in enumerate(expected)) for made in actual]
    pairs, sequence = most_pairs(rows, len(expected)), most_in_sequence(rows, len(expected))
    same_length = len(actual) == len(expected)
    by_hand = {
        "exact": same_length and all(map(fit, actual, expected)),
        "same-calls": same_length and pairs == len(expected),
        "at-least": pairs == len(expected),
        "only-from": pairs == len(actual),
        "in-order": sequence == len(expected),
    }
    assert by_hand == {order: match(actual, expected, order, mode).matched for order in ORDERS}


@given(few, few, st.sampled_from(ORDERS), st.sampled_from(MODES))
def test_the_score_is_one_exactly_when_it_matches(
    actual: list[Call], expected: list[Call], order: str, mode: str
) -> None:
    found = match(actual, expected, order, mode)
    assert 0.0 <= found.score <= 1.0
    assert found.matched == (found.score == 1.0)
    assert found.matched == (found.first_difference is None)


@given(few, few, st.randoms(use_true_random=False), st.sampled_from(("same-calls", "at-least", "only-from")))
def test_the_order_of_the_calls_does_not_matter_where_it_should_not(
    actual: list[Call], expected: list[Call], random: Any, order: str
) -> None:
    shuffled = list(actual)
    random.shuffle(shuffled)
    one, other = match(actual, expected, order, "at-least"), match(shuffled, expected, order, "at-least")
    assert (one.matched, one.score) == (other.matched, other.score)


@given(few, few, call)
def test_another_call_never_spoils_at_least_and_in_order(actual: list[Call], expected: list[Call], more: Call) -> None:
    for order in ("at-least", "in-order"):
        assert match(actual, expected, order).score <= match([*actual, more], expected, order).score


@given(few, few)
def test_stricter_orders_imply_looser_ones(actual: list[Call], expected: list[Call]) -> None:
    held = {order for order in ORDERS if match(actual, expected, order).matched}
    implied = {"exact": {"same-calls", "in-order"}, "same-calls": {"at-least", "only-from"}, "in-order": {"at-least"}}
    for strict, loose in implied.items():
        assert strict not in held or loose <= held


@given(few, few, st.sampled_from(ORDERS))
def test_comparing_each_pair_gives_what_the_key_gives(actual: list[Call], expected: list[Call], order: str) -> None:
    """Equality is looked up by a key; a rule that means the same and is compared pair by pair agrees."""
    slow = ArgsRule(ignore=("no such argument",))
    assert match(actual, expected, order).pairs == match(actual, expected, order, slow).pairs


@given(few, few, st.sampled_from(ORDERS))
def test_unknown_arguments_are_never_counted_as_right(actual: list[Call], expected: list[Call], order: str) -> None:
    blind = [Call(one.tool) for one in actual]
    known, unknown = match(actual, expected, order), match(blind, expected, order)
    assert known.possible == known.matched
    assert not known.matched or unknown.possible
    assert not unknown.matched or unknown.possible


@pytest.mark.parametrize("order", ORDERS)
def test_arguments_are_always_compared_actual_against_expected(order: str) -> None:
    more, fewer = Call("t", {"a": 1, "b": 2}), Call("t", {"a": 1})
    assert match([more], [fewer], order, "at-least").matched
    assert not match([fewer], [more], order, "at-least").matched
    assert match([fewer], [more], order, "only-from").matched
    assert not match([more], [fewer], order, "only-from").matched
    assert match([more], [fewer], order, lambda actual, expected: len(actual) > len(expected)).matched
    assert not match([fewer], [more], order, lambda actual, expected: len(actual) > len(expected)).matched


def test_a_call_wanted_twice_has_to_be_made_twice() -> None:
    once, twice = [Call("t", {})], [Call("t", {}), Call("t", {})]
    assert not match(once, twice, "at-least").matched
    assert match(twice, twice, "at-least").matched
    assert match(once, twice, "only-from").matched


def test_a_pair_taken_early_is_given_up_for_a_larger_matching() -> None:
    both, one = Call("t", {"x": 1, "y": 2}), Call("t", {"x": 1})
    found = match([both, one], [one, both], "same-calls", "at-least")
    assert found.matched
    assert {0: 1, 1: 0} == found.pairs


def test_rules_for_one_tool_and_for_one_call_come_before_the_general_one() -> None:
    made = [Call("search", {"q": "a b"}), Call("open", {"id": 1, "at": "now"})]
    wanted = [ExpectedCall("search", {"q": "b a"}), ExpectedCall("open", {"id": 1}, ArgsRule(only=("id",)))]
    sorted_words = {"search": lambda one, other: sorted(one["q"].split()) == sorted(other["q"].split())}
    assert match(made, wanted, "exact", by_tool=sorted_words).matched
    assert not match(made, wanted, "exact").matched


def test_thousands_of_calls_need_no_deep_stack() -> None:
    """The worst case for paths that give up pairs: each call has to move the one before it."""
    many = 3000
    rows = [0b11 << at for at in range(many - 1)] + [1]
    assert many == len(maximum_matching(rows))


def test_an_expected_call_without_arguments_takes_any() -> None:
    assert match([Call("t", {"a": 1})], [Call("t")], "exact").matched
    assert match([Call("t", UNKNOWN)], [Call("t")], "exact").matched
    assert match([Call("t", None)], [Call("t")], "exact").matched


def test_unknown_orders_and_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="unordered"):
        match([], [], "unordered")
    with pytest.raises(ValueError, match="partial"):
        match([], [], "exact", "partial")
