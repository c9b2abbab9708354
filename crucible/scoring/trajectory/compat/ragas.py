"""ragas 0.4.3: `ToolCallAccuracy` and `ToolCallF1`.

Accuracy compares values as text, so 1 equals "1", leaves extra arguments unpunished, and is 0 for lists of different
length; without order it pairs calls after sorting both sides, so a call may meet the wrong partner. F1 is of sets:
duplicates collapse, and nothing wanted with nothing done scores 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from crucible.scoring.trajectory.compat.common import arguments, counted
from crucible.transcript.neutral import NeutralCall

Calls = Sequence[NeutralCall]


def tool_call_accuracy(actual: Calls, expected: Calls, *, strict_order: bool = True) -> float:
    """The mean share of expected arguments with the expected text, provided that the names are the expected ones."""
    if not actual or not expected:
        return float(not actual and not expected)
    made, wanted = list(actual), list(expected)
    if not strict_order:
        made, wanted = sorted(made, key=_sorting), sorted(wanted, key=_sorting)
    if [call.tool for call in made] != [call.tool for call in wanted]:
        return 0.0
    return sum(map(_shared, made, wanted)) / len(wanted)


def tool_call_f1(actual: Calls, expected: Calls) -> float:
    """F1 of the sets of calls, rounded to four digits as the library does."""
    made, wanted = {_hashable(call) for call in actual}, {_hashable(call) for call in expected}
    shared = len(made & wanted)
    if not shared:
        return 0.0
    precision, recall = shared / len(made), shared / len(wanted)
    return round(2 * precision * recall / (precision + recall), 4)


def _shared(made: NeutralCall, wanted: NeutralCall) -> float:
    given, asked = arguments(made) or {}, arguments(wanted) or {}
    if not asked:
        return float(not given)
    return counted(asked, lambda name: name in given and str(given[name]) == str(asked[name])) / len(asked)


def _sorting(call: NeutralCall) -> tuple[str, ...]:
    args = arguments(call) or {}
    return (call.tool, *(text for name in sorted(args) for text in (name, str(args[name]))))


def _hashable(call: NeutralCall) -> Hashable:
    return call.tool, _frozen(arguments(call) or {})


def _frozen(value: Any) -> Hashable:
    """A hashable stand-in with Python's equality, where true is 1."""
    if isinstance(value, Mapping):
        return frozenset((name, _frozen(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    return value  # type: ignore[no-any-return]  # what is left of JSON is hashable
