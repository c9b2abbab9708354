"""How far a judge can be believed: labels given blind, agreement, corrected rates, and the verdict without the judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from crucible.cli.app import run_app
from crucible.report.agreement import agreement, as_label, light_of
from crucible.report.agreement_text import agreement_lines
from crucible.report.terminal import run_view
from crucible.report.trust import compare, with_and_without_judge
from crucible.runner.labelling import Session, pick
from crucible.store import tables
from crucible.store.facts import judge_models
from crucible.store.filling import Filled, fill_run
from crucible.store.labels import JudgedScore, Label, judged_scores, labels
from crucible.store.queries import run_record
from crucible.store.tables import ChangedFileRow, JudgeRow, ScenarioRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now

SCENARIO = """\
---
name: s
fixture_path: fixtures/none
reference_fix: fixtures/none/REFERENCE_FIX.md
task_prompt: Mend it.
test_command: "true"
arms:
  - {id: asd-arm, model: openai/simulated}
  - {id: plain, model: openai/simulated, baseline: true}
rubric:
  dimensions:
    - {name: correctness, weight: 0.5, criteria: is it right}
    - {name: taste, weight: 0.5, criteria: is it as asd-arm would do it}
---
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def score(attempt: int, value: float, arm: str = "new", dimension: str = "taste") -> JudgedScore:
    return JudgedScore(attempt, 1, "s", arm, dimension, value, "openai/judge", 1, "h")


def label(attempt: int, value: int | None, labeller: str = "ann", dimension: str = "taste") -> Label:
    return Label(attempt, dimension, labeller, value)


def judged_run(store: Store, taste: dict[str, float], green: dict[str, int], **columns: object) -> int:
    """Ten attempts per arm, so many of them green, judged by a model that gives all of an arm the same taste."""
    store.ensure(
        ScenarioRow(hash="hash-s", name="s", text=SCENARIO, fixture_digest="", reference_text="", created_at=now())
    )
    store.ensure(JudgeRow(id="j", model="openai/judge", samples=1, prompt_hash="h", rubric_hash="r", created_at=now()))
    attempts = {arm: [Filled(i < green[arm]) for i in range(10)] for arm in taste}
    run_id = fill_run(store, {"s": attempts}, "plain", **columns)
    record = run_record(store, run_id)
    assert record is not None
    for attempt in record.attempts:
        state = "green" if attempt.passed else "red"
        mark = 0.9 if attempt.passed else 0.1
        taste_of = taste[attempt.arm] + 0.02 * (attempt.block % 3)
        store.add(
            tables.TestReportRow(attempt_id=attempt.id, state=state, exit_code=0, seconds=1, passed=["t"], failed=[],
                          fixed=[], broke=[], missing=[], detail="1 passed", output=""),
            ChangedFileRow(attempt_id=attempt.id, path="a.py", status="modify", graded=True),
        )  # fmt: skip
        store.add_judging(
            attempt.id or 0, "j", [],
            [score_row(attempt.id or 0, "correctness", mark), score_row(attempt.id or 0, "taste", taste_of)],
            TotalRow(attempt_id=attempt.id, judge_id="j", seq=0, value=(mark + taste_of) / 2, partial=None,
                     weight_scored=1, missing=[]),
        )  # fmt: skip
    return run_id


def score_row(attempt: int, dimension: str, value: float) -> ScoreRow:
    return ScoreRow(attempt_id=attempt, judge_id="j", dimension=dimension, weight=0.5, value=value, reason=None,
                    raw=value, samples=[as_label(value)], asked=1, clamps=[], evidence=[], reasoning="")  # fmt: skip


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - an order that can be repeated


# What is picked


def test_both_classes_of_every_arm_are_covered_however_rare_one_is() -> None:
    scores = [score(i, 1.0, "new") for i in range(40)] + [score(99, 0.0, "new"), score(98, 0.0, "old")]
    scores += [score(100 + i, 1.0, "old") for i in range(40)]
    picked = pick(scores, [], "ann", 8, seeded(1))
    assert {("new", True): 3, ("new", False): 1, ("old", True): 3, ("old", False): 1} == dict(
        Counter((one.arm, one.value > 0.5) for one in picked)
    )


