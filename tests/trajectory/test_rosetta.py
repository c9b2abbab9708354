"""Fifteen situations put to all libraries at once: the table of their results is reproduced."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from crucible.scoring.trajectory import Call
from crucible.scoring.trajectory.compat import (
    CompatibilityError,
    Scored,
    adk,
    agentevals,
    deepeval,
    promptfoo,
    pydantic_evals,
    ragas,
    strands,
)
from tests.beside import beside
from tests.trajectory.oracle import ORACLE

Step = tuple[str, dict[str, Any]]
A: Step = ("a", {"x": 1})
B: Step = ("b", {"y": 2})

SITUATIONS: dict[str, tuple[list[Step], list[Step]]] = {
    "same": ([A, B], [A, B]),
    "swapped": ([B, A], [A, B]),
    "extra call": ([A, ("c", {}), B], [A, B]),
    "missing call": ([A], [A, B]),
    "dup wanted, one made": ([A], [A, A]),
    "dup wanted, dup made": ([A, A], [A, A]),
    "one wanted, dup made": ([A, A], [A]),
    "extra arg": ([("a", {"x": 1, "z": 3}), B], [A, B]),
    "missing arg": ([("a", {}), B], [A, B]),
    "wrong arg value": ([("a", {"x": 9}), B], [A, B]),
    "wrong tool": ([("c", {"x": 1}), B], [A, B]),
    "none wanted, one made": ([A], []),
    "one wanted, none made": ([], [A]),
    "none, none": ([], []),
    "true for 1": ([("a", {"x": True})], [("a", {"x": 1})]),
}


def names(steps: list[Step]) -> list[str]:
    return [tool for tool, _ in steps]


def calls(steps: list[Step]) -> list[Call]:
    return [Call(tool, args, ok=True) for tool, args in steps]


def messages(steps: list[Step]) -> list[dict[str, Any]]:
    listed = [{"function": {"name": tool, "arguments": json.dumps(args)}} for tool, args in steps]
    return [{"role": "assistant", "content": "", "tool_calls": [call]} for call in listed]


def de(**how: Any) -> Callable[[list[Step], list[Step]], float | None]:
    def score(made: list[Step], want: list[Step]) -> float | None:
        sides = ([deepeval.ToolCall(tool, args) for tool, args in side] for side in (made, want))
        return deepeval.tool_correctness(*sides, **how).score

    return score


def pf(mode: str, made: list[Step], want: list[Step]) -> float | None:
    return promptfoo.assertion("trajectory:tool-sequence", calls(made), {"mode": mode, "steps": names(want)}).score


COLUMNS: dict[str, Callable[[list[Step], list[Step]], float | Scored | None]] = {
    **{
        f"agentevals:{mode}": lambda made, want, mode=mode: agentevals.trajectory_match(
            messages(made), messages(want), mode
        )
        for mode in ("strict", "unordered", "superset", "subset")
    },
    **{
        f"adk:{kind}": lambda made, want, kind=kind: adk.tool_trajectory([calls(made)], [calls(want)], kind)
        for kind in ("EXACT", "IN_ORDER", "ANY_ORDER")
    },
    "deepeval:default(names)": de(),
    "deepeval:args": de(compare=["args"]),
    "deepeval:order+args": de(compare=["args"], ordering=True),
    "deepeval:exact+args": de(compare=["args"], exact=True),
    "strands:exact": lambda made, want: strands.exact_match(names(made), names(want)),
    "strands:in_order": lambda made, want: strands.in_order_match(names(made), names(want)),
    "strands:any_order": lambda made, want: strands.any_order_match(names(made), names(want)),
    **{
        f"pydantic:traj {kind}": lambda made, want, kind=kind: pydantic_evals.trajectory_match(
            calls(made), names(want), kind
        )
        for kind in ("exact", "in_order", "any_order")
    },
    "pydantic:tools": lambda made, want: pydantic_evals.tool_correctness(calls(made), names(want)),
    "ragas:acc strict": lambda made, want: ragas.tool_call_accuracy(calls(made), calls(want)),
    "ragas:acc flex": lambda made, want: ragas.tool_call_accuracy(calls(made), calls(want), strict_order=False),
    "ragas:f1": lambda made, want: ragas.tool_call_f1(calls(made), calls(want)),
    "promptfoo:seq exact": lambda made, want: pf("exact", made, want),
    "promptfoo:seq in_order": lambda made, want: pf("in_order", made, want),
}


def shown(column: str, made: list[Step], want: list[Step]) -> str:
    """A result as the table writes it: 1, 0, two digits, or ERR."""
    try:
        found = COLUMNS[column](made, want)
    except CompatibilityError:
        return "ERR"
    score = found.score if isinstance(found, Scored) else found
    return f"{float(score or 0):.2f}" if score not in (0, 1) else str(int(score))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_table_of_all_libraries_is_reproduced(situation: str) -> None:
    beside("oracle", "trajectory")
    table = json.loads((ORACLE / "rosetta.json").read_text("utf-8"))
    assert set(SITUATIONS) == set(table["rows"])
    assert set(COLUMNS) == set(table["columns"])
    assert table["rows"][situation] == {column: shown(column, *SITUATIONS[situation]) for column in table["columns"]}
