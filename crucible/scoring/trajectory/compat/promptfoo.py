"""promptfoo 0.121.20: the assertions on tool calls, inverted by `not-`.

Names are patterns (`*`, `?`, upper and lower case alike). `{max: 0}` alone can never pass, since `min` is 1 unless it is
given; `not-` on a list means that none of them was used; an unknown sequence mode is taken for `in_order`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored, counted
from crucible.transcript.neutral import NeutralCall

Calls = Sequence[NeutralCall]
Assertion = Callable[[Calls, Any, bool], Scored]


def assertion(kind: str, calls: Calls, value: Any, threshold: float = 1.0) -> Scored:
    """Judge one assertion: `trajectory:tool-used`, `:tool-sequence`, `:tool-args-match`, `:step-count`, `tool-call-f1`.

    `value` is what stands under `value:` in the test file. CompatibilityError("Error", ...) where promptfoo throws.
    """
    from crucible.scoring.trajectory.compat.promptfoo_args import tool_args_match

    name = kind.removeprefix("not-")
    if name == "tool-call-f1":
        return tool_call_f1(calls, value, threshold)
    kinds: dict[str, Assertion] = {
        "trajectory:tool-used": tool_used,
        "trajectory:tool-sequence": tool_sequence,
        "trajectory:tool-args-match": tool_args_match,
        "trajectory:step-count": step_count,
    }
    if name not in kinds:
        raise CompatibilityError("Error", f"Unknown assertion type: {kind}")
    return kinds[name](calls, value, kind != name)


def tool_used(calls: Calls, value: Any, inverse: bool = False) -> Scored:
    """Every pattern was called; or, for an object, one pattern as often as `min` and `max` say."""
    if isinstance(value, Mapping):
        return _used_times(calls, value, inverse)
    patterns = [value] if isinstance(value, str) else list(value)
    if not patterns:
        raise CompatibilityError("Error", "trajectory:tool-used assertion requires at least one expected tool")
    used = [pattern for pattern in patterns if any(is_named(call, pattern) for call in calls)]
    missing = [pattern for pattern in patterns if pattern not in used]
    if inverse:
        if used:
            return result(False, f"Forbidden tool(s) were used: {', '.join(used)}. {actual_tools(calls)}")
        return result(True, f"Forbidden tool(s) were not used: {', '.join(patterns)}")
    if missing:
        return result(False, f"Missing required tool(s): {', '.join(missing)}. {actual_tools(calls)}")
    return result(True, f"Observed required tool(s): {', '.join(used)}. {actual_tools(calls)}")


def _used_times(calls: Calls, value: Mapping[str, Any], inverse: bool) -> Scored:
    pattern, low, high = named(value, "trajectory:tool-used"), value.get("min", 1), value.get("max")
    found = [call for call in calls if is_named(call, pattern)]
    holds = len(found) >= low and (high is None or len(found) <= high)
    if inverse and holds:
        return result(False, f'Tool "{pattern}" matched {len(found)} time(s), which violates the inverse assertion')
    if inverse:
        return result(True, f'Tool "{pattern}" did not satisfy the forbidden match condition')
    wanted = f"at least {low}" if high is None else f"{low}-{high}"
    return result(holds, f'Matched tool "{pattern}" {len(found)} time(s) (expected {wanted}){_matches(found)}')


def tool_sequence(calls: Calls, value: Any, inverse: bool = False) -> Scored:
    """The patterns were called one after the other; with mode exact, and nothing else was."""
    mode, steps = (value.get("mode"), value.get("steps")) if isinstance(value, Mapping) else ("in_order", value)
    if not steps:
        raise CompatibilityError("Error", "trajectory:tool-sequence assertion requires at least one expected step")
    if mode == "exact":
        holds = len(steps) == len(calls) and all(map(is_named, calls, steps))
        seen, failed = (
            f"exact tool sequence: {_tools(calls)}",
            f"Expected exact tool sequence of {', '.join(steps)}, but ",
        )
        failed += f"actual tools were {_tools(calls)}"
    else:
        found = _one_after_the_other(calls, steps)
        holds = len(found) == len(steps)
        seen = f"tool sequence in order: {_tools(found)}. {actual_tools(calls)}"
        failed = (
            "" if holds else f'Expected tool "{steps[len(found)]}" was not observed in order. {actual_tools(calls)}'
        )
    if inverse and holds:
        return result(False, f"Forbidden tool sequence was observed. {actual_tools(calls)}")
    if inverse:
        return result(True, "Forbidden tool sequence was not observed")
    return result(holds, f"Observed {seen}" if holds else failed)


def step_count(calls: Calls, value: Mapping[str, Any], inverse: bool = False) -> Scored:
    """How many calls, of a pattern if one is given, between `min` and `max`."""
    low, high = value.get("min"), value.get("max")
    if low is None and high is None:
        raise CompatibilityError("Error", "trajectory:step-count assertion must include a min or max property")
    found = [call for call in calls if is_named(call, value.get("pattern") or value.get("name") or "*")]
    holds = len(found) >= (low or 0) and (high is None or len(found) <= high)
    wanted = f"at most {high}" if low is None else f"at least {low}" if high is None else f"{low}-{high}"
    where = f"type={value.get('type', 'tool')}"
    return result(
        holds != inverse, f"Matched {len(found)} trajectory step(s) for {where} (expected {wanted}){_matches(found)}"
    )


def tool_call_f1(calls: Calls, value: Any, threshold: float = 1.0) -> Scored:
    """F1 of the sets of names; passes from `threshold` on. `value` is a list, or names with commas between."""
    wanted = [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)
    made = list(dict.fromkeys(call.tool for call in calls))
    shared = counted(made, set(wanted).__contains__)
    precision = shared / len(made) if made else 0.0
    recall = shared / len(set(wanted)) if wanted else 0.0
    score = 2 * precision * recall / (precision + recall) if shared else 0.0
    sides = f"Expected: [{', '.join(wanted)}], Called: [{', '.join(made) or '(none)'}]"
    if score >= threshold:
        reason = f"Tool Call F1: {score:.3f} (precision={precision:.3f}, recall={recall:.3f}). {sides}"
    else:
        reason = f"Tool Call F1 score {score:.3f} is below threshold {threshold:g}. {sides}. "
        reason += f"Precision={precision:.3f}, Recall={recall:.3f}"
    return Scored(score, passed=score >= threshold, reason=reason)


def _one_after_the_other(calls: Calls, steps: Sequence[str]) -> list[NeutralCall]:
    found: list[NeutralCall] = []
    for call in calls:
        if len(found) < len(steps) and is_named(call, steps[len(found)]):
            found.append(call)
    return found


def named(value: Mapping[str, Any], kind: str) -> str:
    """The pattern of an assertion object."""
    pattern = value.get("pattern") or value.get("name")
    if not isinstance(pattern, str):
        raise CompatibilityError("Error", f"{kind} assertion object must include a name or pattern property")
    return pattern


def is_named(call: NeutralCall, pattern: str) -> bool:
    """Whether a call's tool has a name of this pattern."""
    return glob(pattern).fullmatch(call.tool) is not None


@lru_cache(maxsize=1024)
def glob(pattern: str) -> re.Pattern[str]:
    """`*` is any text, `?` any character, upper and lower case are the same."""
    parts = {"*": ".*", "?": "."}
    text = "".join(parts.get(char, re.escape(char)) for char in pattern)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def result(holds: bool, reason: str) -> Scored:
    """1 or 0 with its reason."""
    return Scored(float(holds), passed=holds, reason=reason)


def actual_tools(calls: Calls) -> str:
    """The sentence that lists what was called."""
    return f"Actual tools: {_tools(calls)}"


def _tools(calls: Calls) -> str:
    return ", ".join(f"tool:{call.tool}" for call in calls) or "(none)"


def _matches(found: Calls) -> str:
    return f". Matches: {_tools(found)}" if found else ""