def test_nobody_is_asked_twice_and_what_others_labelled_comes_last() -> None:
    scores = [score(1, 1.0), score(2, 0.0), score(3, 0.0)]
    assert [2] == [s.attempt_id for s in pick(scores, [label(1, 5), label(3, None)], "ann", 9, seeded(0))]
    assert 3 == len(pick(scores, [label(1, 5), label(3, 1)], "bob", 9, seeded(0)))
    assert 1.0 == pick(scores, [label(2, 5), label(3, 1)], "bob", 1, seeded(0))[0].value


@given(st.integers(0, 2**30))
def test_the_order_does_not_tell_the_classes_apart_by_being_the_same_every_time(seed: int) -> None:
    scores = [score(i, float(i % 2)) for i in range(20)]
    picked = pick(scores, [], "ann", 20, seeded(seed))
    assert sorted(s.attempt_id for s in picked) == list(range(20))


# The conversation


def hold(store: Store, run_id: int, typed: Sequence[str], labeller: str = "ann") -> list[str]:
    said: list[str] = []
    lines = iter(typed)
    picked = pick(judged_scores(store, run_id), labels(store, run_id), labeller, 4, seeded(3))
    Session(store, labeller, picked, said.append).hold(lambda _: next(lines, None))
    return said


def test_answers_are_saved_one_by_one_and_can_be_taken_back(store: Store) -> None:
    run_id = judged_run(store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5})
    said = hold(store, run_id, ["u", "9", "5", "3", "u", "4", "s", "q"])
    assert [5, 4, None] == [one.value for one in labels(store, run_id)]
    assert "there is nothing to take back" in said
    assert any("'9' is none of these" in line for line in said)
    hold(store, run_id, ["0"], "bob")
    assert 4 == len(labels(store, run_id))


def test_what_is_shown_hides_the_arm_and_the_judges_score(store: Store) -> None:
    run_id = judged_run(store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5})
    said = "\n".join(hold(store, run_id, ["t", "r", "1", "1", "1", "1"]))
    assert "Mend it." in said
    assert "The suite is green" in said or "The suite is red" in said
    for secret in ("asd-arm", "plain", "simulated", "judge", "0.9", "0.2"):
        assert secret not in said


# Agreement


def test_a_judge_who_says_what_people_say_can_be_relied_on() -> None:
    scores = [score(i, i % 6 / 5, "new" if i % 2 else "old") for i in range(60)]
    (found,) = agreement(scores, [label(i, i % 6) for i in range(60)])
    assert ("rely on it", 1.0, 60) == (found.light, found.same, found.labelled)
    assert [10] * 6 == [found.table[i][i] for i in range(6)]
    assert all(arm.rate == pytest.approx(arm.passed / arm.judged) for arm in found.arms)
    assert {arm.arm: arm.own for arm in found.arms} == {"new": False, "old": False}


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    scores = [score(i, float(i % 2)) for i in range(40)]
    (found,) = agreement(scores, [label(i, 5 if i % 4 < 2 else 0) for i in range(40)])
    assert "do not let a verdict depend on it" == found.light
    assert found.arms[0].rate is None
    assert "no better than chance" in (found.arms[0].why_not or "")


def test_labels_of_one_class_only_and_scores_all_alike_say_what_is_missing() -> None:
    (found,) = agreement([score(i, 1.0) for i in range(5)], [label(i, 5) for i in range(5)])
    assert ("cannot be said", None) == (found.light, found.kappa)
    text = "\n".join(agreement_lines([found]))
    assert "people passed 5 and failed 0: the judge's errors need both" in text
    assert "not corrected, nothing that was labelled was failed by people" in text


