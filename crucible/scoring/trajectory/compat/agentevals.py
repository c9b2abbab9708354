"""agentevals 0.0.9: `create_trajectory_match_evaluator` with its four modes, argument modes and overrides.

It differs from `match` in this, all of it reproduced here:

- equality is Python's, so true equals 1,
- calls are paired first come, first served, so a pair can be missed because of an earlier one,
- `subset` is `superset` with the sides swapped, and swaps them for the comparison of arguments too,
- `unordered` is both, so argument modes subset and superset come down to equality there,
- an override that is an unknown word means ignore; an empty one is passed over,
- arguments that cannot be parsed are an error even where arguments are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import eq
from typing import Any, Literal

from crucible.scoring.trajectory.compat.common import CompatibilityError
from crucible.scoring.trajectory.compat.messages import Call, Messages, Parsed, Said, read_messages

Mode = Literal["strict", "unordered", "subset", "superset"]
ArgsMode = Literal["exact", "ignore", "subset", "superset"]
Args = dict[str, Any]
Matcher = Callable[[Args, Args], object]
Overrides = Mapping[str, Any]

_MATCHERS: dict[str, Matcher] = {
    "exact": eq,
    "subset": lambda one, other: all(key in other and other[key] == value for key, value in one.items()),
    "superset": lambda one, other: all(key in one and one[key] == value for key, value in other.items()),
    "ignore": lambda _one, _other: True,
}


def create_trajectory_match_evaluator(
    *,
    trajectory_match_mode: Mode = "strict",
    tool_args_match_mode: ArgsMode = "exact",
    tool_args_match_overrides: Overrides | None = None,
) -> Callable[..., dict[str, Any]]:
    """The library's own entry: a function of `outputs` and `reference_outputs` that returns its result dictionary.

    CompatibilityError where the library raises, with the name of its error.
    """
    compare = _comparison(trajectory_match_mode, tool_args_match_mode, tool_args_match_overrides)

    def evaluator(*, outputs: Messages, reference_outputs: Messages, **_others: object) -> dict[str, Any]:
        parsed: Parsed = {}
        score = compare(read_messages(outputs, parsed), read_messages(reference_outputs, parsed))
        key = f"trajectory_{trajectory_match_mode}_match"
        return {"key": key, "score": score, "comment": None, "metadata": None}

    return evaluator


def trajectory_match(
    actual: Messages,
    expected: Messages,
    mode: Mode = "strict",
    args_mode: ArgsMode = "exact",
    overrides: Overrides | None = None,
) -> bool:
    """The same without ceremony: whether the messages match."""
    evaluate = create_trajectory_match_evaluator(
        trajectory_match_mode=mode, tool_args_match_mode=args_mode, tool_args_match_overrides=overrides
    )
    return bool(evaluate(outputs=actual, reference_outputs=expected)["score"])


def _comparison(mode: str, args_mode: str, overrides: Overrides | None) -> Callable[[list[Said], list[Said]], bool]:
    modes = {"strict": _strict, "superset": _superset, "subset": _subset, "unordered": _unordered}
    if mode not in modes:
        raise CompatibilityError(
            "ValueError", f"Invalid trajectory match type: `{mode}`. Must be one of {', '.join(modes)}."
        )
    if args_mode not in _MATCHERS:
        raise CompatibilityError("ValueError", f"Invalid tool args match mode: `{args_mode}`.")
    matchers: dict[str, Matcher] = {}

    def matcher(tool: str) -> Matcher:
        if tool not in matchers:
            matchers[tool] = _matcher((overrides or {}).get(tool), _MATCHERS[args_mode])
        return matchers[tool]

    return lambda actual, expected: modes[mode](actual, expected, matcher)


def _matcher(override: Any, default: Matcher) -> Matcher:
    if not override:
        return default
    if isinstance(override, str):
        return _MATCHERS.get(override, _MATCHERS["ignore"])
    if callable(override):
        return override  # type: ignore[no-any-return]  # the library takes any callable
    if isinstance(override, list):
        return lambda one, other: all(_at(one, path) == _at(other, path) for path in override)
    raise CompatibilityError("ValueError", f"Invalid tool args match override: {override}")


def _at(args: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for part in path.split("."):
        args = args.get(part) if isinstance(args, dict) else None
    return args


Matchers = Callable[[str], Matcher]


def _strict(actual: list[Said], expected: list[Said], matchers: Matchers) -> bool:
    if len(actual) != len(expected):
        return False
    return all(_same_message(one, other, matchers) for one, other in zip(actual, expected, strict=True))


def _same_message(actual: Said, expected: Said, matchers: Matchers) -> bool:
    if actual.role != expected.role or len(actual.calls) != len(expected.calls):
        return False
    left = _by_tool(expected.calls)
    return all(_take(left.get(call.tool), matchers, call, actual_first=True) for call in actual.calls)


def _superset(actual: list[Said], expected: list[Said], matchers: Matchers) -> bool:
    left = _by_tool(call for said in actual for call in said.calls)
    wanted = (call for said in expected for call in said.calls)
    return all(_take(left.get(want.tool), matchers, want, actual_first=False) for want in wanted)


def _subset(actual: list[Said], expected: list[Said], matchers: Matchers) -> bool:
    return _superset(expected, actual, matchers)


def _unordered(actual: list[Said], expected: list[Said], matchers: Matchers) -> bool:
    return _superset(actual, expected, matchers) and _superset(expected, actual, matchers)


def _by_tool(calls: Iterable[Call]) -> dict[str, list[Args]]:
    found: dict[str, list[Args]] = {}
    for call in calls:
        found.setdefault(call.tool, []).append(call.args)
    return found


def _take(left: list[Args] | None, matchers: Matchers, call: Call, *, actual_first: bool) -> bool:
    """Take the first arguments that match the call's out of `left`; whether there were any."""
    if not left:
        return False
    matches = matchers(call.tool)
    for at, other in enumerate(left):
        if matches(call.args, other) if actual_first else matches(other, call.args):
            del left[at]
            return True
    return False
