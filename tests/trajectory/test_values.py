"""JSON equality with types, and the arguments that differ."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.trajectory import (
    ABSENT,
    ArgsMode,
    ArgsRule,
    ArgumentDifference,
    argument_differences,
    fits,
    json_equal,
)
from crucible.scoring.trajectory.values import LONGEST, frozen, show

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.sampled_from(["", "1", "a"])
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner)
)
objects = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)


def same(a: Any, b: Any) -> bool:
    """Equality written out: what the words of the docstring say."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return not isinstance(a, dict | list) and not isinstance(b, dict | list) and bool(a == b)


@given(json_values, json_values)
def test_equality_is_that_of_typed_json(a: Any, b: Any) -> None:
    assert same(a, b) == json_equal(a, b)
    assert json_equal(a, b) == json_equal(b, a)
    assert json_equal(a, json.loads(json.dumps(a)))


@given(json_values, json_values)
def test_equal_values_have_equal_hashes(a: Any, b: Any) -> None:
    assert not json_equal(a, b) or hash(frozen(a)) == hash(frozen(b))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (True, 1, False),
        (0, False, False),
        (1, 1.0, True),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ("1", 1, False),
        (None, False, False),
        ({"a": None}, {}, False),
        ([], {}, False),
        ("", None, False),
        (2**60, float(2**60), True),
        (2**60 + 1, float(2**60), False),
        (float("nan"), float("nan"), True),
        ({"n": float("nan")}, {"n": float("nan")}, True),
        ("caf\u00e9", "cafe\u0301", False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"b": []}}, MappingProxyType({"a": {"b": []}}), True),
        (MappingProxyType({"a": 1}), {"a": 1}, True),
        (["a", "b"], ["ab"], False),
        ({"a": ["b"]}, {"a": "b"}, False),
    ],
)
def test_equality_case_by_case(a: Any, b: Any, equal: bool) -> None:
    assert equal is json_equal(a, b)


def test_values_nested_deeper_than_the_stack_are_compared_and_shown() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"in": [deep]}
    other: Any = 2
    for _ in range(5_000):
        other = {"in": [other]}
    assert not json_equal(deep, other)
    assert len(show(deep)) <= LONGEST
    (found,) = argument_differences({"a": deep}, {"a": other})
    assert found.path.startswith("a.in[0].in[0]")


@given(objects, objects, st.sampled_from(ArgsMode))
def test_a_mode_finds_differences_exactly_when_it_does_not_fit(actual: Any, expected: Any, mode: ArgsMode) -> None:
    rule = ArgsRule(mode)
    assert fits(actual, expected, rule) == (not argument_differences(actual, expected, rule))


@given(objects, objects)
def test_exact_is_at_least_and_only_from_together(actual: Any, expected: Any) -> None:
    both = fits(actual, expected, ArgsRule(ArgsMode.AT_LEAST)) and fits(actual, expected, ArgsRule(ArgsMode.ONLY_FROM))
    assert both == fits(actual, expected)


def test_differences_are_named_argument_by_argument_and_place_by_place() -> None:
    wanted = {"id": "T-490", "filter": {"status": "open", "ids": [1, 2]}, "reason": None}
    given = {"id": "T-481", "filter": {"status": "open", "ids": [1, 3]}, "force": True}
    assert [
        'id: expected "T-490", got "T-481"',
        "filter.ids[1]: expected 2, got 3",
        "reason: expected null, got none",
        "force: not expected, got true",
    ] == list(map(str, argument_differences(given, wanted)))


def test_an_absent_argument_is_not_null() -> None:
    assert [ArgumentDifference("a", None, ABSENT)] == argument_differences({}, {"a": None})


def test_paths_pick_and_leave_out_what_is_compared() -> None:
    wanted, given = {"id": 1, "at": {"day": 1, "hour": 2}}, {"id": 1, "at": {"day": 1, "hour": 9}, "request": "r9"}
    assert fits(given, wanted, ArgsRule(ignore=("request", ("at", "hour"))))
    assert fits(given, wanted, ArgsRule(only=("id", ("at", "day"))))
    assert not fits(given, wanted, ArgsRule(only=(("at", "hour"),)))
    assert ["at.hour: expected 2, got 9"] == list(
        map(str, argument_differences(given, wanted, ArgsRule(only=(("at", "hour"),))))
    )
    assert {"day": 1, "hour": 9} == given["at"]


def test_a_name_with_a_dot_in_it_is_a_name() -> None:
    assert not fits({"a.b": 1}, {"a.b": 2}, ArgsRule(only=("a.b",)))


def test_list_places_are_paths_too() -> None:
    assert fits({"l": [1, 9]}, {"l": [1, 2]}, ArgsRule(only=(("l", 0),)))
    assert fits({"l": [1, 9]}, {"l": [1, 2]}, ArgsRule(ignore=(("l", 1),)))


def test_subset_and_superset_are_understood_and_other_words_refused() -> None:
    assert ArgsMode.AT_LEAST is ArgsMode("superset")
    assert ArgsMode.ONLY_FROM is ArgsMode("subset")
    with pytest.raises(ValueError, match="partial"):
        ArgsMode("partial")


def test_long_values_are_shown_cut_in_the_middle() -> None:
    text = show("a" * 500)
    assert len(text) <= LONGEST
    assert text.endswith('a"')
