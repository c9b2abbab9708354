"""A plan says how many attempts a difference takes, for which claim, what it costs, and when it is impossible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from crucible.cli.app import run_app
from crucible.errors import UsageError
from crucible.report.assumptions import Asked
from crucible.report.plan_lines import before_run, expected_attempts, plan_lines
from crucible.report.planning import design_of, make_plan
from crucible.runner.declare import Declared
from crucible.scenario.schema import Arm, Dimension, Rubric, Scenario
from crucible.store.filling import Filled, fill_run
from crucible.store.history import history, past_totals
from crucible.store.writes import Store
from tests.beside import beside


def oracle(name: str) -> Any:
    return json.loads(beside("oracle", "statistics", f"{name}.json").read_text())


def scenarios(count: int, blocks: int = 5, model: str = "openai/simulated") -> list[Scenario]:
    return [
        Scenario(
            name=f"s{number}", fixture_path="f", test_command="t", reference_fix="r", task_prompt="p", blocks=blocks,
            arms=(Arm(id="careful", model=model), Arm(id="baseline", model=model)),
            rubric=Rubric(dimensions=(Dimension(name="d", weight=1, criteria="c"),)),
        )
        for number in range(count)
    ]  # fmt: skip


def plan(count: int, detect: float, store: Store | None = None, **asked: Any) -> Any:
    return make_plan(scenarios(count), Asked(detect, **asked), store)


def test_attempts_over_scenarios_are_those_of_the_oracle() -> None:
    """10, 15, 20 and 30 points, for both claims, with effects that spread by 0, 10 and 20 points."""
    for row in oracle("planning_S_by_K")["attempts_needed"]:
        for points in (10, 15, 20, 30):
            found = plan(row["S"], points / 100, spread=row["omega"])
            like = None if found.like_these is None else found.like_these.per_arm
            assert row[f"K_for_{points}pt_generalise"] == like
            assert row[f"K_for_{points}pt_these"] == found.these.per_arm


def test_what_a_number_of_attempts_can_see_is_that_of_the_oracle() -> None:
    """Differences above 100 points are none."""
    rows = [row for row in oracle("planning_S_by_K")["rows"] if row["S"] > 1]
    for row in rows:
        seen = plan(row["S"], 0.15, spread=row["omega"], blocks=row["K"]).seen
        for expected, value in ((row["mde_these_scenarios"], seen.these), (row["mde_generalise"], seen.like_these)):
            assert (None if expected > 1 else pytest.approx(expected, abs=5.1e-4)) == value


@pytest.mark.slow
def test_one_scenario_is_planned_by_the_exact_test() -> None:
    """Boschloo's numbers, up to 70 per arm."""
    for row in oracle("power_tables")["n_for_power"]:
        if row["p2"] > row["p1"] and row.get("bosch_80", 1000) <= 70:
            found = plan(1, row["p2"] - row["p1"], base=row["p1"]).these
            assert (row["bosch_80"], True, 2 * row["bosch_80"]) == (found.per_arm, found.exact, found.attempts)


def test_the_design_of_the_same_power_is_that_of_the_oracle() -> None:
    """The declared most, and the mean when the difference is real."""
    for row in oracle("sequential_simulation_2")["equal_power"]:
        found = plan(1, row["p2"] - row["p1"], base=row["p1"]).until_decided
        assert row["C2f"]["N_max"] == found.most
        assert row["C2f"]["EN_alt"] == pytest.approx(found.pairs_when_real, abs=0.11)
        assert 0.8 <= found.power
        assert found.pairs_when_none < row["C2f"]["N_max"]


def test_four_scenarios_never_show_15_points_of_scenarios_like_these() -> None:
    """Impossible is said, with the scenarios it takes; with one scenario nothing is ever shown of others."""
    found = plan(4, 0.15)
    assert (True, None) == (found.never, found.like_these)
    assert ((6, 365), (10, 27), (20, 9)) == found.instead[:3]
    said = "\n".join(plan_lines(found))
    assert "on scenarios like these: impossible with 4 scenarios, whatever the number of attempts." in said
    assert "It takes 6 scenarios with 365 attempts per arm on each, or 10 with 27 attempts" in said
    assert plan(1, 0.5, spread=0.0).never
    assert not plan(4, 0.15, spread=0.0).never


def test_more_than_a_thousand_is_not_called_impossible() -> None:
    """Without spread between scenarios any difference can be found, if not by anybody."""
    found = plan(2, 0.02, spread=0.0)
    assert (None, False) == (found.like_these, found.never)
    assert "over 1,000 per arm with 2 scenarios" in "\n".join(plan_lines(found))


