"""`crucible gate`: it holds, it fails, or the data do not tell; the last is never a pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.cli.app import run_app
from crucible.errors import UsageError
from crucible.report.gate import Asked, Reading, asked_of, decide, gate
from crucible.report.overall import overall
from crucible.report.verdict import Word
from crucible.stats.interval import Interval
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results" / "crucible.db") as opened:
        yield opened


def arms(passed_t: int, passed_b: int, n: int, lost: int = 0) -> dict[str, list[Filled]]:
    def of(passed: int, none: int) -> list[Filled]:
        return [*(Filled(i < passed) for i in range(n - none)), *[Filled(None)] * none]

    return {"new": of(passed_t, lost), "old": of(passed_b, 0)}


def scored(new: list[float | None], old: list[float | None]) -> dict[str, list[Filled]]:
    return {"new": [Filled(True, s) for s in new], "old": [Filled(True, s) for s in old]}


def outcome(store: Store, run_id: int, way: str, points: float, about: str = "these") -> str:
    return gate(store, run_id, Asked(way, points, about)).outcome  # type: ignore[arg-type] # literals as parameters


@pytest.mark.parametrize(
    ("interval", "way", "points", "expected"),
    [
        ((-0.04, 0.1), "no worse than", 5, "holds"),
        ((-0.05, 0.1), "no worse than", 5, "inconclusive"),
        ((-0.2, -0.06), "no worse than", 5, "fails"),
        ((-0.2, -0.05), "no worse than", 5, "inconclusive"),
        ((0.01, 0.2), "no worse than", 0, "holds"),
        ((0.01, 0.2), "better by", 0, "holds"),
        ((0.0, 0.2), "better by", 0, "inconclusive"),
        ((-0.2, 0.0), "better by", 0, "fails"),
        ((0.06, 0.2), "better by", 5, "holds"),
        ((-0.2, 0.04), "better by", 5, "fails"),
        (None, "better by", 5, "inconclusive"),
    ],
)
def test_the_answer_is_read_off_the_interval(
    interval: tuple[float, float] | None, way: str, points: float, expected: str
) -> None:
    shown = None if interval is None else Interval(*interval, 0.9, "x")
    words = {"holds": "better", "fails": "worse"}
    found = decide(Asked(way, points), Reading(0.0, shown, words.get(expected, "inconclusive")))  # type: ignore[arg-type] # literals as parameters
    assert expected == found


def test_better_and_worse_need_the_verdict_of_the_run_as_well_as_the_interval() -> None:
    """A gate never says more than the report."""
    ahead, behind = Interval(0.01, 0.6, 0.95, "x"), Interval(-0.6, -0.01, 0.90, "x")
    assert "inconclusive" == decide(Asked("better by", 0), Reading(0.3, ahead, "inconclusive"))
    assert "inconclusive" == decide(Asked("no worse than", 0), Reading(-0.3, behind, "inconclusive"))


def test_a_direction_the_report_does_not_name_is_not_named_by_a_gate(store: Store) -> None:
    """A one-sided 5% finds it, the run's two-sided test does not: p = 0.098."""
    run_id = fill_run(store, {"s": arms(4, 8, 10)}, "old")
    run, found = overall(store, run_id), gate(store, run_id, Asked("no worse than", 0))
    assert run is not None
    assert ("inconclusive", "inconclusive") == (run.verdict.word, found.outcome)
    assert found.interval is not None
    assert found.interval.high < 0
    assert "The interval alone would do, but the run's own test does not find a difference." in found.sentence


def test_a_border_case_of_a_run_until_decided_is_said(store: Store) -> None:
    """The boundary is crossed, the interval that goes with it still holds 0: better, but not shown by how much."""
    run_id = fill_run(store, {"s": arms(4, 0, 4)}, "old", sequential=True, blocks=10)
    run, found = overall(store, run_id), gate(store, run_id, Asked("better by", 0))
    assert run is not None
    assert run.verdict.interval is not None
    assert ("better", True) == (run.verdict.word, run.verdict.interval[0] < 0)
    assert "A border case: test and interval are two methods" in run.verdict.sentence
    assert "inconclusive" == found.outcome
    assert (
        "The run's own test finds a difference, but the interval does not exclude that there is none." in found.sentence
    )


