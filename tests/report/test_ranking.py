"""The leaderboard ranks arms only where the data separate them, and compares only what was run on the same scenarios."""

from __future__ import annotations

import json
from dataclasses import replace
from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from crucible.cli.app import run_app
from crucible.report.leaderboard import rank_text
from crucible.report.ranking import board, on_frontier, rank_ranges, rank_within
from crucible.stats.exact import two_arms
from crucible.store.filling import Filled, fill_run
from crucible.store.standings import LeaderboardLine
from crucible.store.writes import Store


def line(
    arm: str, passed: int, counted: int, scenario: str = "s", cost: float | None = None, priced: int | None = None
) -> LeaderboardLine:
    known = counted if priced is None and cost is not None else priced or 0
    return LeaderboardLine(scenario, scenario, arm, "m", counted, 1, passed, counted, 0.5, known, cost, None, None)


def test_arms_that_the_data_do_not_separate_share_their_ranks() -> None:
    found = rank_within([line("a", 38, 40), line("b", 34, 40), line("c", 5, 40)])
    assert ["1-2", "1-2", "3"] == [rank_text(one.rank) for one in found]


def test_a_gap_that_is_enough_for_two_arms_is_not_for_the_best_of_six() -> None:
    pair = [line("a", 9, 10), line("b", 3, 10)]
    assert [(1, 1), (2, 2)] == [one.rank for one in rank_within(pair)]
    six = [*pair, *(line(name, 6, 10) for name in "cdef")]
    assert {(1, 6)} == {one.rank for one in rank_within(six)}


def test_one_attempt_none_and_all_green_rank_nobody_and_raise_nothing() -> None:
    found = rank_within([line("a", 1, 1), line("b", 0, 1), line("c", 0, 0)])
    assert [(1, 2), (1, 2), None] == [one.rank for one in found]
    assert "-" == rank_text(found[2].rank)
    assert {(1, 2)} == {one.rank for one in rank_within([line("a", 50, 50), line("b", 50, 50)])}


def test_thousands_of_attempts_are_separated_too() -> None:
    found = rank_within([line("a", 1300, 2500), line("b", 1100, 2500), line("c", 2, 3)])
    assert [(1, 2), (2, 3), (1, 3)] == [one.rank for one in found]


@given(st.integers(401, 600), st.integers(1, 600), st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_beyond_the_enumeration_the_p_value_is_that_of_all_tables_counted(
    n_a: int, n_b: int, rate_a: float, rate_b: float
) -> None:
    k_a, k_b = round(n_a * rate_a), round(n_b * rate_b)
    total = k_a + k_b
    ways = {k: comb(n_a, k) * comb(n_b, total - k) for k in range(max(0, total - n_b), min(n_a, total) + 1)}
    more, fewer = (sum(w for k, w in ways.items() if side * (k - k_a) > 0) for side in (1, -1))
    mid_p = (2 * min(more, fewer) + ways[k_a]) / sum(ways.values())
    assert pytest.approx(mid_p, rel=1e-10) == two_arms(k_a, n_a, k_b, n_b)[0]


def test_a_million_attempts_are_ranked_and_what_no_float_can_hold_is_separated() -> None:
    found = rank_within([line("a", 999_999, 10**6), line("b", 1, 10**6), line("c", 1, 10**6)])
    assert [(1, 1), (2, 3), (2, 3)] == [one.rank for one in found]


def test_every_scenario_is_ranked_by_itself() -> None:
    found = rank_within([line("a", 40, 40, "one"), line("b", 0, 40, "one"), line("a", 0, 40, "two")])
    assert [(1, 1), (2, 2), (1, 1)] == [one.rank for one in found]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=5))
@settings(deadline=None, max_examples=40)
def test_ranks_are_ranges_in_bounds_and_a_better_arm_never_has_the_worse_range(counts: list[tuple[int, int]]) -> None:
    found = rank_within([line(f"a{i}", min(k, n), n) for i, (k, n) in enumerate(counts)])
    ranks = [one.rank for one in found if one.rank is not None]
    assert all(1 <= first <= last <= len(ranks) for first, last in ranks)
    best = max(found, key=lambda one: one.line.passed / one.line.counted)
    assert best.rank is not None
    assert 1 == best.rank[0]


def test_the_frontier_is_of_arms_that_nobody_beats_on_both() -> None:
    assert [True, True, False, None, True] == on_frontier([(0.9, 2.0), (0.5, 1.0), (0.5, 1.5), None, (0.9, 2.0)])


def test_a_cost_that_is_not_all_known_places_nobody_and_prices_no_success() -> None:
    known, partly, never = rank_within(
        [line("a", 5, 10, cost=0.1), line("b", 5, 10, cost=0.1, priced=9), line("c", 0, 10, cost=0.1)]
    )
    assert (0.2, True) == (pytest.approx(known.cost_per_success), known.frontier)
    assert (None, None) == (partly.cost_per_success, partly.frontier)
    assert (None, False) == (never.cost_per_success, never.frontier)


