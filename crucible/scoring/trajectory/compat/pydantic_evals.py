"""pydantic-evals 2.62.0: `TrajectoryMatch`, `ToolCorrectness`, `ArgumentCorrectness` and `MaxToolCalls`.

Names are compared, arguments only for one chosen call. Failed calls are left out unless `include_failed`; calls that
never ran are always left out. A call whose `ok` is not known counts as one that did not fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from crucible.scoring.trajectory.assignment import longest_common
from crucible.scoring.trajectory.compat.common import Scored
from crucible.transcript.neutral import UNKNOWN, NeutralCall

Calls = Sequence[NeutralCall]


def trajectory_match(
    actual: Calls,
    expected: Sequence[str],
    order: Literal["exact", "in_order", "any_order"] = "in_order",
    *,
    include_failed: bool = False,
) -> Scored:
    """Equality of the names, or F1 of what they have in common: in the same order, or as multisets."""
    made, wanted = _names(actual, include_failed), list(expected)
    if order == "exact":
        return _exact(made, wanted)
    if not made and not wanted:
        return Scored(1.0, reason="both actual and expected trajectories are empty")
    if order == "any_order":
        return _f1("multiset overlap", sum((Counter(wanted) & Counter(made)).values()), made, wanted)
    rows = [sum((name == want) << at for at, want in enumerate(wanted)) for name in made]
    return _f1("LCS", longest_common(rows, len(wanted)), made, wanted)


def _exact(made: list[str], wanted: list[str]) -> Scored:
    if made == wanted:
        return Scored(1.0, reason=f"actual trajectory matches expected: {made!r}")
    return Scored(0.0, reason=f"actual trajectory {made!r} does not equal expected {wanted!r}")


def _f1(what: str, shared: int, made: list[str], wanted: list[str]) -> Scored:
    precision = shared / len(made) if made else 0.0
    recall = shared / len(wanted) if wanted else 0.0
    score = 2 * precision * recall / (precision + recall) if shared else 0.0
    reason = (
        f"{what}={shared}, precision={shared}/{len(made)}={precision:.3f}, recall={shared}/{len(wanted)}={recall:.3f}, "
        f"F1={score:.3f} (expected: {wanted!r}, actual: {made!r})"
    )
    return Scored(score, reason=reason)


def tool_correctness(
    actual: Calls, expected: Sequence[str], *, allow_extra: bool = False, include_failed: bool = False
) -> Scored:
    """Whether each expected tool was called as often as it is listed, and none beside them unless extras are allowed."""
    made, wanted = Counter(_names(actual, include_failed)), Counter(expected)
    groups = {"missing": wanted - made, "unexpected": Counter[str]() if allow_extra else made - wanted}
    problems = [f"{word} tools: {_listed(group)}" for word, group in groups.items() if group]
    return Scored(float(not problems), passed=not problems, reason="; ".join(problems) or None)


def argument_correctness(
    actual: Calls,
    tool: str,
    expected: Mapping[str, Any],
    match_mode: Literal["subset", "exact"] = "subset",
    occurrence: int | str = "first",
    *,
    include_failed: bool = False,
) -> Scored:
    """Whether one call of `tool`, the first, the last or the one at an index, has the expected arguments.

    `subset` wants the expected ones to be there, `exact` no others.
    """
    calls = [call for call in _counted(actual, include_failed) if call.tool == tool]
    if not calls:
        return _wrong(f"No calls to tool {tool!r} were recorded.")
    chosen = {"first": 0, "last": len(calls) - 1}.get(occurrence, -1) if isinstance(occurrence, str) else occurrence
    if not 0 <= chosen < len(calls):
        return _wrong(
            f"Tool {tool!r} was called {len(calls)} time(s); occurrence={occurrence!r} does not select any of them "
            "(must be 'first', 'last', or a 0-based index; negative ints are not supported)."
        )
    return _arguments(calls[chosen], tool, expected, match_mode)


def max_tool_calls(actual: Calls, limit: int, *, include_failed: bool = True) -> Scored:
    """Whether no more calls were made than `limit`; failed ones count unless they are left out."""
    count = len(_counted(actual, include_failed))
    return Scored(float(count <= limit), passed=count <= limit, reason=f"{count} tool call(s), budget={limit}")


def _arguments(call: NeutralCall, tool: str, expected: Mapping[str, Any], match_mode: str) -> Scored:
    if call.args is UNKNOWN:
        return _wrong(f"Tool {tool!r} arguments not available in span (`include_content` may be disabled).")
    if call.args is None:
        return _wrong(f"Tool {tool!r} arguments could not be parsed as JSON: {call.raw_args}")
    found = [_difference(name, call.args, value) for name, value in expected.items()]
    if match_mode == "exact":
        extra = ((name, value) for name, value in call.args.items() if name not in expected)
        found += [f"unexpected key {name!r} with value {value!r}" for name, value in extra]
    wrong = [difference for difference in found if difference]
    return _wrong(f"Tool {tool!r} argument mismatch: {'; '.join(wrong)}") if wrong else Scored(1.0, passed=True)


def _difference(name: str, actual: Mapping[str, Any], expected: Any) -> str | None:
    if name not in actual:
        return f"missing key {name!r}"
    return None if actual[name] == expected else f"key {name!r}: expected {expected!r}, got {actual[name]!r}"


def _wrong(reason: str) -> Scored:
    return Scored(0.0, passed=False, reason=reason)


def _counted(calls: Calls, include_failed: bool) -> list[NeutralCall]:
    return [call for call in calls if call.executed is not False and (include_failed or call.ok is not False)]


def _names(calls: Calls, include_failed: bool) -> list[str]:
    return [call.tool for call in _counted(calls, include_failed)]


def _listed(tools: Counter[str]) -> str:
    return ", ".join(f"{tool!r} (x{count})" for tool, count in sorted(tools.items()))
