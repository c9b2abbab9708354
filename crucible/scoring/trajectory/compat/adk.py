"""google-adk 2.13.0: `TrajectoryEvaluator` with match types EXACT, IN_ORDER and ANY_ORDER.

Each turn is right or wrong, the score is the mean over turns, and it passes from a threshold on: half the turns may be
wrong. Arguments are equal as Python has it; none given is not the same as an empty object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored, arguments
from crucible.transcript.neutral import NeutralCall

Turn = Sequence[NeutralCall]
Steps = list[tuple[str, Any]]


def tool_trajectory(
    actual: Sequence[Turn],
    expected: Sequence[Turn],
    match_type: str = "EXACT",
    *,
    ignore_args: bool = False,
    threshold: float = 0.5,
) -> Scored:
    """Compare two conversations turn by turn; without a turn there is no score and the status is NOT_EVALUATED."""
    if len(actual) != len(expected):
        lengths = f"got {len(actual)} and {len(expected)}."
        raise CompatibilityError(
            "ValueError", f"actual_invocations and expected_invocations must have the same length; {lengths}"
        )
    compare = _comparison(match_type)
    turns = zip(actual, expected, strict=True)
    parts = tuple(float(compare(_steps(made, ignore_args), _steps(want, ignore_args))) for made, want in turns)
    if not parts:
        return Scored(None, status="NOT_EVALUATED")
    score = sum(parts) / len(parts)
    return Scored(score, passed=score >= threshold, status="PASSED" if score >= threshold else "FAILED", parts=parts)


def _comparison(match_type: str) -> Callable[[Steps, Steps], bool]:
    known = {"EXACT": _exact, "IN_ORDER": _in_order, "ANY_ORDER": _any_order}
    name = match_type.strip().upper().replace("-", "_").replace(" ", "_")
    if name not in known:
        raise CompatibilityError("ValueError", f"Invalid match type {match_type!r}; one of {', '.join(known)}")
    return known[name]


def _steps(turn: Turn, ignore_args: bool) -> Steps:
    return [(call.tool, None if ignore_args else arguments(call)) for call in turn]


def _exact(actual: Steps, expected: Steps) -> bool:
    return actual == expected


def _in_order(actual: Steps, expected: Steps) -> bool:
    found = 0
    for step in actual:
        found += found < len(expected) and step == expected[found]
    return found == len(expected)


def _any_order(actual: Steps, expected: Steps) -> bool:
    left = list(actual)
    for step in expected:
        if step not in left:
            return False
        left.remove(step)
    return True
