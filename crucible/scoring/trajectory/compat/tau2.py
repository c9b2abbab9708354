"""tau2-bench (git a2c0247): action checks, `communicate_info`, and pass^k.

An expected action is found when some call of its tool agrees on the arguments that are compared. Where none are named,
the ones *of the call* are compared, so that a call without arguments matches any action of its tool. One call may serve
several actions; order and other calls do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored, arguments
from crucible.stats.passk import pass_hat_k as exact_pass_hat_k
from crucible.transcript.neutral import NeutralCall


@dataclass(frozen=True, slots=True)
class Action:
    """An action that should be taken. `compare` names the arguments that count; None leaves it to the call."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    compare: Sequence[str] | None = None


def action_checks(actual: Sequence[NeutralCall], expected: Sequence[Action]) -> Scored:
    """1 when every expected action is found, else 0; `parts` says it for each. Without an action, 1."""
    parts = tuple(float(any(_agrees(call, action) for call in actual)) for action in expected)
    return Scored(float(all(parts)), passed=all(parts), parts=parts)


def communicated(assistant_messages: Sequence[str], facts: Sequence[str]) -> Scored:
    """1 when every fact is in some message, upper and lower case and the messages' commas aside; `parts` for each."""
    spoken = [message.lower().replace(",", "") for message in assistant_messages]
    parts = tuple(float(any(fact.lower() in message for message in spoken)) for fact in facts)
    return Scored(float(all(parts)), passed=all(parts), parts=parts)


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """The unbiased estimate that k new trials would all succeed. An error when there are fewer trials than k."""
    if trials < k:
        raise CompatibilityError("ValueError", f"Number of trials {trials} is less than k {k}.")
    return float(exact_pass_hat_k(successes, trials, k))


def _agrees(call: NeutralCall, action: Action) -> bool:
    if call.tool != action.tool:
        return False
    args = arguments(call) or {}
    names = args.keys() if action.compare is None else action.compare
    given = {name: value for name, value in args.items() if name in names}
    return given == {name: value for name, value in action.args.items() if name in names}
