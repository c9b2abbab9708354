"""Two runs are compared arm by arm when they were made under the same conditions; else the exact difference is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlmodel import select

from crucible.cli.app import run_app
from crucible.report.two_runs import TwoRuns, two_runs, two_runs_view
from crucible.scenario.starter import make_bench
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, EventRow, JudgeRow, PlannedRow, RunRow, ScenarioRow, ScoreRow, TotalRow
from crucible.store.writes import Store


def run(store: Store, new: int, old: int, names: tuple[str, ...] = ("s",), n: int = 10, **columns: Any) -> int:
    def arm(k: int) -> list[Filled]:
        return [Filled(passed=i < k, score=0.5) for i in range(n)]

    return fill_run(store, {name: {"new": arm(new), "old": arm(old)} for name in names}, "old", **columns)


def held(store: Store, then: int, now: int) -> TwoRuns:
    found = two_runs(store, then, now)
    assert found is not None
    return found


def test_each_arm_is_held_against_itself_then(store: Store) -> None:
    """The new arm got better, the old one stayed as it was: the later run is the treatment."""
    found = held(store, run(store, 2, 4), run(store, 9, 4))
    assert () == found.incomparable
    words = {arm.arm: arm.claims[0].verdict.word for arm in found.arms}
    assert {"new": "better", "old": "inconclusive"} == words
    assert (
        found.arms[0].claims[0].verdict.sentence.startswith("new of run 2 is better than new of run 1 on this scenario")
    )
    assert "not tested" == found.arms[0].claims[1].verdict.word


def edit_scenario(store: Store) -> None:
    """The second run is on a copy of the scenario with another budget."""
    with store.writing() as session:
        old = session.exec(select(ScenarioRow)).one()
        text = old.text.replace("max_turns: 10", "max_turns: 20")
        session.add(ScenarioRow(**{**old.model_dump(), "hash": "edited", "text": text}))
        for planned in session.exec(select(PlannedRow).where(PlannedRow.run_id == 2)).all():
            planned.scenario_hash = "edited"
        for attempt in session.exec(select(AttemptRow).where(AttemptRow.run_id == 2)).all():
            attempt.scenario_hash = "edited"


def judge_anew(store: Store) -> None:
    """The second run was judged by another version."""
    with store.writing() as session:
        session.add(JudgeRow(id="later", model="m", samples=1, prompt_hash="", rubric_hash="", created_at=""))
        session.flush()
        for row in session.exec(select(TotalRow).where(TotalRow.attempt_id > 20)).all():
            session.add(TotalRow(**{**row.model_dump(), "judge_id": "later", "seq": row.seq + 100}))
        for score in session.exec(select(ScoreRow).where(ScoreRow.attempt_id > 20)).all():
            session.add(ScoreRow(**{**score.model_dump(), "judge_id": "later"}))


def change(**columns: Any) -> Callable[[Store], None]:
    def edit(store: Store) -> None:
        with store.writing() as session:
            row = session.get_one(RunRow, 2)
            for name, value in columns.items():
                setattr(row, name, value)

    return edit


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (edit_scenario, "scenario s was edited: -budget: {max_turns: 10, "),
        (judge_anew, "judge version: filled then, later now"),
        (change(sandbox="copy"), "sandbox: overlay then, copy now"),
        (change(rehearsal=True), "rehearsal: False then, True now"),
        (change(margin=0.2), "margin: 0.1 then, 0.2 now"),
        (change(without_extra_tools=True), "without extra tools: False then, True now"),
        (change(sequential=True), "early stopping: how many attempts such a run has depends on its results"),
        (change(kind="aa"), "kind: comparison then, aa now"),
    ],
)
def test_what_is_not_alike_is_said_exactly(store: Store, edit: Callable[[Store], None], expected: str) -> None:
    then, now = run(store, 2, 4), run(store, 9, 4)
    edit(store)
    found = held(store, then, now)
    assert () == found.arms
    assert any(line.startswith(expected) for line in found.incomparable), found.incomparable


def test_scenarios_that_only_one_run_has_are_named(store: Store) -> None:
    found = held(store, run(store, 2, 4, ("s", "t")), run(store, 9, 4, ("s", "u")))
    assert ("scenario t: only in the run then", "scenario u: only in the run now") == found.incomparable


def test_the_command_ends_with_3_when_runs_cannot_be_compared(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_bench(tmp_path / "bench")
    with Store(tmp_path / "bench" / "results" / "crucible.db") as store:
        run(store, 2, 4)
        run(store, 9, 4)
        run(store, 9, 4, sandbox="copy")
    command = ["-C", str(tmp_path / "bench"), "compare"]
    assert 0 == run_app([*command, "1", "2"])
    said = capfd.readouterr().out
    assert "run 2 (now) against run 1 (then)" in said
    assert "made one after the other: a difference may also be the time between them" in said
    assert 3 == run_app([*command, "1", "3"])
    assert "Incomparable:\n  sandbox: overlay then, copy now" in capfd.readouterr().out
    assert 3 == run_app([*command, "1", "1", "--json"])
    assert ["both are run 1; a run says nothing against itself"] == json.loads(capfd.readouterr().out)["incomparable"]
    assert 2 == run_app([*command, "7"])
    assert "there is no run 7 in this store" in capfd.readouterr().err
    assert 2 == run_app([*command, "1", "7"])
    assert "there is no run 7 in this store" in capfd.readouterr().err


def test_several_judges_within_a_run_forbid_a_comparison(store: Store) -> None:
    """Half of each run was judged anew: the same versions in both, and no telling which scored what."""
    run(store, 2, 4), run(store, 9, 4)
    with store.writing() as session:
        session.add(JudgeRow(id="later", model="facts", samples=0, prompt_hash="", rubric_hash="", created_at=""))
    with store.writing() as session:
        for row in session.exec(select(TotalRow).where(TotalRow.arm == "new")).all():
            session.add(TotalRow(**row.model_dump() | {"judge_id": "later", "seq": row.seq + 1000}))
    assert ("judge version: several within each run (filled, later)",) == held(store, 1, 2).incomparable


def test_noise_and_a_changed_start_are_said_of_each_arm(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    fill_run(store, {"s": {"old-again": [Filled(True)] * 5, "old": [Filled(True)] * 5}}, "old", kind="aa")
    then, now = run(store, 2, 4), run(store, 9, 4)
    with store.writing() as session:
        for row in session.exec(select(AttemptRow)).all():
            start = {"kind": "started", "system_prompt": "", "task": "", "tools": []}
            seen = f"{row.run_id if row.arm == 'new' else ''}"
            data = json.dumps(start | {"first_request_sha256": seen})
            session.add(EventRow(attempt_id=row.id or 0, seq=0, kind="started", turn=0, at=0.0, data=data))
    found = held(store, then, now)
    assert {"new": False, "old": True} == {arm.arm: arm.same_start for arm in found.arms}
    assert all("noise floor from 1 A/A run" in arm.noise[0] for arm in found.arms)
    Console(width=200).print(two_runs_view(found))
    assert "new  (model: openai/simulated; its first request is not the same any more)" in capfd.readouterr().out
