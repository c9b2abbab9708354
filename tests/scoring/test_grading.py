"""The verdict comes from the report and the exit code; everything else is a state of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.grading import Suite, judge_run
from crucible.scoring.junit import Junit, read_junit
from crucible.world.types import Execution

EXPECTED = frozenset({"t::a", "t::b"})
SUITE = Suite("python3 -m pytest -q", expected=EXPECTED)


def ran(code: int | None) -> Execution:
    return Execution(code, "", 0, 0.1)


def junit(passed: set[str], failed: set[str] = frozenset()) -> Junit:  # type: ignore[assignment] # a literal reads better
    return Junit(frozenset(passed), frozenset(failed))


@pytest.mark.parametrize(
    ("code", "report", "state"),
    [
        (0, junit({"t::a", "t::b"}), "green"),
        (0, junit({"t::a", "t::b", "t::new"}), "green"),
        (0, junit({"t::a"}), "red"),
        (0, junit(set()), "red"),
        (0, junit({"t::a", "t::b"}, {"t::c"}), "red"),
        (0, "no report was written", "ended_early"),
        (1, junit({"t::a"}, {"t::b"}), "red"),
        (2, junit({"t::a"}, {"t.mod"}), "red"),
        (2, junit(set()), "interrupted"),
        (3, "no report was written", "internal_error"),
        (4, "no report was written", "usage_error"),
        (5, junit(set()), "no_tests"),
        (-9, "no report was written", "killed"),
        (137, "no report was written", "killed"),
        (None, junit({"t::a", "t::b"}), "timed_out"),
    ],
)
def test_states(code: int | None, report: Junit | str, state: str) -> None:
    graded = judge_run(ran(code), report, SUITE)
    assert state == graded.state
    assert (state == "green") is graded.green


def test_a_run_that_met_a_limit_of_the_sandbox_was_killed_and_says_which() -> None:
    graded = judge_run(Execution(0, "", 0, 0.1, limit="memory"), junit({"t::a", "t::b"}), SUITE)
    assert ("killed", "memory") == (graded.state, graded.limit)
    assert "stopped by the sandbox: more memory than allowed" == graded.detail


def test_without_a_report_only_the_exit_code_is_known() -> None:
    suite = Suite("make check")
    assert "green" == judge_run(ran(0), None, suite).state
    assert "red" == judge_run(ran(2), None, suite).state
    assert judge_run(ran(0), None, suite).passed is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python3 -m pytest -q", True),
        ("pytest", True),
        ("/opt/x/bin/pytest tests", True),
        ("PYTHONPATH=src python -m pytest", True),
        ("make pytests", False),
        ("npm test", False),
    ],
)
def test_pytest_is_recognised(command: str, expected: bool) -> None:
    assert expected is Suite(command).is_pytest


def test_a_report_is_sorted_into_passed_failed_and_skipped() -> None:
    text = (
        b'<testsuites><testsuite><testcase classname="m" name="ok"/>'
        b'<testcase classname="m" name="bad"><failure/></testcase><testcase classname="m" name="bad"/>'
        b'<testcase classname="m" name="broken"><error/></testcase>'
        b'<testcase classname="m" name="left"><skipped/></testcase></testsuite></testsuites>'
    )
    expected = Junit(frozenset({"m::ok"}), frozenset({"m::bad", "m::broken"}), frozenset({"m::left"}))
    assert expected == read_junit(text)


def test_entities_are_refused() -> None:
    assert "the report declares entities" == read_junit(b'<!DOCTYPE x [<!ENTITY a "b">]><testsuites/>')


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_a_reason(data: bytes) -> None:
    assert isinstance(read_junit(data), Junit | str)
