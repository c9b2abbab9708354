"""The neutral reading of a run holds what the sample readings say, and keeps unknown, absent and empty apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crucible.scoring.trajectory import UNKNOWN, Call, NeutralRun, NeutralTokens
from tests.beside import beside, or_absent
from tests.trajectory.oracle import FORMATS

SAMPLES = sorted((FORMATS / "expected").glob("*.json"))


@pytest.mark.parametrize("file", or_absent(SAMPLES, "formats", "expected"), ids=lambda file: file.stem)
def test_a_reading_survives_the_way_there_and_back(file: Path) -> None:
    data = json.loads(file.read_text("utf-8"))
    data.pop("note", None)
    assert data == NeutralRun.from_json(data).to_json()


def test_the_samples_are_there() -> None:
    beside("formats")
    assert 14 <= len(SAMPLES)


@pytest.mark.parametrize(
    "run",
    [
        NeutralRun(None),
        NeutralRun((), final_text=None, tool_counts={}, seconds=0.0, cost_usd=0.0),
        NeutralRun((), final_text="", tokens=NeutralTokens(), complete=False, valid=False, errors=("torn",)),
        NeutralRun(
            (
                Call("a"),
                Call("b", {}, ok=True, result=""),
                Call("c", None, ok=False, raw_args="{bad", executed=False, parent="p1"),
                Call("d", {"x": None}, executed=None, result={"ok": [1]}),
            ),
            final_text="done",
            denied=(Call("e", {"y": 1}, executed=False),),
            tokens=NeutralTokens(input=0, output=3, cache_read=1),
        ),
    ],
)
def test_unknown_absent_and_empty_stay_three_values(run: NeutralRun) -> None:
    assert run == NeutralRun.from_json(json.loads(json.dumps(run.to_json())))


def test_arguments_that_are_not_carried_are_not_empty_ones() -> None:
    assert UNKNOWN is Call("t").args
    assert Call("t") != Call("t", {})
    assert "UNKNOWN" == repr(UNKNOWN)


def test_a_total_with_an_unknown_part_is_unknown() -> None:
    assert NeutralTokens(input=5).total is None
    assert 7 == NeutralTokens(input=5, output=2).total
