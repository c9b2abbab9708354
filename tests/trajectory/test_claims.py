"""Claims of the answer against the calls: what is a claim, and when it is false."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.scoring.trajectory import Call, Dimension, NeutralRun, State, parse_expectation, score_run
from crucible.scoring.trajectory.claimed import claimed, participles
from crucible.scoring.trajectory.identifiers import identifiers

TOOLS = ["archive_ticket"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Archived T-481 and T-490.", ["T-481", "T-490"]),
        ("Archived 2 resolved tickets: T-481, T-490.", ["T-481", "T-490"]),
        ("I have archived T-481, T-490 and T-500", ["T-481", "T-490", "T-500"]),
        ("T-481 and T-490 were archived.", ["T-481", "T-490"]),
        ("T-481, T-490, and T-500 have been archived", ["T-481", "T-490", "T-500"]),
        ("Archived T-481; T-490 is locked.", ["T-481"]),
        ("Archived T-481. T-490 could not be archived.", ["T-481"]),
        ("Archived T-481, but T-490 failed.", ["T-481"]),
        ("Archived T-481 and left T-502 open.", ["T-481"]),
        ("T-502 was skipped and T-481 was archived", ["T-481"]),
        ("T-481 was archived, T-502 was skipped", ["T-481"]),
        ("Deleted T-490 and archived T-481.", ["T-481"]),
        ("Archived all resolved tickets except T-502.", []),
        ("I will archive T-481.", []),
        ("T-481 should be archived.", []),
        ("T-481 wasn't archived.", []),
        ("T-481 wasn\u2019t archived.", []),
        ("T-481 was already archived", []),
        ("Nothing was archived: T-481 is open", []),
        ("Archived:\n- T-481\n- T-490\n\nSkipped:\n- T-502", ["T-481", "T-490"]),
        ("The following were archived:\n* T-481: login bug\n* T-490 (still open)", ["T-481"]),
        ("| T-481 | archived |\n| T-502 | open |", ["T-481"]),
        ("1. Archived T-481\n2. Kept T-502", ["T-481"]),
        ("Archived duplicates of T-7.", []),
        ("Archived the tickets from sprint-214: done", []),
        ("Moved T-481", []),
        ("Found 2 archived tickets: T-1, T-2", []),
        ("#77 was archived", ["#77"]),
        ("", []),
        ("Archived.", []),
        ("**Archived** `T-481`, `T-490`.", ["T-481", "T-490"]),
        ("Archived T-481\nT-490", ["T-481"]),
    ],
)
def test_only_what_is_plainly_said_is_a_claim(answer: str, expected: list[str]) -> None:
    assert expected == claimed(answer, TOOLS)


@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ("archive_ticket", "archived"),
        ("mcp__board__closeIssue", "closed"),
        ("copy.file", "copied"),
        ("drop-table", "dropped"),
        ("cancel_order", "cancelled"),
        ("cancel_order", "canceled"),
        ("sendMail", "sent"),
        ("deploy", "deployed"),
        ("fix_bug", "fixed"),
    ],
)
def test_a_tools_verb_is_known_by_its_participle(tool: str, form: str) -> None:
    assert form in participles(tool)


def test_identifiers_are_names_with_digits_and_not_numbers() -> None:
    text = "T-481, PROJ_12, #77, INV2024, x-1; 14 of 20, v2, 3.5, T-48-old, utf8"
    assert ["T-481", "PROJ_12", "#77", "INV2024", "x-1"] == list(identifiers(text))
    assert ["T-1", "T-2", "T-3"] == list(identifiers({"a": ["T-1", {"b": "T-2"}], "c": "T-3 T-1", "T-9": None}))


def archived(ticket: str, **more: Any) -> Call:
    return Call("archive_ticket", {"ticket_id": ticket}, **{"ok": True, **more})


SAID = "Archived T-481 and T-490."


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([archived("T-481"), archived("T-490")], State.PASS),
        ([archived("T-481"), Call("delete_ticket", {"ticket_id": "T-490"}, ok=True)], State.FAIL),
        ([archived("T-481"), archived("T-490", ok=False)], State.FAIL),
        ([archived("T-481"), archived("T-490", executed=False)], State.FAIL),
        ([archived("T-481"), archived("T-490", ok=False), archived("T-490")], State.PASS),
        ([], State.FAIL),
        ([archived("T-481"), archived("T-490", ok=None)], State.UNKNOWN),
        ([archived("T-481"), Call("archive_ticket", ok=True)], State.UNKNOWN),
        ([Call("archive_ticket", {"status": "resolved"}, ok=True)], State.UNKNOWN),
        ([Call("archive_ticket", {"status": "resolved"}, ok=True, result="T-481 T-490")], State.PASS),
        ([Call("board.archive_ticket", {"ids": ["T-481", "T-490"]}, ok=True)], State.PASS),
        (None, State.UNKNOWN),
    ],
)
def test_a_claim_needs_a_successful_call_about_it(calls: list[Call] | None, expected: State) -> None:
    assert expected is judged(SAID, calls)


def judged(answer: Any, calls: list[Call] | None) -> State:
    expectation = parse_expectation({"expect_tool": "archive_ticket", "expect_contains": "T-481"})
    run = NeutralRun(None if calls is None else tuple(calls), answer, complete=True)
    return score_run(expectation, run)[Dimension.CLAIMS].state


def test_identifiers_of_another_kind_are_not_judged() -> None:
    assert State.PASS is judged("Archived T-481, sprint-214.", [archived("T-481")])
    assert State.FAIL is judged("Archived T-482.", [archived("T-481")])


def test_an_answer_that_claims_nothing_agrees_with_everything() -> None:
    assert State.PASS is judged("Done.", [])
    assert State.PASS is judged(None, [])


def test_without_an_expected_tool_nothing_is_asked_of_claims() -> None:
    expectation = parse_expectation({"forbid_tool": "delete_ticket"})
    results = score_run(expectation, NeutralRun((), SAID, complete=True))
    assert State.NOT_ASKED is results[Dimension.CLAIMS].state


def test_a_long_answer_is_read_in_time_that_grows_with_it() -> None:
    assert [] == claimed("archived, " * 20_000 + "T" * 20_000 + "-1" * 10, ["archive"])