def test_over_scenarios_every_one_weighs_the_same() -> None:
    found = board(
        [line("a", 100, 100, "big"), line("b", 50, 100, "big"), line("a", 0, 4, "small"), line("b", 4, 4, "small")]
    )
    assert ("big", "small") == found.scenarios
    assert [("b", 0.75), ("a", 0.5)] == [(one.arm, one.pass_rate) for one in found.arms]
    assert [106, 106] == [one.attempted for one in found.arms]


def test_an_arm_that_was_run_elsewhere_is_listed_apart() -> None:
    lines = [line(arm, 5, 10, scenario) for scenario in ("one", "two") for arm in "ab"]
    found = board([*lines, line("c", 10, 10, "one"), line("b", 1, 1, "three")])
    assert ("one", "two") == found.scenarios
    assert ["a", "b"] == [one.arm for one in found.arms]
    assert [("c", ("two",))] == [(one.arm, one.lacks) for one in found.apart]
    assert ((), ()) == (board([]).scenarios, board([]).arms)


def test_one_arm_has_nobody_to_be_tied_with() -> None:
    assert [(1, 1)] == rank_ranges([0.5], max)


@pytest.fixture
def filled(bench: Path) -> list[str]:
    """A bench with two scenarios of two arms; the beginning of a command line in it."""
    with Store(bench / "results" / "crucible.db") as store:
        one = {"new": [Filled(True, 0.9, 0.1)] * 10, "old": [Filled(i < 2, None, 0.3) for i in range(10)]}
        fill_run(store, {"one": one, "two": one}, "old")
    return ["-C", str(bench), "leaderboard"]


def test_the_command_shows_ranks_counts_and_the_frontier(filled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app([*filled, "--scenario", "one"])
    out = capsys.readouterr().out
    for part in ("10 of 10", "no other arm is at least as good", "frontier", "Exploratory"):
        assert part in " ".join(out.split())
    assert "two" not in out.split()
    assert 0 == run_app([*filled, "--json"])
    first = json.loads(capsys.readouterr().out)[0]
    assert ([1, 1], 10, True, 0.1) == (
        first["rank"],
        first["attempted"],
        first["frontier"],
        pytest.approx(first["cost_per_success"]),
    )


def test_overall_names_its_scenarios(filled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app([*filled, "--overall"])
    assert "Over one, two; every scenario weighs the same." in capsys.readouterr().out
    assert 0 == run_app([*filled, "--overall", "--json"])
    assert ["new", "old"] == [arm["arm"] for arm in json.loads(capsys.readouterr().out)["arms"]]


def test_an_unknown_scenario_is_an_error_with_the_nearest(
    filled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == run_app([*filled, "--scenario", "onee"])
    assert "no real attempt is stored on 'onee'; did you mean 'one'?" in capsys.readouterr().err
    assert 2 == run_app([*filled, "--scenario", "one", "--overall"])


def test_an_edited_scenario_is_ranked_apart_from_its_older_self() -> None:
    lines = [line("a", 5, 5), line("b", 1, 5)]
    older = [replace(one, version="before", several_versions=True) for one in lines]
    newer = [replace(one, version="after", several_versions=True) for one in lines]
    ranked = rank_within([*newer, *older])
    assert ["s @after", "s @after", "s @before", "s @before"] == [one.line.label for one in ranked]
    assert ("s @after", "s @before") == board([*newer, *older]).scenarios


def test_an_arm_that_was_set_up_otherwise_is_another_arm() -> None:
    lines = [line("a", 20, 20), replace(line("a", 0, 20), setup="without extra tools")]
    assert [(1, 1), (2, 2)] == [one.rank for one in rank_within(lines)]
    assert ["", "without extra tools"] == [one.setup for one in board(lines).arms]


def test_the_tables_mark_set_ups_and_say_what_is_left_out(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(bench / "results" / "crucible.db") as store:
        fill_run(
            store, {"s": {"new": [Filled(True, 0.9)] * 8, "old": [Filled(False, 0.2)] * 8}}, "old", sequential=True
        )
        fill_run(store, {"s": {"new": [Filled(True, 0.9)] * 3, "old": [Filled(False, 0.2)] * 3}}, "old")
        with store.writing() as session:
            session.execute(text("UPDATE attempt SET setup = 'a=b' WHERE run_id = 2 AND arm = 'new'"))
            session.execute(text("UPDATE total SET setup = 'a=b' WHERE attempt_id > 16 AND arm = 'new'"))
    for overall in ([], ["--overall"]):
        assert 0 == run_app(["-C", str(bench), "leaderboard", *overall])
        said = " ".join(capsys.readouterr().out.split())
        assert "3 of 3" in said if not overall else "100%" in said
        assert "new (a=b)" in said
        assert "Left out: attempts of runs that may stop early or are not over (" in said
        assert "8 of old" in said
    assert 0 == run_app(["-C", str(bench), "leaderboard", "--json"])
    found = {(one["arm"], one["setup"]): one for one in json.loads(capsys.readouterr().out)}
    assert (0, 8) == (found["new", ""]["counted"], found["new", ""]["left_out"])
    assert (3, 0) == (found["new", "a=b"]["counted"], found["new", "a=b"]["left_out"])
