"""Tools for models without native tool calls: one JSON action per turn, asked for in the prompt and by schema.

The loop sees calls and results as with any other model; the model sees none of that wire format. It reads of its tools in
the system prompt, replies `{"tool": ..., "arguments": {...}}` or `{"done": ...}`, and gets results as user messages, so
that roles alternate, as many chat templates of local models demand. The `response_schema` of a request holds the reply to
that form where the server takes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crucible.agents.action_schema import action_schema
from crucible.llm.types import Model, Reply, Request
from crucible.transcript.messages import Message, ToolCall, ToolSpec

NO_ACTION = "(not one JSON action)"
"""Name of the call that stands for a reply which is none. No tool has it, so the loop answers that there is no such tool."""
_FORM = """\
Reply with exactly one JSON object and nothing else, in one of these two forms:
{"tool": "NAME", "arguments": {...}}  calls a tool; its result is the next message
{"done": "..."}                       ends your work and says what you did; this is the reply without a tool call"""
_MOST_STARTS = 200
"""Places in a reply where an object is looked for: a bound on the time that a wild reply can take."""
_THINKING_ENDS = "</think>"
_DECODER = json.JSONDecoder(strict=False)


class JsonActions:
    """A Model around another, for tools where the other has no tool calls. Usage, price and errors are the other's own."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = f"{model.name} in JSON actions"

    async def complete(self, request: Request) -> Reply:
        """Answer a request. Raises ProviderError as the model does; a reply that is no action is a call of NO_ACTION."""
        reply = await self.model.complete(as_text_only(request))
        if not request.tools or reply.tool_calls:
            return reply
        call_id = f"action{1 + sum(len(message.tool_calls) for message in request.messages)}"
        return _as_action(reply, call_id)

    def price_known(self) -> bool:
        """Whether a call's cost can be told."""
        return self.model.price_known()

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call of that size costs at most, in US dollars; None when the price is unknown."""
        return self.model.cost_of(input_tokens, output_tokens)

    def estimate_tokens(self, request: Request) -> int:
        """A cheap upper guess of the input tokens of a request, as it is really sent."""
        return self.model.estimate_tokens(as_text_only(request))


def as_text_only(request: Request) -> Request:
    """The request without tools: told in the system prompt, past calls and their results as plain text."""
    if not request.tools:
        return request
    system = [message.content for message in request.messages if message.role == "system"]
    told = Message("system", "\n\n".join([*system, _instructions(request.tools)]))
    # Calls are named by their ids; in text the order says which result is whose.
    bad = {call.id for message in request.messages for call in message.tool_calls if call.name == NO_ACTION}
    said = [_as_text(message, bad) for message in request.messages if message.role != "system"]
    return replace(request, messages=(told, *said), tools=(), response_schema=action_schema(request.tools))


def _instructions(tools: Sequence[ToolSpec]) -> str:
    listed = (
        f"- {tool.name}: {tool.description}\n  arguments: {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    )
    return "\n".join([_FORM, "", "The tools, with the JSON Schema of their arguments:", *listed])


def _as_text(message: Message, bad: set[str]) -> Message:
    if message.role == "tool":
        return Message("user", f"{message.content}\n\n{_FORM}" if message.tool_call_id in bad else message.content)
    said = [message.content, *map(_call_text, message.tool_calls)]
    return Message(message.role, "\n".join(part for part in said if part))


def _call_text(call: ToolCall) -> str:
    """What the model wrote, or would have written."""
    if call.name == NO_ACTION:
        return call.raw_arguments
    try:
        arguments = json.loads(call.raw_arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.raw_arguments
    return json.dumps({"tool": call.name, "arguments": arguments}, ensure_ascii=False)


# Reading a reply


@dataclass(frozen=True, slots=True)
class _Found:
    action: dict[str, Any]
    start: int
    end: int


def _as_action(reply: Reply, call_id: str) -> Reply:
    found = _actions(reply.text)
    if len(found) != 1:
        return replace(reply, text="", tool_calls=(ToolCall(call_id, NO_ACTION, reply.text),))
    (one,) = found
    around = _around(reply.text, one)
    if isinstance(done := one.action.get("done"), str):
        return replace(reply, text="\n\n".join(part for part in (around, done) if part))
    arguments = one.action.get("arguments")
    raw = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return replace(reply, text=around, tool_calls=(ToolCall(call_id, one.action["tool"], raw),))


def _actions(text: str) -> list[_Found]:
    """Every action in a text, in order; what a model thought aloud before is no part of its reply."""
    found: list[_Found] = []
    at = max(0, text.rfind(_THINKING_ENDS))
    for _ in range(_MOST_STARTS):
        if (at := text.find("{", at)) < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
            # A number that is none, such as NaN, is no JSON.
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            at += 1
            continue
        if _is_action(value):
            found.append(_Found(value, at, end))
        at = end
    return found


def _is_action(value: dict[str, Any]) -> bool:
    return isinstance(value.get("tool"), str) != isinstance(value.get("done"), str)


def _around(text: str, found: _Found) -> str:
    """What was said beside the action, without the fences it stood in."""
    before = re.sub(r"```\w*\s*$", "", text[: found.start])
    after = re.sub(r"^\s*```", "", text[found.end :])
    return "\n".join(part for part in (before.strip(), after.strip()) if part)
