"""The report of a run: order effect, what is exploratory, noise, flags, uptake, and the order in which it is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import delete, update
from sqlmodel import select

from crucible.report.overall import Overall, overall
from crucible.report.tallies import Pair, Tally
from crucible.report.terminal import run_view
from crucible.report.verdict import verdict_on_these
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, EventRow, FlagRow, PlannedRow, ScenarioRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now

ARMS = ("new", "old")


def passes(k: int, n: int, **more: Any) -> list[Filled]:
    return [Filled(passed=i < k, **more) for i in range(n)]


def run_of(store: Store, new: list[Filled], old: list[Filled], scenarios: int = 1, **run: Any) -> int:
    return fill_run(store, {f"s{n}": {"new": new, "old": old} for n in range(scenarios)}, "old", **run)


def read(store: Store, run_id: int) -> Overall:
    found = overall(store, run_id)
    assert found is not None
    return found


def shown(store: Store, run_id: int) -> str:
    console = Console(width=120, record=True, file=StringIO())
    view = run_view(store, run_id)
    assert view is not None
    console.print(view, highlight=False)
    return console.export_text()


def swap_places(store: Store, run_id: int, blocks: Sequence[int]) -> None:
    """In these blocks the baseline goes first."""
    with store.writing() as session:
        for block in blocks:
            planned = select(PlannedRow.position).where(PlannedRow.run_id == run_id, PlannedRow.block == block)
            first, second = sorted(session.exec(planned).all())
            places = update(PlannedRow).where(PlannedRow.run_id == run_id)
            for old, new in ((first, -1), (second, first), (-1, second)):
                session.execute(places.where(PlannedRow.position == old).values(position=new))


def test_the_order_within_blocks_is_looked_at_and_warned_of(store: Store) -> None:
    """Whoever goes first passes: both arms are alike, and the order explains everything."""
    first = {block: block % 2 == 1 for block in range(1, 13)}
    run = run_of(store, [Filled(passed=first[b]) for b in first], [Filled(passed=not first[b]) for b in first])
    swap_places(store, run, [block for block, treatment in first.items() if not treatment])
    found = read(store, run)
    assert found.order is not None
    assert ((6, 6), 1.0, True) == (found.order.first, found.order.effect, found.order.matters)
    assert (
        "WARNING: the order within blocks mattered: new first in 6 blocks, old in 6; going first is worth +100 points"
        in (shown(store, run))
    )


def started(store: Store, run_id: int, order: Sequence[tuple[str, int]], passed: Callable[[str, int], bool]) -> None:
    """Attempts (arm, block) made in this order."""
    for arm, block in order:
        row = AttemptRow(
            run_id=run_id, scenario_hash="hash-s0", scenario="s0", arm=arm, block=block, baseline=arm == "old",
            model="openai/simulated", sandbox="overlay", rehearsal=False, scripted_usage=False, started_at=now(),
        )  # fmt: skip
        ended = {"ending": "finished", "cause": "agent", "counted": True, "passed": passed(arm, block)}
        store.finish_attempt(store.start_attempt(row), ended)


def test_with_several_attempts_at_a_time_the_order_is_that_in_which_they_really_started(store: Store) -> None:
    """Planned in one order, started in both: which of them passes goes by who started first."""
    first = {block: ARMS if block % 2 else ARMS[::-1] for block in range(1, 13)}
    order = [(arm, block) for block, arms in first.items() for arm in arms]
    for parallel, effect, went in (
        (1, None, "new first in 12 blocks, old in 0, never"),
        (4, 1.0, "new first in 6 blocks, old in 6 (as they really started, 4 attempts at a time); going first"),
    ):
        run = run_of(store, [], [], blocks=12, parallel=parallel)
        started(store, run, order, lambda arm, block: arm == first[block][0])
        found = read(store, run)
        assert found.order is not None
        assert effect == found.order.effect
        assert went in found.order.text(found.terms)


def test_a_better_arm_is_no_order_effect(store: Store) -> None:
    """The treatment always passes, the baseline never: the order explains nothing."""
    run = run_of(store, passes(10, 10), passes(0, 10))
    swap_places(store, run, range(1, 6))
    found = read(store, run)
    assert found.order is not None
    assert ((5, 5), 0.0, 1.0) == (found.order.first, found.order.effect, found.order.p_value)


def test_an_order_that_never_changed_cannot_be_told_from_the_arms(store: Store) -> None:
    run = run_of(store, passes(10, 10), passes(0, 10))
    found = read(store, run)
    assert found.order is not None
    assert ((10, 0), None) == (found.order.first, found.order.effect)
    assert "cannot be told" in found.order.text(found.terms)


def test_a_test_that_was_drawn_is_not_called_exact(store: Store) -> None:
    """Scores without a lattice, and many scenarios whose numbers of attempts share no small multiple."""
    random = Random(4)  # noqa: S311 - an experiment that can be repeated
    scored = [[Filled(passed=True, score=random.random()) for _ in range(40)] for _ in range(2)]
    run = run_of(store, *scored, primary_metric="score")
    swap_places(store, run, range(1, 21))
    found = read(store, run)
    assert found.order is not None
    assert ("permutation, 20,000 draws", "permutation, 20,000 draws") == (found.verdict.test, found.order.test)
    pairs = [Pair(Tally("new", n, n, 0, n // 2), Tally("old", n, n, 0, n // 3), f"s{n}") for n in range(40, 60)]
    assert "draws within scenarios" in (verdict_on_these(pairs).test or "")
    assert "exact permutation within scenarios" == verdict_on_these(pairs[:3]).test


def test_scenarios_and_dimensions_are_exploratory_and_adjusted(store: Store) -> None:
    run = run_of(store, passes(5, 5, score=0.9), passes(1, 5, score=0.4), scenarios=4)
    found = read(store, run)
    assert ["s0", "s1", "s2", "s3"] == [row.scenario for row in found.scenarios]
    assert all(row.p_value <= row.benjamini_hochberg <= row.holm for row in found.scenarios)
    assert [("correctness", (20, 20))] == [(row.name, row.scored) for row in found.dimensions]
    assert "Exploratory: adjusted for many looks, and never the verdict" in shown(store, run)


def test_it_is_said_when_no_scenario_could_have_been_significant(store: Store) -> None:
    """Three attempts per arm give p = 0.031 at best, which no adjustment over four scenarios survives."""
    found = read(store, run_of(store, passes(3, 3), passes(0, 3), scenarios=4))
    assert "none significant after Holm (smallest possible p: 0.0313); with so few attempts none could have been" == (
        found.scenarios_summary
    )
    assert "better" == found.verdict.word, "together they tell what no one of them can"


def test_the_score_decides_when_that_was_declared(store: Store) -> None:
    new = [Filled(passed=False, score=0.6 + n / 100) for n in range(6)]
    old = [Filled(passed=False, score=0.2 + n / 100) for n in range(6)]
    run = run_of(store, new, old, primary_metric="score", margin=0.05)
    found = read(store, run)
    assert "+0.40 of the score (95%: +0.38 to +0.42); Cliff's delta +1.00" in " ".join(shown(store, run).split())
    assert ("score", 0.05, "better") == (found.metric, found.margin, found.verdict.word)
    assert found.verdict.sentence == (
        "new is better than old on this scenario: mean score 0.62 (6 of 6 scored) against 0.23 (6 of 6 scored), +0.40 of the "
        "score (95% interval +0.38 to +0.42, Welch; p = 0.002, exact permutation)."
    )


def test_the_declared_margin_decides_what_is_equivalent(store: Store) -> None:
    words = [read(store, run_of(store, passes(20, 40), passes(20, 40), margin=m)).verdict.word for m in (0.1, 0.3)]
    assert ["inconclusive", "equivalent"] == words


def test_attempts_that_lack_a_score_are_shown_with_their_reason(store: Store) -> None:
    run = run_of(store, passes(2, 4, score=0.5), [*passes(1, 3, score=0.4), *passes(0, 1)])
    text = shown(store, run)
    assert "3 of 4 (missing: 1 correctness: not given)" in " ".join(text.split())


def test_flags_stand_beside_what_was_blocked(store: Store) -> None:
    run = run_of(store, passes(2, 2), passes(2, 2))
    for attempt, kind in ((1, "history"), (2, "history"), (2, "judge")):
        seq = 0 if kind == "history" else 1
        store.add(FlagRow(attempt_id=attempt, seq=seq, kind=kind, turn=1, call_id="c", detail="d"))
    found = read(store, run)
    assert [{"history": 2, "judge": 1}, {}] == [arm.flags for arm in found.comparisons[0].arms]
    assert "2 history, 1 judge" in shown(store, run)


def test_the_noise_floor_of_a_scenario_stands_behind_its_difference(store: Store) -> None:
    """One A/A run on the same scenario, and every later comparison on it says what chance does."""
    fill_run(store, {"s0": {"old-again": passes(3, 5), "old": passes(2, 5)}}, "old", kind="aa")
    run = run_of(store, passes(5, 5), passes(2, 5))
    assert any("noise floor from 1 A/A run" in line for line in read(store, run).comparisons[0].noise)
    assert "noise floor from 1 A/A run" in shown(store, run)


def opening(prompt: str = "p", task: str = "t", tools: Sequence[str] = ("bash",), seen: str = "x") -> str:
    return json.dumps(
        {"kind": "started", "system_prompt": prompt, "task": task, "tools": list(tools), "first_request_sha256": seen}
    )


def open_all(store: Store, of: Callable[[AttemptRow], str]) -> None:
    with store.writing() as session:
        for row in session.exec(select(AttemptRow)).all():
            session.add(EventRow(attempt_id=row.id or 0, seq=0, kind="started", turn=0, at=0.0, data=of(row)))


@pytest.mark.parametrize(
    ("differ", "expected"),
    [
        (lambda _: opening(), "Not tested: both arms were the same."),
        (lambda row: opening(task=row.arm, seen=row.arm), "No verdict: the arms were given different tasks."),
        (
            lambda row: opening(tools=("bash", row.arm), seen=row.arm),
            "No verdict: the arms were given different tools that no extra tool server explains.",
        ),
        (
            lambda row: opening(prompt=row.arm, seen=row.arm),
            "No verdict: the arms were given different system prompts that the scenario does not declare.",
        ),
        (
            lambda row: opening(seen=f"{row.arm}{row.block}"),
            "No verdict: the attempts of new did not all begin with the same request.",
        ),
    ],
)
def test_arms_that_do_not_differ_as_declared_get_no_verdict(
    store: Store, differ: Callable[[AttemptRow], str], expected: str
) -> None:
    run = run_of(store, passes(9, 10), passes(1, 10))
    open_all(store, differ)
    assert expected == read(store, run).verdict.sentence


def test_a_treatment_whose_tools_nobody_used_was_not_tested(store: Store) -> None:
    """And with one use it was."""
    run = run_of(store, passes(9, 10), passes(1, 10))
    with store.writing() as session:
        scenario = session.exec(select(ScenarioRow)).one()
        arm = "- {id: new, model: openai/simulated}"
        scenario.text = scenario.text.replace(arm, "- {id: new, model: openai/simulated, extra_tools: [asd]}")
    open_all(store, lambda row: opening(tools=("bash", *(["asd__find"] if row.arm == "new" else [])), seen=row.arm))
    assert "Not tested: no attempt of new used its extra tools." == read(store, run).verdict.sentence
    answered = json.dumps({"kind": "answered", "tool": "asd__find", "ok": True})
    store.add(EventRow(attempt_id=1, seq=1, kind="answered", turn=1, at=1.0, data=answered))
    found = read(store, run)
    assert "better" == found.verdict.word
    assert ("The arms differ in extra tools (asd).", "new used its extra tools in 1 of 10 attempts.") == (
        found.comparisons[0].uptake
    )


def test_only_one_arm_was_run(store: Store) -> None:
    run = run_of(store, passes(2, 2), passes(2, 2))
    with store.writing() as session:
        session.execute(delete(TotalRow))
        session.execute(delete(ScoreRow))
        for table in (PlannedRow, AttemptRow):
            session.execute(delete(table).where(table.arm == "old"))
    found = read(store, run)
    assert ("new", "", "Not tested: only one arm was run.") == (found.treatment, found.baseline, found.verdict.sentence)
    assert "Not tested: only one arm was run." in shown(store, run)


def test_the_report_answers_in_the_order_of_the_questions(store: Store) -> None:
    new = [Filled(passed=n > 0, score=0.8, cost_usd=0.1 + n / 1000) for n in range(10)]
    old = [Filled(passed=n > 6, score=0.3, cost_usd=0.2 + n / 1000) for n in range(10)]
    run = run_of(store, new, old, scenarios=3)
    text = shown(store, run)
    heads = [
        "3 scenarios  (run 1; declared before it: on the pass rate, margin 10 points)",
        "Was it tested?",
        "Verdict",
        "new is better than old on these 3 scenarios",
        "on scenarios like these",
        "How far apart? (new minus old)",
        "What could this run see?",
        "Cost",
        "new is better and cheaper",
        "Order within blocks",
        "Exploratory",
        "Attempts",
    ]
    places = [text.find(head) for head in heads]
    assert -1 not in places
    assert places == sorted(places)
    assert all(len(line) <= 120 for line in text.splitlines())


def test_long_runs_list_their_attempts_only_when_asked(store: Store, tmp_path: Path) -> None:
    run = run_of(store, passes(9, 20), passes(3, 20), scenarios=2)
    assert "80 attempts; list them with: crucible compare 1 --details" in shown(store, run)
