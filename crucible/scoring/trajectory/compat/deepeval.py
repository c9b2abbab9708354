"""deepeval 4.3.1: `ToolCorrectnessMetric`, without the part that asks a model (`available_tools`).

By default only names are compared, extra calls cost nothing, and half of the score passes. Called tools that are equal
in name, arguments and output share one place, so the same call expected twice and made twice scores a half.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as deepeval has it. None for `args` and `output` is one that was not given; `type` is FUNCTION or MCP."""

    tool: str
    args: Mapping[str, Any] | None = None
    output: Any = None
    type: str = "FUNCTION"

    def same_place(self, other: ToolCall) -> bool:
        """Equal as deepeval's own equality has it, which leaves out the type."""
        return (self.tool, self.args, self.output) == (other.tool, other.args, other.output)


Calls = Sequence[ToolCall]


def tool_correctness(
    called: Calls,
    expected: Calls,
    compare: Collection[str] = (),
    *,
    exact: bool = False,
    ordering: bool = False,
    threshold: float = 0.5,
    strict_mode: bool = False,
) -> Scored:
    """Score the called tools. `compare` may hold "args" and "output"; `exact` wins over `ordering`.

    `strict_mode` sets the threshold to 1 and every score below it to 0.
    """
    limit = 1.0 if strict_mode else threshold
    if exact:
        score = float(_exact(called, expected, compare))
    elif not expected:
        score = float(not called)
    else:
        total = _in_sequence(called, expected, compare) if ordering else _best_first(called, expected, compare)
        score = total / len(expected)
    if strict_mode and score < limit:
        score = 0.0
    return Scored(score, passed=score >= limit)


def _exact(called: Calls, expected: Calls, compare: Collection[str]) -> bool:
    def face(call: ToolCall) -> list[Any]:
        args, output = call.args if "args" in compare else None, call.output if "output" in compare else None
        return [call.tool, call.type, args, output]

    return [*map(face, called)] == [*map(face, expected)]


def _best_first(called: Calls, expected: Calls, compare: Collection[str]) -> float:
    """For each expected tool in turn the best one left; ties go to the first."""
    total, used = 0.0, list[ToolCall]()
    for want in expected:
        left = [call for call in called if not any(map(call.same_place, used))]
        scores = [_likeness(want, call, compare) for call in left]
        best = max(scores, default=0.0)
        if best > 0:
            total += best
            used.append(left[scores.index(best)])
    return total


def _in_sequence(called: Calls, expected: Calls, compare: Collection[str]) -> float:
    """The heaviest common subsequence, each pair weighing as much as its arguments are alike."""
    above = [0.0] * (len(called) + 1)
    for want in expected:
        row = [0.0]
        for at, call in enumerate(called):
            weight = _likeness(want, call, compare)
            row.append(max(above[at + 1], row[at], above[at] + weight if weight > 0 else 0.0))
        above = row
    return above[-1]


def _likeness(expected: ToolCall, called: ToolCall, compare: Collection[str]) -> float:
    if (expected.tool, expected.type) != (called.tool, called.type):
        return 0.0
    alike = _same_arguments(expected.args, called.args) if "args" in compare else 1.0
    return 0.0 if "output" in compare and expected.output != called.output else alike


def _same_arguments(expected: Mapping[str, Any] | None, called: Mapping[str, Any] | None) -> float:
    """The share of all keys whose values are equal; an object within counts by its own share."""
    if expected == called:
        return 1.0
    if expected is None or called is None:
        raise CompatibilityError("AttributeError", "'NoneType' object has no attribute 'keys'")
    keys = expected.keys() | called.keys()
    total = 0.0
    for key in expected:
        if key not in called:
            continue
        want, got = expected[key], called[key]
        if want == got:
            total += 1 / len(keys)
        elif isinstance(want, Mapping) and isinstance(got, Mapping):
            total += _same_arguments(want, got) / len(keys)
    return total
