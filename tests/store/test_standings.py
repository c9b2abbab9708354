"""What is pooled on the leaderboard: one set-up, one judge version, attempts whose number was fixed beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import text

from crucible.store.filling import JUDGE, Filled, fill_run
from crucible.store.standings import QUERIES, LeaderboardLine, leaderboard
from crucible.store.tables import JudgeRow, TotalRow
from crucible.store.writes import Store, now

GREEN, RED = Filled(True, 0.9, 0.1), Filled(False, 0.2, 0.3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as made:
        yield made


def fill(
    store: Store, new: Sequence[Filled], old: Sequence[Filled], setup: str = "", name: str = "s", **run: object
) -> int:
    """A run of arms `new` and `old`; the attempts of `new` were set up like that."""
    run_id = fill_run(store, {name: {"new": new, "old": old}}, "old", **run)
    given = {"run": run_id, "setup": setup}
    with store.writing() as session:
        session.execute(text("UPDATE attempt SET setup = :setup WHERE run_id = :run AND arm = 'new'"), given)
        session.execute(text("UPDATE total SET setup = a.setup FROM attempt a WHERE a.id = attempt_id"))
    return run_id


def judge_again(store: Store, judge_id: str, values: dict[int, float | None]) -> None:
    store.ensure(JudgeRow(id=judge_id, model="m", samples=1, prompt_hash="", rubric_hash="", created_at=now()))
    for attempt_id, value in values.items():
        total = TotalRow(
            attempt_id=attempt_id, judge_id=judge_id, seq=0, value=value, partial=value, weight_scored=1.0, missing=[]
        )
        store.add_judging(attempt_id, judge_id, [], [], total)


def line(store: Store, arm: str, setup: str = "") -> LeaderboardLine:
    (found,) = [one for one in leaderboard(store) if (one.arm, one.setup) == (arm, setup)]
    return found


@pytest.mark.parametrize("status", ["running", "interrupted", "stopped"])
def test_a_run_that_is_not_over_is_counted_and_not_ranked(store: Store, status: str) -> None:
    fill(store, [GREEN] * 4, [RED] * 4)
    fill(store, [RED] * 3, [GREEN] * 2, status=status)
    new, old = line(store, "new"), line(store, "old")
    assert (4, 4, 4, 3) == (new.counted, new.passed, new.scored, new.left_out)
    assert (4, 0, 4, 2) == (old.counted, old.passed, old.scored, old.left_out)


def test_a_run_that_lost_attempts_to_others_is_ranked(store: Store) -> None:
    fill(store, [GREEN] * 4, [RED] * 3, status="incomplete")
    assert (4, 3) == (line(store, "new").counted, line(store, "old").counted)


def test_attempts_set_up_in_different_ways_are_lines_of_their_own(store: Store) -> None:
    fill(store, [GREEN] * 4, [RED] * 4)
    fill(store, [RED] * 3, [RED] * 3, setup="without extra tools")
    assert (4, 4, 0.9) == (line(store, "new").counted, line(store, "new").passed, line(store, "new").mean_total)
    other = line(store, "new", "without extra tools")
    assert (3, 0, 3, 0.2, "new (without extra tools)") == (
        other.counted, other.passed, other.scored, pytest.approx(other.mean_total), other.arm_as_run,
    )  # fmt: skip
    assert (7, "old") == (line(store, "old").counted, line(store, "old").arm_as_run)


@pytest.mark.parametrize("kind", ["aa", "control"])
def test_runs_that_compare_nothing_are_never_on_it(store: Store, kind: str) -> None:
    fill(store, [GREEN], [RED], kind=kind)
    fill(store, [GREEN], [RED], kind=kind, sequential=True)
    assert [] == leaderboard(store)
    fill(store, [GREEN] * 2, [RED] * 2)
    assert [2, 2] == [one.counted for one in leaderboard(store)]


def test_attempts_of_runs_that_may_stop_early_are_counted_and_in_no_rate(store: Store) -> None:
    fill(store, [GREEN] * 6, [RED] * 6, sequential=True, blocks=20)
    only_early = line(store, "new")
    assert (0, 0, 0, None, None, 6) == (
        only_early.counted, only_early.passed, only_early.scored, only_early.mean_total, only_early.mean_cost_usd,
        only_early.left_out,
    )  # fmt: skip
    fill(store, [RED] * 5, [RED] * 5)
    both = line(store, "new")
    assert (5, 0, 5, 6) == (both.counted, both.passed, both.scored, both.left_out)
    assert pytest.approx(0.2) == both.mean_total


def test_scores_of_several_judge_versions_are_never_pooled(store: Store) -> None:
    fill(store, [GREEN] * 3, [GREEN] * 3)
    assert (JUDGE, 0, 3) == (line(store, "new").judge_id, line(store, "new").other_judges, line(store, "new").scored)
    # A version that judged some of the attempts is left out.
    judge_again(store, "second", {1: 0.1, 2: 0.1})
    assert (JUDGE, 1, 3, 0.9) == (
        line(store, "new").judge_id, line(store, "new").other_judges, line(store, "new").scored,
        pytest.approx(line(store, "new").mean_total),
    )  # fmt: skip
    # Of versions that judged equally many, the newest stands, for every arm of the scenario.
    judge_again(store, "third", {1: 0.5, 2: 0.5, 3: None, 4: 0.25, 5: 0.25, 6: 0.25})
    assert ("third", 2, 2, 0.5) == (
        line(store, "new").judge_id, line(store, "new").other_judges, line(store, "new").scored,
        line(store, "new").mean_total,
    )  # fmt: skip
    assert ("third", 0.25) == (line(store, "old").judge_id, line(store, "old").mean_total)


def test_a_judge_version_stands_for_one_scenario_only(store: Store) -> None:
    fill(store, [GREEN], [GREEN], name="one")
    fill(store, [GREEN], [GREEN], name="two")
    judge_again(store, "second", {1: 0.5, 2: 0.5})
    assert {("one", "second"), ("two", JUDGE)} == {(one.scenario, one.judge_id) for one in leaderboard(store)}


def test_it_is_read_from_the_indexes_and_in_their_order(store: Store) -> None:
    """Diffs and transcripts make the tables too large to walk through, and so many rows too many to sort."""
    with store.reading() as session:
        for query in QUERIES:
            asked = text(f"EXPLAIN QUERY PLAN {query}")
            plan = [row.detail for row in session.connection().execute(asked, {"no": False})]
            rows = [step for step in plan if " attempt " in step or " total " in step]
            assert rows
            assert [] == [step for step in rows if "COVERING INDEX" not in step]
            assert [] == [step for step in plan if "TEMP B-TREE" in step]
