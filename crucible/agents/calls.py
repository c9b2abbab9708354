"""One tool call, from what the model wrote to the one result it gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crucible.agents.types import Ending
from crucible.errors import Cause, nearest
from crucible.policy.rules import Decision, decide
from crucible.redaction import redact
from crucible.scenario.schema import PATH_ARGUMENT, Policy
from crucible.transcript.events import NO_TOOL
from crucible.transcript.messages import ToolCall, ToolSpec
from crucible.world.types import ToolOutcome, World

DEEPEST = 100
"""Levels of objects and lists in the arguments of a call. Nobody wants more, and what nests by 200 cannot be read again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one call, what the policies said, and an ending if one of them ends the attempt.

    `malformed` marks a call that could not be understood at all.
    """

    arguments: dict[str, Any] | None
    outcome: ToolOutcome
    decisions: tuple[Decision, ...] = ()
    malformed: bool = False
    ending: Ending | None = None


def refusal(text: str) -> ToolOutcome:
    """A result that says why nothing was done."""
    return ToolOutcome(ok=False, text=text, size=len(text.encode("utf-8", "replace")), seconds=0.0)


def read_arguments(call: ToolCall, tools: Mapping[str, ToolSpec]) -> dict[str, Any] | str:
    """The arguments as the tool takes them, or what is wrong with the call, in words the model can act on."""
    if call.name not in tools:
        return f"{NO_TOOL}{call.name!r}{nearest(call.name, tools) or '.'} The tools are: {', '.join(tools)}."
    try:
        arguments = json.loads(call.raw_arguments or "{}")
    except ValueError as error:
        return f"The arguments of {call.name} are not JSON: {error}. Nothing was done; send the call again."
    except RecursionError:
        return _too_deep(call.name)
    if not isinstance(arguments, dict):
        return f"The arguments of {call.name} must be a JSON object, not {type(arguments).__name__}. Nothing was done."
    if is_deeper(arguments, DEEPEST):
        return _too_deep(call.name)
    return _against_schema(call.name, arguments, tools[call.name].parameters)


def _too_deep(name: str) -> str:
    return f"The arguments of {name} are nested too deeply. Nothing was done."


def is_deeper(value: object, levels: int) -> bool:
    """Whether objects and lists nest by more than so many levels."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels <= 0 or any(is_deeper(each, levels - 1) for each in inner)


def _against_schema(name: str, arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | str:
    from jsonschema import Draft202012Validator

    try:
        errors = sorted(Draft202012Validator(schema).iter_errors(arguments), key=lambda e: e.json_path)
    except RecursionError:  # a schema that refers to itself takes many steps for each level
        return _too_deep(name)
    except OverflowError:
        return f"The arguments of {name} hold a number that is too large. Nothing was done."
    if not errors:
        return arguments
    said = "; ".join(
        f"{e.json_path.removeprefix('$').lstrip('.') or 'arguments'}: {e.message[:200]}" for e in errors[:3]
    )
    return f"The arguments of {name} do not fit it: {said}. Nothing was done."


async def answer(
    call: ToolCall,
    tools: Mapping[str, ToolSpec],
    policies: tuple[Policy, ...],
    world: World,
    seconds_left: float,
) -> Answer:
    """Read, check against the policies, and run one call. A tool's own failure is an outcome, never an exception."""
    arguments = read_arguments(call, tools)
    if isinstance(arguments, str):
        return Answer(None, refusal(arguments), malformed=True)
    seen = await _resolved(arguments, world)
    decisions = tuple(decide(policies, call.name, seen))
    strongest = decisions[0] if decisions else None
    if strongest is not None and strongest.action != "warn":
        ending = None
        if strongest.action == "fail":
            ending = Ending("policy_fail", Cause.AGENT, f"{strongest.policy_id}: {strongest.rule} ({strongest.detail})")
        return Answer(arguments, refusal(strongest.told()), decisions, ending=ending)
    outcome = await world.call(call.name, _timed(call.name, arguments, seconds_left))
    return Answer(arguments, replace(outcome, text=redact(outcome.text)), decisions)


async def _resolved(arguments: dict[str, Any], world: World) -> dict[str, Any]:
    """Arguments as the policies see them: the path with links followed, as the kernel would."""
    path = arguments.get(PATH_ARGUMENT)
    return {**arguments, PATH_ARGUMENT: await world.resolve(path)} if isinstance(path, str) else arguments


def _timed(tool: str, arguments: dict[str, Any], seconds_left: float) -> dict[str, Any]:
    if tool != "bash":
        return arguments
    asked = arguments.get("timeout", seconds_left)  # not made a float: a whole number may be too large for one
    return {**arguments, "timeout": max(0.1, min(asked, seconds_left))}