def test_of_scenarios_like_these_a_gate_says_no_more_than_of_these(store: Store) -> None:
    """All scenarios differ by one pass: hardly any spread between them, and hardly any evidence on them."""
    passed = [(3, 2), (4, 4), (2, 1), (1, 0), (5, 4)]
    run_id = fill_run(store, {f"s{n}": arms(new, old, 5) for n, (new, old) in enumerate(passed)}, "old")
    for asked in (Asked("better by", 0, "like-these"), Asked("no worse than", 0, "like-these")):
        found = gate(store, run_id, asked)
        assert "inconclusive" == found.outcome
        assert "The interval alone would do. The scenarios agree among themselves, but" in found.sentence


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 100), st.booleans())
def test_a_gate_never_holds_for_both_arms_and_never_holds_and_fails(
    middle: float, half: float, points: float, told: bool
) -> None:
    ways: tuple[Word, Word] = ("better", "worse") if told else ("inconclusive", "inconclusive")
    forth = Reading(middle, Interval(middle - half, middle + half, 0.9, "x"), ways[middle < 0])
    back = Reading(-middle, Interval(-middle - half, half - middle, 0.9, "x"), ways[middle >= 0])
    ahead = decide(Asked("better by", points), forth)
    assert (ahead, "holds") != (decide(Asked("better by", points), back), ahead)
    if points and ahead == "holds":
        assert "holds" != decide(Asked("no worse than", points), back)


def test_one_scenario_says_what_it_rests_on(store: Store) -> None:
    found = gate(store, fill_run(store, {"s": arms(9, 3, 10)}, "old"), Asked("better by", 0))
    assert (
        "Holds: new is better than old on this scenario: +60.0 points, 95% interval +17.0 to +84.1 "
        "(Miettinen-Nurminen)."
    ) == found.sentence
    assert 0 == found.exit_code


def test_shown_to_be_worse_fails_and_few_attempts_do_not_tell(store: Store) -> None:
    assert "fails" == outcome(store, fill_run(store, {"s": arms(1, 10, 10)}, "old"), "no worse than", 5)
    few = gate(store, fill_run(store, {"few": arms(2, 2, 3)}, "old"), Asked("no worse than", 5))
    assert ("inconclusive", 3) == (few.outcome, few.exit_code)
    assert "If the arms are equally good, about" in few.sentence


def test_several_scenarios_weigh_the_same_and_both_claims_differ(store: Store) -> None:
    run_id = fill_run(store, {f"s{n}": arms(10 - n % 3, 5, 10) for n in range(6)}, "old")
    assert "holds" == outcome(store, run_id, "better by", 20)
    like = gate(store, run_id, Asked("better by", 20, "like-these"))
    assert "on scenarios like these" in like.sentence
    assert "paired t" in like.sentence


def test_one_scenario_says_nothing_about_scenarios_like_it(store: Store) -> None:
    found = gate(store, fill_run(store, {"s": arms(10, 0, 10)}, "old"), Asked("better by", 0, "like-these"))
    assert "inconclusive" == found.outcome
    assert "one scenario, however often it is attempted, says nothing about others" in found.sentence


def test_scores_are_gated_on_the_score_when_that_was_declared(store: Store) -> None:
    one = scored([0.9, 0.8, 0.85, 0.9, None], [0.4, 0.5, 0.45, 0.4, 0.5])
    found = gate(store, fill_run(store, {"s": one}, "old", primary_metric="score"), Asked("better by", 20))
    assert ("holds", "score") == (found.outcome, found.metric)
    assert "9 of 10 attempts scored" in found.sentence
    alike = fill_run(store, {"alike": scored([0.5] * 3, [0.5] * 3)}, "old", primary_metric="score")
    assert "inconclusive" == outcome(store, alike, "no worse than", 5)


def test_all_green_on_both_sides_is_no_certainty(store: Store) -> None:
    found = gate(store, fill_run(store, {"s": arms(10, 10, 10)}, "old"), Asked("no worse than", 5))
    assert found.interval is not None
    assert found.interval.low < -0.05 < 0.05 < found.interval.high
    assert "inconclusive" == found.outcome


