"""Errors and their repair."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.scoring.trajectory import Call, Dimension, NeutralRun, Result, State, parse_expectation, score_run


def call(ticket: str | None, ok: bool | None = True, **more: Any) -> Call:
    args = {} if ticket is None else {"ticket_id": ticket}
    return Call(more.pop("tool", "archive_ticket"), more.pop("args", args), ok=ok, **more)


def recovery(calls: list[Call], of: Any = "archive_ticket") -> Result:
    run = NeutralRun(tuple(calls), "done", complete=True)
    return score_run(parse_expectation({"recovers_from": of}), run)[Dimension.RECOVERY]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("T-490", ok=False), call("T-490")], State.PASS),
        ([call("T-490", ok=False), call("T-481")], State.FAIL),
        ([call("T-490"), call("T-490", ok=False)], State.FAIL),
        ([call("T-490", ok=False)], State.FAIL),
        ([call(None, ok=False), call("T-490")], State.PASS),
        ([call("T-490", ok=False), call(None, args={"ids": ["T-481", "T-490"]})], State.PASS),
        ([call("T-490", ok=False), call("T-490", tool="close_ticket")], State.FAIL),
        ([call("T-490", ok=False), call("T-490", executed=False)], State.FAIL),
        ([call("T-490", ok=False), Call("archive_ticket", ok=True)], State.UNKNOWN),
        ([call("T-490", ok=False), call("T-490", ok=None)], State.UNKNOWN),
        ([call(None, ok=False, args=None, raw_args='{"ticket_id": T-490'), call("T-490")], State.PASS),
        ([call(None, ok=False, args=None, raw_args='{"ticket_id": T-490'), call("T-481")], State.FAIL),
        ([call("T-490")], State.UNKNOWN),
        ([call("T-490", ok=None)], State.UNKNOWN),
        ([], State.UNKNOWN),
    ],
)
def test_an_error_is_repaired_by_a_later_success_about_the_same_thing(calls: list[Call], expected: State) -> None:
    assert expected is recovery(calls).state


def test_one_unrepaired_error_among_repaired_ones_fails_and_is_named() -> None:
    result = recovery([call("T-1", ok=False), call("T-2", ok=False), call("T-1")])
    assert (State.FAIL, {"errors": 2, "repaired": 1, "blind_retries": 0}) == (result.state, result.numbers)
    assert 'the error of call 2, archive_ticket(ticket_id="T-2"), was not repaired' == result.detail


def test_blind_retries_are_counted_and_a_retry_that_works_is_none() -> None:
    failing = [call("T-1", ok=False)] * 3
    result = recovery([*failing, call("T-1")])
    assert (State.PASS, 2) == (result.state, result.numbers["blind_retries"])
    assert "3 of 3 errors repaired; 2 blind retries" == result.detail
    apart = recovery([call("T-1", ok=False), call("T-9", tool="look"), call("T-1", ok=False), call("T-1")])
    assert 0 == apart.numbers["blind_retries"]


def test_a_sub_agents_call_in_between_does_not_hide_a_blind_retry() -> None:
    calls = [call("T-1", ok=False), call("T-5", parent="p"), call("T-1", ok=False), call("T-1")]
    assert 1 == recovery(calls).numbers["blind_retries"]


def test_any_tool_may_be_meant_and_others_are_left_out() -> None:
    calls = [call("T-1", ok=False, tool="look"), call("T-2", ok=False), call("T-2")]
    assert State.PASS is recovery(calls).state
    assert State.FAIL is recovery(calls, True).state
    assert State.FAIL is recovery(calls, ["look", "archive_ticket"]).state


def test_a_run_without_errors_shows_nothing_and_says_so() -> None:
    assert "no call failed" in recovery([call("T-1")]).detail
    assert "does not say which calls failed" in recovery([call("T-1", ok=None)]).detail
