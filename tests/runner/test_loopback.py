"""Real litellm against a real server on loopback: models are run, judged, ranked; a provider failure counts for nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Status, Text
from crucible.report.attempt import attempt_text
from crucible.report.comparison import comparisons
from crucible.runner.command import Options, choose, start
from crucible.runner.judge import JudgeChoice
from crucible.runner.rejudge import rejudge
from crucible.runner.run import Result
from crucible.settings import load_settings
from crucible.store import queries
from crucible.store.standings import leaderboard
from crucible.store.writes import Store

pytestmark = pytest.mark.slow

USAGE = Counts(prompt_tokens=120, completion_tokens=30, cached_tokens=64)
FIX = {"path": "shelf/pages.py", "old": "start + size - 1]", "new": "start + size]"}
BREAK = {"path": "shelf/pages.py", "old": "max(1, ", "new": "max(2, "}


def agent(edit: dict[str, str]) -> Callable[[dict[str, Any]], Answer]:
    """Looks, edits, ends; two calls in one reply, the first malformed."""

    def reply(request: dict[str, Any]) -> Answer:
        turns = sum(m["role"] == "assistant" for m in request["messages"])
        if turns == 0:
            return Calls([("read_file", '{"path": '), ("bash", {"command": "python3 -m pytest -q"})], usage=USAGE)
        return Calls([("edit_file", edit)], usage=USAGE) if turns == 1 else Text("Done.", usage=USAGE)

    return reply


def judge(request: dict[str, Any]) -> Answer:
    shown = next(line for line in str(request["messages"][1]["content"]).splitlines() if "Fix the bug" in line)
    return Text(json.dumps({"evidence": [shown], "reasoning": "It is so.", "score": 4}), usage=USAGE)


def run(bench: Path, server: LoopbackServer, **options: Any) -> tuple[Store, Result]:
    names = ("openai/solver", "openai/breaker", "openai/judge", "openai/down")
    with (bench / "crucible.toml").open("a") as config:
        for name in names:
            config.write(f'[models."{name}"]\napi_base = "{server.base_url}"\n')
            config.write("input_usd_per_million = 1.0\ncached_usd_per_million = 0.1\noutput_usd_per_million = 2.0\n")
    settings = load_settings(bench)
    models = {"careful": "openai/solver", "baseline": "openai/breaker"} | options.pop("models", {})
    asked = Options(names=("first-bug",), blocks=2, seed=1, models=models, judge="openai/judge", **options)
    store = Store(bench / "results" / "crucible.db")
    chosen = choose(bench, asked, settings, lambda _: None)
    return store, asyncio.run(start(bench, chosen, settings, store, lambda _: None, None))


def test_two_models_are_stored_judged_and_ranked(bench: Path) -> None:
    with LoopbackServer({"solver": agent(FIX), "breaker": agent(BREAK), "judge": judge}) as server:
        store, result = run(bench, server)
    with store:
        solver, breaker = leaderboard(store)
        assert ("openai/solver", 2, 2, 2) == (solver.model, solver.counted, solver.passed, solver.scored)
        assert ("openai/breaker", 2, 0, 2) == (breaker.model, breaker.counted, breaker.passed, breaker.scored)
        assert solver.mean_tokens == 3 * 150
        assert solver.mean_cost_usd == pytest.approx(3 * (56 * 1.0 + 64 * 0.1 + 30 * 2.0) / 1e6)
        (comparison,) = comparisons(store, result.run_id)
        assert 1.0 == comparison.difference
        assert "inconclusive" == comparison.verdict.word
        red = next(line for line in comparison.lines if line.arm == "baseline")
        record = queries.attempt_record(store, red.attempt_id or 0)
        assert record is not None
        correctness = next(s for s in record.scores if s.dimension == "correctness")
        assert (0.8, 0.3) == (correctness.raw, correctness.value)
        assert record.report is not None
        assert ["tests.test_pages::test_nothing_is_one_page"] == record.report.broke


def test_the_judge_is_not_told_who_it_judges(bench: Path) -> None:
    with LoopbackServer({"solver": agent(FIX), "breaker": agent(BREAK), "judge": judge}) as server:
        store, _ = run(bench, server)
        asked = [json.dumps(r["messages"]) for r in server.requests if r["model"] == "judge"]
    store.close()
    assert 2 * 2 * 3 == len(asked)
    for secret in ("careful", "solver", "breaker", "You work in the repository", "Reproduce the failure"):
        assert [] == [text for text in asked if secret in text]


def test_a_dead_provider_counts_for_no_arm_and_the_run_can_go_on(bench: Path) -> None:
    script = {"solver": agent(FIX), "down": lambda _: Status(401), "judge": judge}
    with LoopbackServer(script) as server:
        store, result = run(bench, server, models={"baseline": "openai/down"})
    with store:
        (comparison,) = comparisons(store, result.run_id)
        solver, down = comparison.arms
        assert (2, {}) == (solver.counted, solver.not_counted)
        assert (0, {"provider": 2}) == (down.counted, down.not_counted)
        assert (1, 2) == comparison.incomplete_blocks
        assert comparison.difference is None
        assert "not tested" == comparison.verdict.word
        refused = next(line for line in comparison.lines if line.arm == "baseline")
        assert "openai/down" in refused.detail
        shown = queries.attempt_record(store, refused.attempt_id or 0)
        assert shown is not None
        assert "not known: the attempt did not get that far" in attempt_text(shown)
        assert [("incomplete", 2, 4)] == [(r.status, done, planned) for r, _, planned, done in queries.runs(store)]


def test_a_judge_outage_loses_nothing_and_rejudge_catches_up(bench: Path) -> None:
    with LoopbackServer({"solver": agent(FIX), "breaker": agent(BREAK), "judge": lambda _: Status(401)}) as server:
        store, result = run(bench, server)
    with store:
        (comparison,) = comparisons(store, result.run_id)
        assert [(0, 2), (0, 2)] == [(arm.total.n, arm.total.of) for arm in comparison.arms]
        assert [1.0, 0.0] == [arm.pass_rate for arm in comparison.arms]
        with LoopbackServer({"judge": judge}) as server:
            config = bench / "crucible.toml"
            config.write_text(f'[models."openai/judge"]\napi_base = "{server.base_url}"\n')
            settings = load_settings(bench)
            done = asyncio.run(rejudge(result.run_id, JudgeChoice("openai/judge"), settings, store, lambda _: None))
        assert (4, {}) == done
        (comparison,) = comparisons(store, result.run_id)
        assert [2, 2] == [arm.total.n for arm in comparison.arms]


def test_a_cost_limit_stops_the_run_between_attempts(bench: Path) -> None:
    with LoopbackServer({"solver": agent(FIX), "breaker": agent(BREAK), "judge": judge}) as server:
        store, result = run(bench, server, max_cost=0.0005)
    with store:
        assert "of 0.0005 US dollars used" in (result.stopped or "")
        assert 2 == len(result.made)
        assert ["stopped"] == [r.status for r, *_ in queries.runs(store)]


def test_a_cost_limit_that_cannot_be_kept_stops_the_run(bench: Path) -> None:
    def uncounted(_: dict[str, Any]) -> Answer:
        return Text("Done.", usage=None)

    with LoopbackServer({"solver": uncounted, "breaker": uncounted, "judge": judge}) as server:
        store, result = run(bench, server, max_cost=5.0)
    store.close()
    assert 1 == len(result.made)
    assert "the cost of 1 attempts is unknown" in (result.stopped or "")
