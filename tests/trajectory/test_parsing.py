"""Assertions as a file writes them: every way to write them, and every way to get them wrong."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.errors import ExitCode
from crucible.scoring.trajectory import (
    ANY_TOOL,
    KEYS,
    ArgsMode,
    ArgsRule,
    Caps,
    ExpectationError,
    ExpectedCall,
    Order,
    parse_expectation,
)

CALL = ExpectedCall("archive_ticket", {"ticket_id": "T-481"}, ArgsRule())


def problems(data: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ExpectationError) as caught:
        parse_expectation(data)
    return list(caught.value.problems)


def test_one_text_and_a_list_of_one_are_the_same() -> None:
    one = parse_expectation({"expect_tool": "a", "forbid_tool": "b", "expect_contains": "c"})
    assert one == parse_expectation({"expect_tool": ["a"], "forbid_tool": ["b"], "expect_contains": ["c"]})


@pytest.mark.parametrize(
    "written",
    [
        {"archive_ticket": {"ticket_id": "T-481"}},
        {"archive_ticket": [{"ticket_id": "T-481"}]},
        [{"tool": "archive_ticket", "args": {"ticket_id": "T-481"}}],
        [{"tool": "archive_ticket", "args": {"ticket_id": "T-481"}, "match": "exact", "ignore": []}],
    ],
)
def test_expected_arguments_may_be_written_in_three_ways(written: Any) -> None:
    assert (CALL,) == parse_expectation({"expect_args": written}).expect_args


def test_rules_order_limits_and_any_error_are_read() -> None:
    found = parse_expectation(
        {
            "expect_args": [{"tool": "t", "args": {}, "match": "superset", "ignore": ["at", ["w", "x", 0]]}],
            "expect_order": "same-calls",
            "recovers_from": True,
            "caps": {"turns": 20, "cost_usd": 0.5},
        }
    )
    assert ArgsRule(ArgsMode.AT_LEAST, ignore=("at", ("w", "x", 0))) == found.expect_args[0].rule
    assert Order.SAME_CALLS is found.expect_order
    assert (ANY_TOOL,) == found.recovers_from
    assert Caps(turns=20, cost_usd=0.5) == found.caps


def test_other_keys_of_a_scenario_are_left_to_others() -> None:
    assert ("a",) == parse_expectation({"name": "x", "query": 5, "expect_tool": "a"}).expect_tool
    assert {"expect_tool", "caps"} <= set(KEYS)


@pytest.mark.parametrize(
    ("data", "key", "says"),
    [
        ({}, "scenario", "asserts nothing"),
        ({"caps": {"turns": 5}}, "scenario", "asserts nothing"),
        ({"expect_tool": []}, "expect_tool", "got []"),
        ({"expect_tool": 5}, "expect_tool", "got 5"),
        ({"forbid_tool": ["a", ""]}, "forbid_tool", "none of them empty"),
        ({"expect_contains": {"a": 1}}, "expect_contains", 'got {"a": 1}'),
        ({"expect_tool": "a", "forbid_tool": ["b", "a"]}, "forbid_tool", '"a" is expected and forbidden at once'),
        ({"expect_tool": "mcp__x__a", "forbid_tool": "a"}, "forbid_tool", "at once"),
        ({"expect_args": {"a": {}}, "forbid_tool": "a"}, "forbid_tool", "at once"),
        ({"expect_contains": "x", "forbid_contains": "x"}, "forbid_contains", "at once"),
        ({"forbid_tool": "a", "expect_order": "exact"}, "expect_order", "the order of no calls"),
        ({"expect_tool": "a", "expect_order": "in order"}, "expect_order", "did you mean 'in-order'?"),
        ({"expect_args": {}}, "expect_args", "got {}"),
        ({"expect_args": {"a": "b"}}, "expect_args", "an object of args"),
        ({"expect_args": [{"tool": "a"}]}, "expect_args", 'got {"tool": "a"}'),
        ({"expect_args": [{"tool": "a", "args": {}, "macth": "exact"}]}, "expect_args", "did you mean 'match'?"),
        ({"expect_args": [{"tool": "a", "args": {}, "match": "partial"}]}, "expect_args", 'got "partial"'),
        ({"expect_args": [{"tool": "a", "args": {}, "only": "x"}]}, "expect_args", "only has to be a list"),
        (
            {"expect_args": [{"tool": "a", "args": {}, "succeeds": "yes"}]},
            "expect_args",
            "succeeds has to be true or false",
        ),
        ({"expect_tool": "a", "caps": {"turn": 5}}, "caps", "did you mean 'turns'?"),
        ({"expect_tool": "a", "caps": {"turns": -1}}, "caps", "turns has to be a number of at least 0; got -1"),
        ({"expect_tool": "a", "caps": {"turns": True}}, "caps", "got true"),
        ({"expect_tool": "a", "caps": {"seconds": float("nan")}}, "caps", "got NaN"),
        ({"expect_tool": "a", "caps": 5}, "caps", "limits by name"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key_and_value(data: dict[str, Any], key: str, says: str) -> None:
    assert [key] == [found for found, what in problems(data) if says in what]


def test_all_problems_are_told_at_once_and_are_the_users() -> None:
    found = problems({"expect_tool": 5, "forbid_tool": [], "caps": {"turns": "x", "tokenz": 1}})
    assert ["expect_tool", "forbid_tool", "caps", "caps"] == [key for key, _ in found]
    assert ExitCode.USAGE is ExpectationError.exit_code
