"""The compatibility modes against results recorded by running the libraries themselves."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.scoring.trajectory.compat import CompatibilityError, Scored
from tests.beside import beside
from tests.trajectory.oracle import FILES, ORACLE, PUT, Case, cases

EXACT_REASONS = ("pydantic_evals", "promptfoo", "strands")


@pytest.mark.parametrize("file", FILES)
def test_every_recorded_case_gives_the_recorded_result(file: str) -> None:
    beside("oracle", "trajectory")
    wrong = {
        case["id"]: (case["result"], got) for case in cases(file) if (got := _outcome(file, case)) != _recorded(case)
    }
    assert {} == wrong


@pytest.mark.parametrize("file", EXACT_REASONS)
def test_reasons_are_the_librarys_own_words(file: str) -> None:
    beside("oracle", "trajectory")
    recorded = {case["id"]: case["result"]["reason"] for case in cases(file) if "reason" in case["result"]}
    assert recorded == {case["id"]: PUT[file](case).reason for case in cases(file) if case["id"] in recorded}


def test_no_recorded_file_is_left_out() -> None:
    beside("oracle", "trajectory")
    trajectories = {file.stem for file in ORACLE.glob("*.json")} - {"rosetta", "statistics"}
    assert trajectories == set(FILES)
    assert 846 <= sum(len(cases(file)) for file in FILES)


def _recorded(case: Case) -> Any:
    result = case["result"]
    return result.get("error") or _facts(result)


def _outcome(file: str, case: Case) -> Any:
    """What our mode gives, reduced to what was recorded; the name of the library's error when it raises."""
    try:
        got = PUT[file](case)
    except CompatibilityError as error:
        return error.name
    return _facts(
        {
            "score": got.score,
            "pass": got.passed,
            "status": got.status,
            "per_turn": list(got.parts),
            "per_action": list(map(bool, got.parts)),
        },
        only=case["result"],
    )


def _facts(result: dict[str, Any], only: dict[str, Any] | None = None) -> dict[str, Any]:
    names = [name for name in ("score", "pass", "status", "per_turn", "per_action") if name in (only or result)]
    rounded = {name: result[name] for name in names}
    score = rounded.get("score")
    return rounded | ({} if score is None else {"score": pytest.approx(float(score), abs=1e-12)})


def test_a_result_that_differs_is_noticed() -> None:
    case = {"result": {"score": 0.5, "pass": True}}
    assert _recorded(case) == _facts({"score": 0.5, "pass": True})
    assert _recorded(case) != _facts({"score": 0.25, "pass": True})
    assert Scored(0.5).passed is None
