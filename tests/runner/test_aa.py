"""One arm against itself: the same set-up twice, stored apart, never ranked, and the noise floor it gives."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sqlalchemy import text

from crucible.agents.rehearsal import Rehearsal, load_rehearsal
from crucible.cli.app import run_app
from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Text
from crucible.report.aa import aa_report
from crucible.report.comparison import comparisons
from crucible.report.noise import Noise, NoiseFloor, noise_floor
from crucible.runner.arms import WITHOUT
from crucible.runner.command import Options, choose, start
from crucible.runner.twins import twin_rehearsal, twinned
from crucible.scenario.catalog import get_scenario
from crucible.settings import load_settings
from crucible.stats.identical import means_apart, rates_apart
from crucible.store.filling import Filled, fill_run
from crucible.store.standings import leaderboard
from crucible.store.writes import Store

FIX = {"path": "shelf/pages.py", "old": "start + size - 1]", "new": "start + size]"}


def rows(bench: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(bench / "results" / "crucible.db")) as raw:
        return raw.execute(query).fetchall()


def test_both_twins_are_the_same_set_up_under_the_scenarios_own_hash(bench: Path) -> None:
    """Same model, prompt and tools; another id; file and text, which the hash is of, untouched."""
    loaded = get_scenario(bench, "first-bug")
    twins = twinned(loaded, "careful")
    assert (loaded.text, loaded.sha256) == (twins.text, twins.sha256)
    again, arm = twins.scenario.arms
    assert ("careful", "careful-again") == (arm.id, again.id)
    assert arm is twins.scenario.baseline
    assert arm.model_copy(update={"id": "", "baseline": False}) == again.model_copy(update={"id": ""})


def test_both_twins_rehearse_the_sessions_of_the_arm(bench: Path) -> None:
    path = bench / "scenarios" / "first-bug.rehearsal.yaml"
    both: Rehearsal = twin_rehearsal(load_rehearsal(path, ["careful"]), "careful")
    assert {"careful", "careful-again"} == {session.arm for session in both.sessions}
    assert both.session("careful", 1).turns == both.session("careful-again", 1).turns


@pytest.mark.slow
def test_a_rehearsed_aa_run_is_stored_apart_and_can_be_gone_on_with(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its own kind of run; a rehearsal says that it measures nothing; resumed, it stays what it is."""
    monkeypatch.chdir(bench)
    assert 0 == run_app(["aa", "first-bug", "--arm", "careful", "--blocks", "2", "--rehearse"])
    said = capfd.readouterr().out
    assert "REHEARSAL, scripted: A/A run 1 on first-bug: careful against itself (scripted), 2 of 2 green" in said
    assert "Scripted sessions say nothing about noise" in said
    assert [("aa", "done", 2)] == rows(bench, "select kind, status, blocks from run")
    assert [("careful", 1), ("careful-again", 0)] == rows(
        bench, "select distinct arm, baseline from planned order by 1"
    )
    assert [(4, 4)] == rows(bench, "select count(*), sum(counted) from attempt")
    assert 4 == rows(bench, "select count(*) from total")[0][0], "the twin is judged as well"
    with closing(sqlite3.connect(bench / "results" / "crucible.db")) as raw, raw:
        raw.execute("update attempt set counted = 0, cause = 'harness' where id = 4")
    assert 0 == run_app(["run", "--resume", "1", "--json"])
    report = json.loads(capfd.readouterr().out)
    assert ([2, 2], True) == ([half["counted"] for half in report["halves"]], report["complete"])


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        (["aa", "first-bug", "--arm", "carefull"], "did you mean 'careful'?"),
        (["aa", "first-bgu"], "did you mean 'first-bug'?"),
        (["aa", "first-bug", "--model", "x"], "--model takes ARM=MODEL"),
        (["aa", "first-bug"], "needs ANTHROPIC_API_KEY, which is not set"),
    ],
)
def test_a_user_error_says_what_to_do(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: list[str], gist: str
) -> None:
    monkeypatch.chdir(bench)
    for key in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(key, raising=False)
    assert 2 == run_app(arguments)
    assert gist in capfd.readouterr().err


