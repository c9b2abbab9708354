"""What a report keeps to itself: comparisons nobody may make yet, and tests beside a verdict that was not given."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import delete
from sqlmodel import col, select

from crucible.report.costs import NOT_COMPARED
from crucible.report.overall import Overall, overall
from crucible.report.runs import run_lines, run_table
from crucible.report.terminal import beside, run_view
from crucible.report.words import spans
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, JudgeRow, PlannedRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now


def priced(k: int, n: int) -> list[Filled]:
    return [Filled(i < k, 0.2 + 0.5 * (i < k) + i / 100, 0.1 + i / 1000, 1000 + i, 9.0 + i / 10) for i in range(n)]


def read(store: Store, run_id: int) -> Overall:
    found = overall(store, run_id)
    assert found is not None
    return found


def shown(store: Store, run_id: int) -> str:
    console = Console(width=120, record=True, file=StringIO())
    console.print(run_view(store, run_id), highlight=False)
    return " ".join(console.export_text().replace("─", "").split())


@pytest.mark.parametrize(
    ("new", "old", "run"),
    [
        pytest.param(priced(9, 10), priced(2, 10), {"rehearsal": True}, id="a rehearsal"),
        pytest.param(priced(9, 10), priced(2, 10), {"kind": "aa"}, id="an arm against itself"),
        pytest.param(priced(8, 9), priced(2, 10), {"blocks": 10}, id="a run that is not complete"),
        pytest.param(priced(3, 3), priced(0, 3), {"sequential": True, "blocks": 10}, id="before the first look"),
    ],
)
def test_without_a_verdict_nothing_is_compared(
    store: Store, new: list[Filled], old: list[Filled], run: dict[str, Any]
) -> None:
    """Means are progress; a ratio, a test or a difference would be a look half-way."""
    run_id = fill_run(store, {"s": {"new": new, "old": old}}, "old", **run)
    found = read(store, run_id)
    assert not found.compared
    assert found.costs is not None
    assert found.times is not None
    assert {(None, None, None, NOT_COMPARED)} == {
        (way.ratio, way.interval, way.p_value, way.why_not) for way in (*found.costs.ways, found.times.way)
    }
    assert found.costs.ways[0].treatment.value is not None
    assert ((), (), (), None) == (found.dimensions, found.scenarios, found.could_see, found.dominance)
    assert NOT_COMPARED == beside(store, found).trust.why_not
    text = shown(store, run_id)
    assert " times (" not in text
    assert "+" not in text.partition("How far apart?")[2].partition("Order within")[0]


def test_an_arm_against_itself_is_reported_as_that(store: Store) -> None:
    """`compare` on an A/A run says whether the halves differ, and the noise."""
    run_id = fill_run(store, {"s": {"old-again": priced(3, 6), "old": priced(2, 6)}}, "old", kind="aa")
    text = shown(store, run_id)
    assert "One arm against itself A/A run 1 on s: old against itself" in text
    assert "The halves do not differ beyond chance, as it should be" in text
    assert "noise floor from 1 A/A run, 6 attempts against 6 of the same set-up" in text


def test_noise_stands_behind_every_difference_of_its_scenario(store: Store) -> None:
    """In a column of its own beside rates, scores, costs, tokens and time; of several scenarios in their own rows."""
    fill_run(store, {"s": {"old-again": priced(3, 6), "old": priced(2, 6)}}, "old", kind="aa")
    one = shown(store, fill_run(store, {"s": {"new": priced(6, 6), "old": priced(1, 6)}}, "old"))
    for heads in ("difference identical arms pass rate", "ratio of geometric means identical arms as billed"):
        assert heads in one
    for row in ("pass rate 100%", " score 0.", "as billed", "tokens billed", " time "):
        assert " to " in one.rpartition(row)[2][:120], row
    several = {name: {"new": priced(6, 6), "old": priced(1, 6)} for name in ("s", "t")}
    text = shown(store, fill_run(store, several, "old"))
    assert "Holm BH identical arms" in text


def test_what_a_run_until_decided_could_see_is_its_designs(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(8, 8), "old": priced(0, 8)}}, "old", sequential=True, blocks=20)
    (said,) = read(store, run_id).could_see
    assert said.startswith(
        "A run until decided of at most 20 pairs finds a difference of 42 points from 50% four times in"
    )
    assert "attempts counted 8 of at most 20 8 of at most 20" in shown(store, run_id)
    tiny = fill_run(store, {"t": {"new": priced(5, 5), "old": priced(0, 5)}}, "old", sequential=True, blocks=5)
    assert "finds no difference from 50% four times in five, however large" in read(store, tiny).could_see[0]


def test_costs_of_scenarios_that_stopped_early_are_compared_though_their_mean_rate_is_not(store: Store) -> None:
    run = {f"s{n}": {"new": priced(8, 8), "old": priced(0, 8)} for n in range(2)}
    found = read(store, fill_run(store, run, "old", sequential=True, blocks=8))
    assert found.costs is not None
    assert ("inconclusive", True) == (found.verdict.word, found.costs.ways[0].interval is not None)


@pytest.mark.slow
def test_costs_of_scenarios_with_different_arms_are_not_put_together(store: Store) -> None:
    run = {"a": {"new": priced(5, 5), "old": priced(0, 5)}, "b": {"other": priced(5, 5), "old": priced(0, 5)}}
    for sequential in (False, True):
        assert not read(store, fill_run(store, run, "old", sequential=sequential, blocks=5)).compared


def test_scores_by_two_versions_of_the_judge_are_not_compared(store: Store) -> None:
    """A rejudging that was interrupted: the verdict on scores waits, the one on pass rates does not care."""
    scored, passed = (
        fill_run(store, {"s": {"new": priced(9, 10), "old": priced(1, 10)}}, "old", primary_metric=metric)
        for metric in ("score", "pass_rate")
    )
    with store.writing() as session:
        session.add(JudgeRow(id="later", model="m", samples=1, prompt_hash="", rubric_hash="", created_at=now()))
    with store.writing() as session:
        for run_id in (scored, passed):
            mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id, AttemptRow.arm == "new")
            for table in (ScoreRow, TotalRow):
                for row in session.exec(select(table).where(col(table.attempt_id).in_(mine))).all():
                    more = {"judge_id": "later"} | ({"seq": row.seq + 1000} if isinstance(row, TotalRow) else {})
                    session.add(table(**row.model_dump() | more))
    sentence = (
        "No verdict: its attempts were scored by 2 versions of the judge; judge all of them by one (crucible rejudge)."
    )
    assert [sentence] * 3 == [
        read(store, scored).verdict.sentence,
        read(store, scored).claims[1].verdict.sentence,
        read(store, scored).comparisons[0].verdict.sentence,
    ]
    assert "better" == read(store, passed).verdict.word


def test_a_run_of_one_arm_has_nothing_to_subtract(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(2, 2), "old": priced(1, 2)}}, "old")
    with store.writing() as session:
        for table in (TotalRow, ScoreRow):
            session.execute(delete(table))
        for planned in (PlannedRow, AttemptRow):
            session.execute(delete(planned).where(col(planned.arm) == "old"))
    text = shown(store, run_id)
    assert "Results new pass rate" in text
    assert "minus" not in text
    assert "difference" not in text


def test_blocks_that_lack_an_attempt_are_drawn_together(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(1, 1), "old": priced(1, 40)}}, "old", blocks=40)
    assert "INCOMPLETE: blocks 2-40 lack an attempt that counts; crucible run --resume 1" in shown(store, run_id)
    assert ["", "7", "1, 3-5, 9"] == [spans(numbers) for numbers in ((), (7,), (1, 3, 4, 5, 9))]


def test_nobody_is_told_to_go_on_with_a_run_that_is_being_made(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(1, 1), "old": priced(1, 2)}}, "old", blocks=2, status="running")
    assert "INCOMPLETE: block 2 lacks an attempt that counts; it is still being made" in shown(store, run_id)


def test_of_arms_without_an_attempt_that_counts_no_call_is_known(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(1, 1), "old": [Filled(None, cause="provider")]}}, "old")
    assert "calls blocked / warned / got past 0 / 0 / 0 -" in shown(store, run_id)


@pytest.mark.parametrize(
    ("metric", "margin", "said"),
    [
        ("pass_rate", 0.1, "10 points"),
        ("pass_rate", 0.025, "2.5 points"),
        ("pass_rate", 0.01, "1 point"),
        ("score", 0.025, "0.025 of the score"),
    ],
)
def test_a_declared_margin_is_not_rounded(store: Store, metric: str, margin: float, said: str) -> None:
    arms = {"new": priced(3, 3), "old": priced(1, 3)}
    run_id = fill_run(store, {"s": arms}, "old", primary_metric=metric, margin=margin)
    assert f"margin {said})" in shown(store, run_id)


def test_what_is_not_known_has_no_unit(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": priced(3, 3), "old": [Filled(False)] * 3}}, "old")
    assert "time 9.1 s unknown not known for both arms" in shown(store, run_id)


def test_every_report_is_valid_json_with_finite_numbers(store: Store) -> None:
    for number, run in enumerate(({}, {"kind": "aa"}, {"rehearsal": True}, {"sequential": True, "blocks": 12})):
        scene = {f"s{number}": {"new": priced(3, 5), "old": priced(5, 5)}}
        found = overall(store, fill_run(store, scene, "old", **run), detailed=True)
        assert found is not None
        more = beside(store, found)
        json.dumps([found.as_dict(), more.trust.as_dict(), more.itself and more.itself.as_dict()], allow_nan=False)


def test_the_list_of_runs_says_which_may_stop_early(store: Store) -> None:
    fill_run(store, {"s": {"new": priced(8, 8), "old": priced(0, 8)}}, "old", sequential=True, blocks=20)
    (line,) = run_lines(store)
    assert ("16 of at most 40", "until decided") == tuple(
        str(next(iter(run_table([line]).columns[at].cells))) for at in (4, 6)
    )
