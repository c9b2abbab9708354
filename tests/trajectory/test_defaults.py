"""Where a library's behaviour is recorded as a quirk, our own matcher says something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crucible.scoring.trajectory import (
    ArgsRule,
    Call,
    ExpectedCall,
    NeutralRun,
    match,
    overall,
    parse_expectation,
    score_run,
)
from tests.beside import beside
from tests.trajectory.oracle import FILES, Case, calls, cases

ORDERS = {"strict": "exact", "unordered": "same-calls", "superset": "at-least", "subset": "only-from"}
AGREED = {"ae-dir-unordered-subset-extra_key", "ae-dir-unordered-superset-missing_key"}
"""Quirks of the way that come to the right result all the same: the arguments are wrong whichever way one looks."""


def flat(messages: list[dict[str, Any]]) -> list[Call]:
    return calls([call for message in messages for call in message.get("calls") or ()])


def steps(listed: list[Any]) -> list[Call]:
    return [Call(one, {}) if isinstance(one, str) else Call(one["name"], one["args"]) for one in listed]


def asked(key: str, case: Case) -> str:
    run = NeutralRun(tuple(calls(case["actual"])), "", complete=True)
    return overall(score_run(parse_expectation({key: case["value"]["name"]}), run)).value


OURS: dict[str, Callable[[Case], Any]] = {
    "agentevals": lambda case: (
        match(
            flat(case["actual"]),
            flat(case["expected"]),
            ORDERS[case["params"]["mode"]],
            ArgsRule.of(case["params"]["args_mode"]),
        ).matched
    ),
    "deepeval": lambda case: match(calls(case["actual"]), calls(case["expected"]), "at-least", "ignore").score,
    "strands": lambda case: (
        match(
            steps(case["actual"]),
            steps(case["expected"]),
            {"exact": "exact", "in_order": "in-order", "any_order": "at-least"}[case["fn"]],
        ).score
    ),
    "ragas": lambda case: (
        match(
            calls(case["actual"]),
            calls(case["expected"]),
            "exact" if case["params"].get("strict_order") else "same-calls",
        ).score
    ),
    "promptfoo": lambda case: {"pass": True, "fail": False}[
        asked("expect_tool" if case["fn"].startswith("not-") else "forbid_tool", case)
    ],
    "tau_actions": lambda case: (
        match(
            calls(case["actual"]), [ExpectedCall(one["tool"], one["args"]) for one in case["expected"]], "at-least"
        ).matched
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_no_quirk_is_our_default(file: str) -> None:
    beside("oracle", "trajectory")
    quirks = [case for case in cases(file) if case.get("note", "").startswith("QUIRK") and case["id"] not in AGREED]
    same = [case["id"] for case in quirks if OURS[file](case) == case["result"].get("score", "an error")]
    assert [] == same


def test_the_quirks_that_change_no_result_are_these() -> None:
    beside("oracle", "trajectory")
    found = [case for case in cases("agentevals") if case["id"] in AGREED]
    assert AGREED == {case["id"] for case in found if OURS["agentevals"](case) == case["result"]["score"]}


def test_a_pair_missed_by_first_come_first_served_is_found() -> None:
    """The case upstream calls greedy: a perfect assignment exists, and only a maximum matching finds it."""
    beside("oracle", "trajectory")
    greedy = [case for case in cases("agentevals") if case["id"].startswith("ae-greedy")]
    assert greedy
    assert all(
        OURS["agentevals"](case)
        for case in greedy
        if case["params"]["mode"] != "strict" and not case["params"].get("overrides")
    )
    assert not all(case["result"]["score"] for case in greedy)


def test_true_is_not_one_for_us_alone() -> None:
    beside("oracle", "trajectory")
    (case,) = [case for case in cases("agentevals") if case["id"] == "ae-val-int-bool"]
    assert case["result"]["score"] is True
    assert not OURS["agentevals"](case)
