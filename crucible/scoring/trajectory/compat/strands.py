"""strands-agents-evals 1.7.0: its three scorers of step lists, and `ToolCalled`.

Steps are names, or any values; Python's equality. `exact` leaves extra steps at the end unpunished, `in_order` stops at
the first step it misses, `any_order` counts sets, so a step that is expected twice is never found twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored, counted

Steps = Sequence[Any]


def exact_match(actual: Steps, expected: Steps) -> float:
    """The share of the expected steps that are at their own place. An error when none is expected."""
    if not expected:
        raise CompatibilityError("ZeroDivisionError", "division by zero")
    pairs = zip(actual, expected, strict=False)
    return counted(pairs, lambda pair: pair[0] == pair[1]) / len(expected)


def in_order_match(actual: Steps, expected: Steps) -> float:
    """The share of the expected steps found one after the other, up to the first that is not."""
    if not expected:
        return 1.0
    found = 0
    for step in actual:
        found += found < len(expected) and step == expected[found]
    return found / len(expected)


def any_order_match(actual: Steps, expected: Steps) -> float:
    """How many different expected steps were made, over the length of the expected list."""
    if not expected:
        return 1.0
    try:
        return len(set(expected) & set(actual)) / len(expected)
    except TypeError as error:
        raise CompatibilityError("TypeError", str(error)) from None


def tool_called(actual: Steps | None, tool: str) -> Scored:
    """Whether a step of exactly this name is among those made; None is a trajectory that was not recorded."""
    if isinstance(actual, str):
        raise CompatibilityError("ValidationError", f"actual_trajectory: Input should be a valid list, got {actual!r}")
    if actual is None:
        return Scored(0.0, passed=False, reason="no trajectory provided")
    found = tool in actual
    return Scored(float(found), passed=found, reason=f"tool '{tool}' was {'' if found else 'not '}called")