def test_labels_taken_evenly_from_both_classes_do_not_bias_the_judges_error_rates() -> None:
    """200 attempts, 90% truly good; the judge passes 95% of the good and 40% of the bad; 8 labels from each class."""
    good = [score(i, 1.0 if i < 171 else 0.0) for i in range(180)]
    bad = [score(180 + i, 1.0 if i < 8 else 0.0) for i in range(20)]
    passed, failed = [s for s in [*good, *bad] if s.value], [s for s in [*good, *bad] if not s.value]
    shown = [*passed[:: len(passed) // 20][:20], *failed[:20]]
    (found,) = agreement([*good, *bad], [label(s.attempt_id, 5 if s.attempt_id < 180 else 0) for s in shown])
    assert found.errors.labels is not None
    assert found.errors.labels.sensitivity > 0.93  # unweighted it would be 19 of 28
    assert found.arms[0].rate == pytest.approx(0.9, abs=0.05)
    low, high = found.arms[0].interval or (1, 0)
    assert low < 0.9 < high


def test_an_arm_with_labels_enough_is_corrected_by_its_own() -> None:
    scores = [score(i, float(i % 2), "new") for i in range(60)] + [score(100 + i, 1.0, "old") for i in range(9)]
    given = [label(i, 5 if i % 2 else 1) for i in range(60)]
    (found,) = agreement(scores, given)
    assert {"new": True, "old": False} == {arm.arm: arm.own for arm in found.arms}


def test_several_people_count_once_and_their_own_agreement_is_shown() -> None:
    scores = [score(i, i % 6 / 5) for i in range(12)]
    given = [label(i, i % 6, name) for i in range(12) for name in ("ann", "bob")]
    (found,) = agreement(scores, [*given, label(0, 1, "eve"), label(1, None, "eve")])
    assert (12, ("ann", "bob", "eve")) == (found.labelled, found.people)
    assert found.between_people is not None
    assert found.between_people > 0.8


def test_dimensions_and_judge_versions_are_never_mixed() -> None:
    other = JudgedScore(3, 1, "s", "new", "taste", 1.0, "openai/other", 1, "h")
    found = agreement(
        [score(1, 1.0), score(2, 1.0, dimension="speed"), other],
        [label(1, 5), label(2, 4, dimension="speed"), label(3, 5), label(9, 1)],
    )
    assert [("speed", 1), ("taste", 1), ("taste", 1)] == [(one.dimension, one.labelled) for one in found]


@pytest.mark.parametrize(("value", "expected"), [(0.0, 0), (0.1, 1), (0.3, 2), (0.5, 3), (0.69, 3), (0.7, 4), (1.0, 5)])
def test_a_score_is_the_nearest_label_and_a_half_goes_up(value: float, expected: int) -> None:
    assert expected == as_label(value)


def test_the_light() -> None:
    found = [light_of(kappa, 10) for kappa in (0.8, 0.7, 0.66, None)]
    assert ["rely on it", "tentative", "do not let a verdict depend on it", "cannot be said"] == found


def test_a_handful_of_labels_lights_nothing_and_perfect_agreement_has_no_interval() -> None:
    (few,) = agreement([score(1, 1.0), score(2, 0.0)], [label(1, 5), label(2, 0)])
    assert ("cannot be said", 1.0, None) == (few.light, few.kappa, few.interval)
    assert "2 labels are too few for a weighted kappa, which takes 10" in "\n".join(agreement_lines([few]))


# With and without the judge


def test_a_difference_that_rests_on_the_judge_is_said(store: Store) -> None:
    run_id = judged_run(store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5})
    found = with_and_without_judge(store, run_id)
    assert (("openai/judge",), ("taste",), ("correctness",)) == (found.judges, found.judged, found.measured)
    assert found.with_judge is not None
    assert found.without_judge is not None
    assert ("better", "not told apart", False) == (found.with_judge.word, found.without_judge.word, found.agree)
    assert "They disagree: the difference rests on the judge. Only the judge scores taste." in found.lines()[-1]


def test_a_judge_that_turns_the_direction_round_is_said(store: Store) -> None:
    found = with_and_without_judge(
        store, judged_run(store, {"asd-arm": 0.0, "plain": 0.95}, {"asd-arm": 7, "plain": 0})
    )
    assert found.with_judge is not None
    assert found.without_judge is not None
    assert ("worse", "better") == (found.with_judge.word, found.without_judge.word)
    assert "the judge turns the direction round" in found.lines()[-1]


def test_when_both_say_the_same_it_says_so(store: Store) -> None:
    found = with_and_without_judge(
        store, judged_run(store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 10, "plain": 0})
    )
    assert "Both name the same direction." == found.lines()[-1]
    assert found.agree