@pytest.mark.slow
def test_a_real_model_against_itself_gives_a_noise_floor_and_no_place_on_the_leaderboard(bench: Path) -> None:
    """Through litellm and a server on loopback: priced, timed, counted, one half like the other."""
    usage = Counts(prompt_tokens=120, completion_tokens=30)

    def reply(request: dict[str, Any]) -> Answer:
        turns = sum(m["role"] == "assistant" for m in request["messages"])
        return Text("Done.", usage=usage) if turns else Calls([("edit_file", FIX)], usage=usage)

    with LoopbackServer({"solver": reply}) as server:
        with (bench / "crucible.toml").open("a") as config:
            config.write(f'[models."openai/solver"]\napi_base = "{server.base_url}"\n')
            config.write("input_usd_per_million = 1.0\noutput_usd_per_million = 2.0\n")
        settings = load_settings(bench)
        options = Options(
            names=("first-bug",), blocks=2, seed=1, judge="facts", models={"baseline": "openai/solver"},
            against_itself="baseline",
        )  # fmt: skip
        store = Store(bench / "results" / "crucible.db")
        chosen = choose(bench, options, settings, lambda _: None)
        result = asyncio.run(start(bench, chosen, settings, store, lambda _: None, None))
    with store:
        assert [] == leaderboard(store)
        report = aa_report(store, result.run_id)
        assert report is not None
        assert ("openai/solver", True, [(2, 2), (2, 2)]) == (
            report.model, report.complete, [(half.counted, half.passed) for half in report.halves],
        )  # fmt: skip
        assert 1.0 == report.p_values["pass rate"]
        assert report.noise is not None
        measured = {m.name: m for m in report.noise.measures}
        assert (1.0, None) == (measured["cost"].seen, measured["cost"].high)
        assert "all values of a run are the same" in str(measured["tokens"].why_not)
        assert measured["seconds"].high is not None


# The report, from stores filled by hand


def halves(store: Store, first: Sequence[Filled], again: Sequence[Filled], kind: str = "aa", **columns: Any) -> int:
    return fill_run(store, {"s": {"a-again": again, "a": first}}, "a", kind=kind, **columns)


def attempts(passes: str, seconds: Sequence[float] = (), costs: Sequence[float] = ()) -> list[Filled]:
    return [
        Filled(
            None if c == "x" else c == "g",
            score={"g": 0.9, "r": 0.2}.get(c),
            seconds=seconds[i] if seconds else None,
            cost_usd=costs[i] if costs else None,
        )
        for i, c in enumerate(passes)
    ]


def measures(floor: NoiseFloor | None) -> dict[str, Noise]:
    assert floor is not None
    return {measure.name: measure for measure in floor.measures}


def test_the_leaderboard_leaves_aa_runs_out(tmp_path: Path) -> None:
    """The same arm and model in a comparison and in an A/A run: only the first is ranked."""
    with Store(tmp_path / "s.db") as store:
        halves(store, attempts("gggg"), attempts("gggg"))
        assert [] == leaderboard(store)
        fill_run(store, {"s": {"b": attempts("gr"), "a": attempts("rr")}}, "a")
        ranked = {line.arm: (line.counted, line.passed, line.scored) for line in leaderboard(store)}
        assert {"b": (2, 1, 2), "a": (2, 0, 2)} == ranked