def test_where_a_rate_has_no_room_above_it_is_planned_downwards_and_without_any_room_refused() -> None:
    assert [0.65, 0.8] == pytest.approx([plan(1, 0.15, base=b).scenarios[0].other for b in (0.5, 0.95)])
    with pytest.raises(UsageError, match="a pass rate of 50% cannot differ by 60 points"):
        plan(1, 0.6)


@pytest.mark.parametrize("setup", ["without extra tools", "asd=code-graph"])
def test_a_plan_is_not_made_from_attempts_that_were_set_up_otherwise(tmp_path: Path, setup: str) -> None:
    with Store(tmp_path / "s.db") as store:
        fill_run(store, {"s0": {"careful": [Filled(True, 0.9)] * 3, "baseline": [Filled(True, 0.9)] * 3}}, "baseline")
        with store.writing() as session:
            session.execute(text("UPDATE attempt SET setup = :setup WHERE arm = 'careful'"), {"setup": setup})
            session.execute(text("UPDATE total SET setup = :setup WHERE arm = 'careful'"), {"setup": setup})
        found = {arm: history(store, "s0", arm, "openai/simulated").attempts for arm in ("careful", "baseline")}
        assert {"careful": 0, "baseline": 3} == found
        assert [0, 3] == [len(past_totals(store, "s0", arm, "openai/simulated")) for arm in ("careful", "baseline")]


def test_what_is_stored_is_used_and_named(tmp_path: Path) -> None:
    """Base rate, cost and time from counted real attempts of the same arm and model; rehearsals say nothing."""
    known = [
        Filled(True, 0.9, 0.5, 1000, 60.0),
        Filled(True, 0.7, 0.7, 1000, 80.0),
        Filled(False, 0.2, None, 900, None),
    ]
    lost = Filled(None, cost_usd=9.0, seconds=999.0)
    with Store(tmp_path / "s.db") as store:
        fill_run(store, {"s0": {"careful": [*known, lost], "baseline": [*known, lost]}}, "baseline")
        past = history(store, "s0", "baseline", "openai/simulated")
        assert (3, 2, 2, pytest.approx(0.6), 2, 70.0) == (
            past.attempts, past.passed, past.priced, past.mean_cost_usd, past.timed, past.mean_seconds,
        )  # fmt: skip
        assert [0.9, 0.7, 0.2] == past_totals(store, "s0", "baseline", "openai/simulated")
        assert (0, None) == (
            history(store, "s0", "baseline", "other").attempts,
            past_totals(store, "x", "y", "z") or None,
        )
        (part,) = plan(1, 0.15, store).scenarios
        assert (3 / 5, "stored", 3) == (part.base.value, part.base.source, part.base.n)
        found = plan(1, 0.15, store)
        assert pytest.approx(found.these.attempts * 0.6) == found.these.usd
        assert found.these.attempts * 70.0 == found.these.seconds
        said = "\n".join(plan_lines(found))
        assert "one attempt $0.6000 (from 2 stored attempts), 70 s (from 2 stored attempts)" in said
        assert "given" == plan(1, 0.15, store, base=0.3).scenarios[0].base.source
        score = plan(1, 0.15, store, metric="score").scenarios[0].sigma2
        assert ("stored", 6, pytest.approx(0.13)) == (score.source, score.n, score.value)


def test_an_unknown_cost_leaves_the_sum_unknown(tmp_path: Path) -> None:
    """One arm that was never priced; a guess fills it, and is called one."""
    with Store(tmp_path / "s.db") as store:
        fill_run(store, {"s0": {"careful": [Filled(True, cost_usd=0.5)], "baseline": [Filled(True)]}}, "baseline")
        assert plan(1, 0.3, store, base=0.5).these.usd is None
        guessed = plan(1, 0.3, store, base=0.5, cost=2.0, seconds=30.0)
        assert (80 * 2.0, 80 * 30.0) == (guessed.these.usd, guessed.these.seconds)
        assert "as you say" in "\n".join(plan_lines(guessed))


@pytest.mark.parametrize(
    ("asked", "gist"),
    [
        (Asked(0.0015), "--detect takes 1 to 100 points, got 0.15"),
        (Asked(float("nan")), "--detect takes 1 to 100 points"),
        (Asked(0.15, power=1.0), "--power takes a chance between 0 and 1"),
        (Asked(0.15, base=50.0), "--base takes a rate from 0 to 1, got 50"),
        (Asked(0.15, spread=10.0), "--spread takes 0 to 1"),
        (Asked(0.15, sd=0.3), "--sd is about the score, not the pass rate"),
        (Asked(0.15, metric="score", base=0.3), "--base is about the pass rate, not the score"),
        (Asked(0.15, cost=float("inf")), "--cost takes US dollars"),
    ],
)
def test_what_cannot_be_planned_for_is_refused(asked: Asked, gist: str) -> None:
    with pytest.raises(UsageError, match=gist):
        make_plan(scenarios(2), asked, None)