def test_without_a_judge_model_there_is_nothing_to_say(store: Store) -> None:
    measured = fill_run(store, {"s": {"new": [Filled(True, 0.9)], "old": [Filled(True, 0.8)]}}, "old")
    assert [] == judge_models(store, measured)
    for run_id in (measured, 99):
        found = with_and_without_judge(store, run_id)
        assert ([], None, "no model judged this run") == (found.lines(), found.agree, found.why_not)


def test_a_rehearsal_says_nothing_of_a_judge(store: Store) -> None:
    run_id = judged_run(store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5}, rehearsal=True)
    assert [] == with_and_without_judge(store, run_id).lines()


def test_the_second_look_stands_by_the_verdict_on_the_score_and_else_before_what_is_exploratory(store: Store) -> None:
    """And where no verdict was given, it would be a look half-way."""
    text = {}
    for metric, status in (("score", {}), ("pass_rate", {}), ("score", {"blocks": 11})):
        run_id = judged_run(
            store, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5}, primary_metric=metric, **status
        )
        console = Console(width=120, record=True, file=StringIO())
        console.print(run_view(store, run_id))
        text[metric, bool(status)] = console.export_text()
    before, _, explored = text["pass_rate", False].partition("Does the score rest on the judge?")
    assert "With the judge" not in before
    assert "Order within blocks" in before
    assert "Exploratory" in explored
    assert "With the judge" in text["score", False].partition("What could this run see?")[0]
    assert "With the judge" not in text["score", True]
    assert "No verdict: the run is not complete" in text["score", True]


def test_scores_that_do_not_vary_have_no_interval_and_are_not_told_apart() -> None:
    found = compare([([0.5], [0.5])])
    assert ("not told apart", None, 0.0) == (found.word, found.interval, found.difference)


# The commands


def crucible(bench: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crucible", *arguments], cwd=bench, input=typed, capture_output=True, text=True,
        timeout=600, env=dict(os.environ),
    )  # fmt: skip


@pytest.mark.slow
def test_a_rehearsal_is_labelled_from_a_pipe_and_compared(bench: Path) -> None:
    assert 0 == crucible(bench, "run", "first-bug", "--rehearse", "--blocks", "1").returncode
    done = crucible(bench, "label", "--run", "1", "--labeller", "ann", "--count", "6", typed="r\n5\n4\n5\nu\n3\ns\nq\n")
    assert 0 == done.returncode, done.stderr
    assert "4 of 6 scored by ann" in done.stderr
    for secret in ("careful", "baseline", "claude", "anthropic"):
        assert secret not in done.stdout.lower()
    assert "items[start : start + size]" in done.stdout
    report = crucible(bench, "agreement", "--run", "1", "--json")
    assert 3 == sum(one["labelled"] for one in json.loads(report.stdout))
    shown = crucible(bench, "agreement", "--run", "1").stdout
    assert "judged by scripted (REHEARSAL: written by hand)" in shown
    assert "people" in shown
    assert 2 == crucible(bench, "agreement").returncode


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        (["label", "--run", "7"], "there is no run 7"),
        (["label"], "no attempt of any real run was judged by a model"),
        (["label", "--run", "1"], "no attempt of run 1 was judged by a model"),
        (["agreement", "--run", "7"], "there is no run 7"),
        (["label", "--labeller", " "], "needs the name of who gives it"),
        (["label", "--count", "0"], "--count"),
    ],
)
def test_bad_input_exits_2(bench: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], gist: str) -> None:
    with Store(bench / "results" / "crucible.db") as opened:
        fill_run(opened, {"s": {"new": [Filled(True, 0.9)], "old": [Filled(True, 0.8)]}}, "old")
    assert 2 == run_app(["-C", str(bench), *arguments])
    assert gist in capsys.readouterr().err


def test_a_dimension_nobody_judged_and_labels_of_nobody_are_said(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(bench / "results" / "crucible.db") as opened:
        judged_run(opened, {"asd-arm": 0.9, "plain": 0.2}, {"asd-arm": 5, "plain": 5})
    here = ["-C", str(bench)]
    assert 2 == run_app([*here, "label", "--dimension", "tsate"])
    assert "no judged dimension 'tsate'; did you mean 'taste'?" in capsys.readouterr().err
    assert 0 == run_app([*here, "agreement"])
    assert "nobody has labelled any of these scores yet" in capsys.readouterr().err