def test_the_interval_for_better_is_the_reports_and_that_for_no_worse_is_narrower(store: Store) -> None:
    run_id = fill_run(store, {f"s{n}": arms(9 - n % 3, 5, 10) for n in range(4)}, "old")
    run = overall(store, run_id)
    better, no_worse = (gate(store, run_id, Asked(way, 5)).interval for way in ("better by", "no worse than"))  # type: ignore[arg-type] # literals as parameters
    assert run is not None
    assert better is not None
    assert no_worse is not None
    assert run.verdict.interval == (better.low, better.high)
    assert (0.95, 0.90) == (better.level, no_worse.level)
    assert better.low < no_worse.low < no_worse.high < better.high


def test_a_run_that_stopped_early_is_read_off_its_repeated_interval(store: Store) -> None:
    run_id = fill_run(store, {"s": arms(6, 0, 6)}, "old", sequential=True, blocks=20)
    run, found = overall(store, run_id), gate(store, run_id, Asked("better by", 0))
    assert run is not None
    assert found.interval is not None
    assert ("holds", run.verdict.interval) == (found.outcome, (found.interval.low, found.interval.high))
    assert "repeated over all looks" in found.sentence
    going_on = fill_run(store, {"going": arms(3, 0, 3)}, "old", sequential=True, blocks=20)
    assert "inconclusive" == outcome(store, going_on, "no worse than", 50)


def test_nothing_is_gated_that_was_not_tested(store: Store) -> None:
    rehearsed = fill_run(store, {"s": arms(10, 0, 10)}, "old", rehearsal=True)
    lost = fill_run(store, {"lost": arms(1, 5, 10, lost=10)}, "old")
    incomplete = fill_run(store, {"half": arms(9, 0, 10, lost=1)}, "old")
    itself = fill_run(store, {"aa": arms(9, 0, 10)}, "old", kind="aa")
    empty = fill_run(store, {}, "old")
    found = [gate(store, run, Asked("better by", 0)) for run in (rehearsed, lost, incomplete, itself, empty)]
    assert ["inconclusive"] * 5 == [one.outcome for one in found]
    assert all(one.interval is None for one in found)


@pytest.mark.parametrize(
    ("options", "gist"),
    [
        ([], "a gate asks one thing"),
        (["--no-worse-than", "5", "--better-by", "0"], "a gate asks one thing"),
        (["--no-worse-than", "-5"], "takes 0 to 100 points, got -5"),
        (["--better-by", "nan"], "takes 0 to 100 points, got nan"),
        (["--better-by", "101"], "takes 0 to 100 points, got 101"),
        (["--better-by", "0", "--claim", "all"], "these or like-these, got 'all'"),
    ],
)
def test_bad_options_exit_2(bench: Path, capsys: pytest.CaptureFixture[str], options: list[str], gist: str) -> None:
    with Store(bench / "results" / "crucible.db"):
        assert 2 == run_app(["-C", str(bench), "gate", "1", *options])
    assert gist in capsys.readouterr().err


def test_the_exit_code_is_what_ci_reads(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(bench / "results" / "crucible.db") as opened:
        fill_run(opened, {"s": arms(9, 3, 10)}, "old")
    here = ["-C", str(bench), "gate"]
    assert 0 == run_app([*here, "1", "--better-by", "0"])
    assert 3 == run_app([*here, "1", "--better-by", "50"])
    assert 2 == run_app([*here, "7", "--better-by", "0"])
    assert "there is no run 7" in capsys.readouterr().err
    assert 0 == run_app([*here, "1", "--no-worse-than", "5", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert ("holds", 0, "pass_rate") == (said["outcome"], said["exit_code"], said["metric"])


def test_options_become_a_question() -> None:
    assert Asked("no worse than", 5) == asked_of(5, None, "these")
    assert Asked("better by", 0, "like-these") == asked_of(None, 0, "like-these")
    with pytest.raises(UsageError, match="one thing"):
        asked_of(None, None, "these")
