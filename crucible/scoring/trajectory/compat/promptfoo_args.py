"""promptfoo's `trajectory:tool-args-match`: at least one call of a tool has the expected arguments.

`partial` looks into objects, and into lists of the same length element by element. `ignore` are names or patterns left
out on both sides; `defaults` are left out of the call where they are equal, so that a name in both `args` and `defaults`
can never match. Values are compared with their types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored, arguments
from crucible.scoring.trajectory.compat.promptfoo import actual_tools, glob, is_named, named, result
from crucible.scoring.trajectory.values import json_equal
from crucible.transcript.neutral import NeutralCall

KIND = "trajectory:tool-args-match"


def tool_args_match(calls: Sequence[NeutralCall], value: Mapping[str, Any], inverse: bool = False) -> Scored:
    """Judge the assertion object `value`: `name`, `args`, `mode`, `ignore`, `defaults`."""
    pattern, expected, mode = _read(value)
    of_tool = [call for call in calls if is_named(call, pattern)]
    hit = next((call for call in of_tool if _fits(call, expected, mode, value)), None)
    if inverse:
        return _inverted(pattern, of_tool, hit)
    if hit is not None:
        text = f'Tool "{pattern}" matched expected arguments ({mode}) on tool:{hit.tool}. Args: {_json(arguments(hit))}'
        return result(True, text + _left_out(hit, value))
    if not of_tool:
        return result(False, f'No tool call matched "{pattern}". {actual_tools(calls)}')
    wanted = f'No call to tool "{pattern}" matched expected arguments ({mode}): {_json(expected)}'
    return result(False, f"{wanted}. {_observed(of_tool)}")


def _inverted(pattern: str, of_tool: Sequence[NeutralCall], hit: NeutralCall | None) -> Scored:
    what = f'Forbidden argument match for tool "{pattern}" was'
    if hit is not None:
        return result(False, f"{what} observed on tool:{hit.tool}. Args: {_json(arguments(hit))}")
    why = f". {_observed(of_tool)}" if of_tool else " because no tool call matched it"
    return result(True, f"{what} not observed{why}")


def _read(value: Mapping[str, Any]) -> tuple[str, Any, str]:
    pattern = named(value, KIND)
    if "args" not in value and "arguments" not in value:
        raise CompatibilityError("Error", f"{KIND} assertion must include an args or arguments property")
    mode = value.get("mode", "partial")
    if mode not in ("partial", "exact"):
        raise CompatibilityError("Error", f'{KIND} assertion mode must be "partial" or "exact"')
    return pattern, value.get("args", value.get("arguments")), mode


def _fits(call: NeutralCall, expected: Any, mode: str, value: Mapping[str, Any]) -> bool:
    args, ignored, defaults = arguments(call), _ignored(value), _default(call, value)
    if args is None or not isinstance(expected, Mapping):
        return False
    given = {name: inner for name, inner in args.items() if name not in defaults and not _is_any(name, ignored)}
    wanted = {name: inner for name, inner in expected.items() if not _is_any(name, ignored)}
    return json_equal(given, wanted) if mode == "exact" else _within(wanted, given)


def _within(expected: Any, actual: Any) -> bool:
    """Whether `actual` holds all of `expected`, at every depth."""
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            name in actual and _within(inner, actual[name]) for name, inner in expected.items()
        )
    if isinstance(expected, list):
        same = isinstance(actual, list) and len(actual) == len(expected)
        return same and all(map(_within, expected, actual))
    return json_equal(expected, actual)


def _ignored(value: Mapping[str, Any]) -> list[str]:
    ignored = value.get("ignore", [])
    return [ignored] if isinstance(ignored, str) else list(ignored)


def _is_any(name: str, patterns: Sequence[str]) -> bool:
    return any(glob(pattern).fullmatch(name) for pattern in patterns)


def _default(call: NeutralCall, value: Mapping[str, Any]) -> list[str]:
    args = arguments(call) or {}
    return [name for name, inner in value.get("defaults", {}).items() if name in args and json_equal(args[name], inner)]


def _left_out(call: NeutralCall, value: Mapping[str, Any]) -> str:
    ignored = [name for name in arguments(call) or {} if _is_any(name, _ignored(value))]
    defaults = _default(call, value)
    text = f". Ignored argument(s): {', '.join(ignored)}" if ignored else ""
    return text + (f". Ignored default argument(s): {', '.join(defaults)}" if defaults else "")


def _observed(calls: Sequence[NeutralCall]) -> str:
    return f"Observed args: {'; '.join(_json(arguments(call)) for call in calls)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