@given(
    st.integers(1, 12), st.floats(0.01, 1), st.floats(0.5, 0.95), st.none() | st.floats(0, 1), st.floats(0, 0.4),
    st.none() | st.integers(1, 60), st.sampled_from(["pass_rate", "score"]),
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_any_plan_is_a_plan_or_a_usage_error(
    count: int, detect: float, power: float, base: float | None, spread: float, blocks: int | None, metric: Any
) -> None:
    """No exception, no NaN; what is needed for scenarios like these is never less than for these."""
    near = detect > 0.2 or metric == "score" or count > 1  # small differences on one scenario take seconds, exactly
    base = base if metric == "pass_rate" else None
    asked = Asked(detect if near else 0.2, power, metric, base, None, spread, blocks=blocks)
    try:
        found = make_plan(scenarios(count), asked, None)
    except UsageError:
        return
    json.dumps(found.as_dict(), allow_nan=False)
    assert all("nan" not in line for line in plan_lines(found))
    assert found.these.per_arm >= 1
    if found.like_these is not None and count > 1:
        assert found.like_these.per_arm >= found.these.per_arm


def test_a_run_says_before_its_first_call_what_it_can_see() -> None:
    """One line for each kind of run; a run until decided says its most and its mean."""
    (one,) = before_run(scenarios(1, 20), Declared())
    assert "20 attempts per arm find a difference of +40 or -40 points from 50%" in one
    (several,) = before_run(scenarios(4), Declared())
    assert "4 scenarios with 5 attempts per arm on each: four times in five they find, on these, 36.5 points" in several
    assert "on scenarios like these, 59.4 points" in several
    (score,) = before_run(scenarios(1), Declared("score"))
    assert "of mean score; on scenarios like these, no difference, however large" in score
    (until,) = before_run(scenarios(2, 20), Declared(until_decided=True))
    assert "s0, s1: each stops when decided, at most 20 attempts per arm; 30 points from 50% would be found" in until
    design = design_of(20, 0.5, 0.8)
    assert max(design.pairs_when_real, design.pairs_when_none) == expected_attempts(
        scenarios(1, 20)[0], Declared(until_decided=True)
    )
    assert 5.0 == expected_attempts(scenarios(1)[0], Declared())
    (many,) = before_run(scenarios(1, 200), Declared(until_decided=True))
    assert "at most 200 attempts per arm; the first look is after 4" in many


def test_plan_and_dry_run_on_the_command_line(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:  # type: ignore[no-untyped-def] # a fixture
    """Planning stores nothing; the price of a run until decided tells the most from what is expected."""
    monkeypatch.chdir(bench)
    assert 0 == run_app(["plan", "first-bug", "--detect", "30", "--cost", "0.5", "--blocks", "20"])
    said = capfd.readouterr().out
    assert "on this scenario: 40 attempts per arm, 80 in all; about $40.00" in said
    assert "20 attempts per arm can see: on this scenario 40 points or more" in said
    assert not (bench / "results" / "crucible.db").exists()
    assert 0 == run_app(["plan", "first-bug", "--json"])
    assert 173 == json.loads(capfd.readouterr().out)["these"]["per_arm"]
    assert 2 == run_app(["plan", "first-bgu"])
    assert "did you mean 'first-bug'?" in capfd.readouterr().err
    assert 0 == run_app(["run", "first-bug", "--rehearse", "--dry-run", "--until-decided", "--max-blocks", "20"])
    assert "first-bug  careful  scripted: at most 20 attempts, about 13 expected" in capfd.readouterr().out


@pytest.mark.slow
def test_a_run_says_what_it_can_see_before_it_spends(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:  # type: ignore[no-untyped-def] # a fixture
    """With the price as well as before the first call; of one arm alone nothing can be seen."""
    monkeypatch.chdir(bench)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no call is made with it")
    assert 0 == run_app(["run", "first-bug", "--dry-run", "--blocks", "20"])
    shown = capfd.readouterr()
    assert "20 attempts per arm find a difference of +40 or -40 points from 50% four times in five" in shown.err
    assert "first-bug  careful  anthropic/claude-sonnet-4-6: 20 attempts, no history" in shown.out
    assert 0 == run_app(["run", "first-bug", "--dry-run", "--arm", "careful"])
    assert "only careful is run: nothing will be compared within this run" in capfd.readouterr().err
