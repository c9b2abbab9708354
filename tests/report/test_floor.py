"""`crucible floor` prints the numbers of the worked example, and says what a small count is worth."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.cli.app import run_app
from crucible.errors import UsageError
from crucible.report.floor import floor_of, read_report, simulated


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert 0 == run_app(["floor", *arguments])
    return capsys.readouterr().out


def test_two_of_ten_is_fourteen_green_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "2/10")
    for row in (
        "   1   80.00%",
        "   2   64.00%",
        "   3   51.20%",
        "  10   10.74%",
        "  13    5.50%",
        "  14    4.40%",
        "floor: 14 green runs, for 2 of 10 as quoted and a tolerance of 5%",
        "  22 runs, averaged over what the rate may be (Jeffreys)",
        "  80 runs, at the 95% lower limit of the rate (Clopper-Pearson)",
        "14 greens would happen 4.40% of the time with the bug unchanged",
    ):
        assert row in text.splitlines()


def test_the_arithmetic_is_shown_three_ways(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "2/10", "--explain")
    assert "green green  0.6400" in text
    assert "formula 0.1074" in text
    assert simulated(read_report("0.2").rate, 10, seed=1) == pytest.approx(0.1074, abs=0.002)


def test_the_same_rate_from_more_runs_leaves_less_slack() -> None:
    averaged = [floor_of(read_report(text), "0.05", None).averaged for text in ("2/10", "4/20", "20/100")]
    assert [22, 18, 15] == averaged


def test_what_the_runs_take_is_said_when_one_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds, all_of_them in (("2", "28 s"), ("60", "14 min"), ("3600", "14 h")):
        expected = f"  at {seconds} s each they take {all_of_them}, one after another"
        assert expected in said(capsys, "2/10", "--seconds", seconds).splitlines()


def test_one_run_is_not_runs_and_a_small_rate_is_not_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "floor: 1 green run, for 10 of 10" in said(capsys, "10/10")
    assert "it lies anywhere from 0.0025% to 0.6%" in said(capsys, "1/1000")


def test_a_bare_rate_says_that_its_certainty_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "how sure the rate is, is not known" in said(capsys, "0.2")
    assert json.loads(said(capsys, "0.2", "--json"))["floor_averaged_over_the_rate"] is None


def test_a_rare_bug_is_too_flaky_and_a_certain_one_a_unit_tests_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too flaky to confirm cheaply: 299 runs" in said(capsys, "1/100")
    assert "a unit test's job" in said(capsys, "19/20")


def test_floats_do_not_move_the_floor() -> None:
    assert 2 == floor_of(read_report("0.9"), "0.1", None).floor
    assert 3 == floor_of(read_report("1/2"), "0.25", None).floor


@pytest.mark.parametrize("report", ["11/10", "0/10", "2/0", "nan", "-1/10", "", "two", "1e400", "0", "1.5"])
def test_what_is_no_report_is_refused_in_one_line(report: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == run_app(["floor", "--", report])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("tolerance", ["0", "1", "x", "nan", "-0.1"])
def test_a_tolerance_lies_between_nothing_and_all(tolerance: str) -> None:
    with pytest.raises(UsageError, match="tolerance"):
        floor_of(read_report("2/10"), tolerance, None)


@given(st.text(max_size=12))
def test_any_text_is_a_report_or_an_error_of_the_users(text: str) -> None:
    try:
        report = read_report(text)
    except UsageError:
        return
    assert 0 < report.rate <= 1