def test_a_noise_floor_is_from_aa_runs_whose_arm_was_set_up_as_one_of_the_run_it_is_for(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        plain = halves(store, attempts("gggg"), attempts("gggg"))
        without = halves(store, attempts("grgr"), attempts("rgrg"))
        compared = fill_run(store, {"s": {"b": attempts("gr"), "a": attempts("rr")}}, "a")
        marked = {"setup": WITHOUT, "run": without}
        with store.writing() as session:
            session.execute(text("UPDATE attempt SET setup = :setup WHERE run_id = :run"), marked)
        assert {None: 2, plain: 1, without: 1, compared: 1} == {
            like: floor.runs
            for like in (None, plain, without, compared)
            if (floor := noise_floor(store, "hash-s", like=like))
        }
        (report,) = [aa_report(store, without)]
        assert report is not None
        assert (1, 4) == (report.noise and report.noise.runs, report.halves[0].counted)
        (comparison,) = comparisons(store, compared)
        assert "1 A/A run," in comparison.noise[0]
        with store.writing() as session:
            session.execute(text("UPDATE attempt SET setup = 'x=y' WHERE run_id = :run"), {"run": compared})
        assert () == comparisons(store, compared)[0].noise


def test_no_aa_run_is_no_noise_floor(tmp_path: Path) -> None:
    """A comparison is none, nor is a half without an attempt that counts, nor a rehearsal unless asked for."""
    with Store(tmp_path / "s.db") as store:
        fill_run(store, {"s": {"b": attempts("gr"), "a": attempts("rr")}}, "a")
        assert noise_floor(store, "hash-s") is None
        run_id = halves(store, attempts("gg"), attempts("xx"))
        assert noise_floor(store, "hash-s") is None
        report = aa_report(store, run_id)
        assert report is not None
        assert not report.complete
        assert {} == report.p_values
        assert f"go on with: crucible run --resume {run_id}" in report.lines()[1]
        assert "noise floor: unknown" in report.lines()[2]
        assert aa_report(store, run_id - 1) is None
        assert aa_report(store, 99) is None


def test_all_aa_runs_of_a_scenario_are_one_floor(tmp_path: Path) -> None:
    """Two runs, with levels of their own: the spread is within them, the difference seen is theirs weighted."""
    slow, fast = ([60.0, 66.0, 72.0], [63.0, 60.0, 69.0]), ([6.0, 6.6, 7.2], [6.3, 6.0, 6.9])
    with Store(tmp_path / "s.db") as store:
        for first, again in (slow, fast):
            halves(store, attempts("ggr", first), attempts("grr", again))
        floor = noise_floor(store, "hash-s")
        assert floor is not None
        assert (2, (6, 6), (6, 6)) == (floor.runs, floor.halves, floor.size)
        seconds = measures(floor)["seconds"]
        logs = [[log(v) for half in run for v in half] for run in (slow, fast)]
        spread = sqrt(sum(len(group) * np.var(group) for group in logs) / 10)
        reach = float(stats.t.ppf(0.975, 10)) * spread * sqrt(2 / 6)
        assert (exp(-reach), exp(reach)) == pytest.approx((seconds.low, seconds.high))
        assert exp(np.mean([log(v) for v in slow[1]]) - np.mean([log(v) for v in slow[0]])) == pytest.approx(
            seconds.seen
        )
        rate = measures(floor)["pass rate"]
        assert (-2 / 6, rates_apart(6, 12, 6, 6)) == pytest.approx((rate.seen, rate.high))
        wider = measures(noise_floor(store, "hash-s", 3))
        assert rates_apart(6, 12, 3, 3) == wider["pass rate"].high
        assert (wider["seconds"].high or 0) > (seconds.high or 0)


def test_lines_say_what_was_seen_and_what_chance_makes(tmp_path: Path) -> None:
    """Unknown measures say why; nothing is shown as zero that was not measured."""
    with Store(tmp_path / "s.db") as store:
        halves(store, attempts("gggrr", [10, 11, 12, 13, 14]), attempts("ggrrr", [12, 11, 13, 10, 14]))
        floor = noise_floor(store, "hash-s")
        assert floor is not None
        heading, rate, score, cost, seconds, tokens = floor.lines()
        assert "from 1 A/A run, 5 attempts against 5 of the same set-up" in heading
        assert "  pass rate: seen -20 points; -60 points to +60 points" == rate
        assert score.startswith("  score: seen -0.14; -0.5")
        assert "  cost: seen unknown; no range (0 known values)" == cost
        assert seconds.startswith("  seconds: seen 1.00x; 0.8")
        assert "tokens: seen unknown" in tokens
        json.dumps(floor.as_dict(), allow_nan=False)


def test_a_difference_between_identical_halves_is_said_to_be_chance_or_a_fault(tmp_path: Path) -> None:
    """The later half always twice as slow: something is unequal, and nobody is called better."""
    with Store(tmp_path / "s.db") as store:
        first, again = [10.0, 11.0, 10.5, 11.5, 10.2], [20.0, 21.0, 22.0, 20.5, 21.5]
        run_id = halves(store, attempts("ggggr", first), attempts("ggggr", again))
        report = aa_report(store, run_id)
        assert report is not None
        assert ["seconds"] == report.differ
        text = report.lines()[1]
        assert "The halves differ in seconds" in text
        assert "Chance alone does that in at most 5% of such runs" in text
        assert "cache" in text
        assert "crucible aa s" in text
        assert "better" not in text
        even = aa_report(store, halves(store, attempts("ggggr", first), attempts("ggggr", first)))
        assert even is not None
        assert "The halves do not differ beyond chance" in even.lines()[1]


@pytest.mark.parametrize("passes", ["g", "r", "x", ""])
def test_the_smallest_runs_give_a_sentence(tmp_path: Path, passes: str) -> None:
    """One attempt, none that counts, none at all: no exception, no NaN, no range of no width."""
    with Store(tmp_path / "s.db") as store:
        run_id = halves(store, attempts(passes or "x"), attempts(passes or "x"))
        report = aa_report(store, run_id)
        assert report is not None
        json.dumps(report.as_dict(), allow_nan=False)
        assert all("nan" not in line for line in report.lines())
        if report.noise is not None:
            assert (-1.0, 1.0) == (measures(report.noise)["pass rate"].low, measures(report.noise)["pass rate"].high)


# How far apart identical arms land


def test_rates_of_identical_arms_spread_as_simulated() -> None:
    """At a rate that is all but known, the range is that of two binomials; and it is the smallest that holds 95%."""
    found = rates_apart(50_000, 100_000, 20, 20)
    passes = stats.binom.pmf(np.arange(21), 20, 0.5)
    apart = np.abs(np.arange(21)[:, None] - np.arange(21)[None, :])
    held = [(passes[:, None] * passes[None, :])[apart <= d].sum() for d in range(21)]
    assert next(d for d in range(21) if held[d] >= 0.95) / 20 == found


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "n"), [(0.5, 5), (0.8, 10), (0.95, 20)])
def test_a_later_pair_of_identical_arms_is_in_the_range_as_often_as_it_says(rate: float, n: int) -> None:
    """3,000 simulated A/A runs, each followed by another: at least 95%, less the noise of the simulation."""
    random = np.random.default_rng(11)
    seen, later = random.binomial(2 * n, rate, 3000), random.binomial(n, rate, (3000, 2))
    inside = [
        abs(int(a) - int(b)) / n <= rates_apart(int(k), 2 * n, n, n) + 1e-12
        for k, (a, b) in zip(seen, later, strict=True)
    ]
    assert np.mean(inside) > 0.95 - 4 * sqrt(0.95 * 0.05 / 3000)


@given(st.integers(1, 40), st.integers(1, 30), st.integers(1, 30), st.data())
@settings(deadline=None, max_examples=60)
def test_the_range_of_rates_is_symmetric_and_within_one(seen: int, n_a: int, n_b: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, seen))
    found = rates_apart(passed, seen, n_a, n_b)
    assert 0 <= found <= 1
    assert found == pytest.approx(rates_apart(seen - passed, seen, n_b, n_a), abs=1e-9)


def test_means_without_a_spread_have_no_range() -> None:
    """One value, or values all alike, say nothing about chance."""
    assert [None, None, None] == [
        means_apart([[0.5]], 3, 3),
        means_apart([[0.5, 0.5], [0.1 + 0.2, 0.3]], 3, 3),
        means_apart([], 3, 3),
    ]
    reach = float(stats.t.ppf(0.975, 2)) * 1.0 * sqrt(1 / 3 + 1 / 6)
    assert reach == pytest.approx(means_apart([[1.0, 2.0, 3.0]], 3, 6))
