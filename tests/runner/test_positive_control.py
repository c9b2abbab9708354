"""The positive control: the treated arm is told to call each server once, before any money goes into a comparison."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crucible.cli.app import run_app
from crucible.errors import CrucibleError, ExitCode, UsageError
from crucible.llm.loopback import LoopbackServer, Status, Text
from crucible.report.overall import overall
from crucible.report.runs import run_lines
from crucible.runner.command import resume
from crucible.runner.control_run import control_prompt, control_run, controlled
from crucible.runner.judge import JudgeChoice
from crucible.runner.rejudge import rejudge
from crucible.scenario.schema import Arm
from crucible.settings import Settings, load_settings
from crucible.store import history, queries
from crucible.store.filling import Filled, fill_run
from crucible.store.standings import leaderboard
from crucible.store.tables import RunRow
from crucible.store.writes import Store
from tests.runner.arms_apart import ASK, chosen_for, solver, with_tools

CALLS = solver(("small__callers", ASK), ("other__callees", ASK))


def control(bench: Path, settings: Settings) -> list[str]:
    """What was said."""
    said: list[str] = []
    with Store(bench / "results" / "crucible.db") as store:
        asyncio.run(control_run(bench, chosen_for(bench, settings), settings, store, said.append, None))
    return said


def rows(bench: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(bench / "results" / "crucible.db")) as raw:
        return raw.execute(query).fetchall()


def test_the_prompt_names_every_server() -> None:
    said = control_prompt(Arm(id="a", model="m", extra_tools=("asd", "ctx")))
    assert all(text in said for text in ("- asd: its tools are named asd__...", "- ctx: ", "nothing to change"))


@pytest.mark.slow
def test_answered_calls_let_the_comparison_go_on(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """One attempt of the treated arm only, in a run of its own kind, unjudged; its cost is said; then the plan is made."""
    with LoopbackServer(CALLS) as server:
        with_tools(bench, server, {"careful": ["small", "other"]})
        monkeypatch.chdir(bench)
        assert 0 == run_app(["run", "first-bug", "--blocks", "1", "--judge", "facts", "--control"])
        asked = [request["messages"][1]["content"] for request in server.requests]
    said = capfd.readouterr().err
    assert "run 1: the positive control, one attempt that must call small, other" in said
    assert "the control cost 0.0" in said
    assert [("control", "done"), ("comparison", "done")] == rows(bench, "select kind, status from run order by id")
    assert [(1, "careful", 1), (2, "baseline", 1), (2, "careful", 1)] == rows(
        bench, "select run_id, arm, counted from attempt order by run_id, arm"
    )
    assert 0 == rows(bench, "select count(*) from total where attempt_id = 1")[0][0]
    assert "This is a check that your tools can be reached" in asked[0]
    assert "Fix the bug" in asked[-1]


@pytest.mark.slow
def test_a_server_that_no_call_reached_is_named_before_anything_else_is_spent(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """The model uses one of two: exit 5, nothing of the comparison is planned."""
    with LoopbackServer(solver(("small__callers", ASK))) as server:
        with_tools(bench, server, {"careful": ["small", "other"]})
        monkeypatch.chdir(bench)
        assert ExitCode.INFRASTRUCTURE == run_app(["run", "first-bug", "--judge", "facts", "--control"])
    said = " ".join(capfd.readouterr().err.split())
    assert "the tool server other gave careful no answer: it was told to call it, and no call arrived" in said
    assert "it offered other__callees, other__callers" in said
    assert "crucible show 1" in said
    assert [("control",)] == rows(bench, "select kind from run")


@pytest.mark.slow
def test_a_server_that_only_fails_is_no_answer(bench: Path) -> None:
    with LoopbackServer(CALLS) as server:
        settings = with_tools(bench, server, {"careful": ["small"]}, "mute")
        with pytest.raises(CrucibleError, match="1 call of it came back, each an error"):
            control(bench, settings)


@pytest.mark.slow
def test_a_provider_that_is_down_is_not_called_broken_wiring(bench: Path) -> None:
    with LoopbackServer(lambda _: Status(401)) as server:
        settings = with_tools(bench, server, {"careful": ["small"]})
        with pytest.raises(CrucibleError, match=r"the control could not be made \(provider_auth"):
            control(bench, settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arms", "options", "gist"),
    [
        ({}, {}, "careful of first-bug has no tool servers"),
        ({"baseline": ["small"]}, {}, "careful of first-bug has no tool servers"),
        ({"careful": ["small"]}, {"without_extra_tools": True}, "are left out"),
        ({"careful": ["small"]}, {"arm": "baseline"}, "only baseline is run"),
        ({"careful": ["small"]}, {"rehearse": True}, "a rehearsal asks none"),
    ],
)
def test_where_there_is_nothing_to_control_it_says_so(
    bench: Path, arms: dict[str, list[str]], options: dict[str, Any], gist: str
) -> None:
    with LoopbackServer([Text("")]) as server:
        settings = with_tools(bench, server, arms)
        with pytest.raises(UsageError, match=gist) as refused:
            controlled(chosen_for(bench, settings, **options))
    assert ExitCode.USAGE == refused.value.exit_code


@pytest.mark.slow
def test_a_control_is_in_no_ranking_no_plan_and_no_verdict(tmp_path: Path) -> None:
    """Its attempts were told what to do: they say nothing about the arm."""
    filled = [Filled(True, 0.9, cost_usd=0.5)] * 5
    with Store(tmp_path / "s.db") as store:
        run_id = fill_run(store, {"s": {"new": filled, "old": filled}}, "old", kind="control")
        assert [] == leaderboard(store)
        assert [] == queries.past_costs(store, "s", "openai/simulated")
        assert 0 == history.history(store, "s", "new", "openai/simulated").attempts
        assert [] == history.past_totals(store, "s", "new", "openai/simulated")
        assert ["control"] == [line.kind for line in run_lines(store)]
        found = overall(store, run_id)
        assert found is not None
        assert "Not tested: this run only shows that the tool servers can be used" in found.verdict.sentence


@pytest.mark.slow
def test_a_server_that_does_not_start_ends_it_before_the_control_is_made(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    with LoopbackServer(CALLS) as server:
        with_tools(bench, server, {"careful": ["small"]}, "no-start")
        monkeypatch.chdir(bench)
        assert ExitCode.USAGE == run_app(["run", "first-bug", "--judge", "facts", "--control"])
        assert [] == server.requests
    assert "first-bug, careful: tool server small" in capfd.readouterr().err
    assert [] == rows(bench, "select * from run")


def test_a_dry_run_says_that_the_control_is_on_top(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    with LoopbackServer(CALLS) as server:
        with_tools(bench, server, {"careful": ["small"]})
        monkeypatch.chdir(bench)
        for more, said in ((["--control"], True), ([], False)):
            assert 0 == run_app(["run", "first-bug", "--judge", "facts", "--dry-run", *more])
            assert said is ("the control's cost is on top" in capfd.readouterr().err)
        assert [] == server.requests


def test_a_control_is_not_judged(bench: Path) -> None:
    """What it was asked is not what the rubric is about."""
    filled = [Filled(True)]
    with Store(bench / "results" / "crucible.db") as store:
        run_id = fill_run(store, {"s": {"new": filled, "old": filled}}, "old", kind="control")
        with pytest.raises(UsageError, match="its attempts are not scored"):
            asyncio.run(rejudge(run_id, JudgeChoice("facts"), load_settings(bench), store, lambda _: None))


def test_a_control_is_not_gone_on_with(bench: Path) -> None:
    """Its attempts would be made with the scenario's own task."""
    with Store(bench / "results" / "crucible.db") as store, LoopbackServer([Text("")]) as server:
        settings = with_tools(bench, server, {})
        row = RunRow(
            created_at="", status="stopped", rehearsal=False, seed=0, blocks=1, sandbox="copy", judge="none",
            judge_samples=0, parallel=1, version="0", bench=".", kind="control",
        )  # fmt: skip
        run_id = store.create_run(row, [])
        with pytest.raises(UsageError, match="only shows that the tool servers can be used"):
            asyncio.run(resume(bench, run_id, settings, store, lambda _: None, None))
