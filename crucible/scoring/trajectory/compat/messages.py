"""Chat messages in OpenAI's shape, reduced to what agentevals looks at: the role, and the calls of the assistant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crucible.scoring.trajectory.compat.common import CompatibilityError

Messages = Sequence[Mapping[str, Any]] | Mapping[str, Any] | None

ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "function": "function",
    "tool": "tool",
}


_DECODER = json.JSONDecoder(strict=False)


class Call(NamedTuple):
    """One call of an assistant message."""

    tool: str
    args: dict[str, Any]


class Said(NamedTuple):
    """One message. A message without calls and one with an empty list of them are the same."""

    role: str
    calls: list[Call]


Parsed = dict[str, Any]
"""Texts of arguments that were parsed already: a transcript and its reference mostly hold the same ones."""


def read_messages(messages: Messages, parsed: Parsed) -> list[Said]:
    """A list of messages, one message, a dict with `messages`, or None for no message. The input is left as it is."""
    if messages is None:
        return []
    if isinstance(messages, Mapping):
        if "role" not in messages and "messages" not in messages:
            raise CompatibilityError("ValueError", "if messages is a dict, it must contain a 'messages' key")
        listed = [messages] if "role" in messages else messages["messages"]
        messages = listed if isinstance(listed, list) else [listed]
    return [_message(message, parsed) for message in messages]


def _message(message: Mapping[str, Any], parsed: Parsed) -> Said:
    listed, role = message.get("tool_calls"), message.get("role") or message.get("type")
    calls = _calls(listed, parsed) if listed else []
    known = ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise CompatibilityError("ValueError", f"Unexpected message type: {role!r}. Use one of {', '.join(ROLES)}.")
    return Said(known, calls if known == "assistant" else [])


def _calls(listed: Sequence[Mapping[str, Any]], parsed: Parsed) -> list[Call]:
    calls = [_call(call, parsed) for call in listed]
    for call in calls:  # only when all are parsed: the library's order
        if not isinstance(call.args, dict):
            raise CompatibilityError("ValidationError", f"args: Input should be a valid dictionary, got {call.args!r}")
    return calls


def _call(call: Mapping[str, Any], parsed: Parsed) -> Call:
    function = call.get("function", call)
    try:
        args, tool = function["args" if function is call else "arguments"], function["name"]
    except KeyError as error:
        raise CompatibilityError("KeyError", str(error)) from None
    if not isinstance(args, str):
        return Call(tool, args)
    if args not in parsed:
        try:
            parsed[args] = _DECODER.decode(args)
        except json.JSONDecodeError as error:
            raise CompatibilityError("JSONDecodeError", str(error)) from None
    return Call(tool, parsed[args])
