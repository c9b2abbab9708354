"""Our words as the OpenAI-style dicts litellm takes, and a reply's message back. Pure: litellm is not needed.

What is given out is never shared with what came in: litellm rewrites schemas in place for some providers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from crucible.llm.keys import family, provider
from crucible.llm.types import Request
from crucible.transcript.messages import Message, ToolCall, ToolSpec

_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKED_PROVIDERS = ("anthropic", "bedrock", "vertex_ai", "openrouter")


def takes_cache_marks(model: str) -> bool:
    """Whether the model caches a prompt only up to marks in the request: Claude, at hosts that pass marks on.

    Others cache by themselves, refuse the marks, or (Gemini) would be made to store a cache that costs money.
    """
    return family(model) == "claude" and provider(model) in _MARKED_PROVIDERS


def wire_messages(messages: Sequence[Message], *, cache: bool = False) -> list[dict[str, Any]]:
    """Messages as dicts. With `cache`, the system message and the last user or tool message carry a cache mark.

    A mark on an empty text is refused by the provider, so empty messages are passed over.
    """
    wired = [_wire_message(message) for message in messages]
    if cache:
        said = [one for one in wired if one["content"]]
        system = [one for one in said if one["role"] == "system"][:1]
        last = [one for one in said if one["role"] in ("user", "tool")][-1:]
        for one in (*system, *last):
            one.update(deepcopy(_MARK))
    return wired


def wire_tools(tools: Sequence[ToolSpec], *, cache: bool = False) -> list[dict[str, Any]]:
    """Tools as dicts. With `cache`, the last one carries a cache mark."""
    wired: list[dict[str, Any]] = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": deepcopy(tool.parameters),
            },
        }
        for tool in tools
    ]
    if cache and wired:
        wired[-1].update(deepcopy(_MARK))
    return wired


def wire_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A `response_format` that asks for a JSON object of that schema; strictly where providers take it strictly."""
    asked = {"name": "reply", "schema": deepcopy(schema), "strict": _is_closed(schema)}
    return {"type": "json_schema", "json_schema": asked}


def _is_closed(schema: Any) -> bool:
    """Whether every object in it lists all it may have and requires all of it, without which `strict` is refused."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties", {})
    is_object = schema.get("type") == "object" or bool(properties)
    is_open = schema.get("additionalProperties") is not False or set(properties) != set(schema.get("required", ()))
    return not (is_object and is_open) and all(map(_is_closed, schema.values()))


def read_tool_calls(raw: Iterable[Any], request: Request) -> tuple[ToolCall, ...]:
    """The calls of a reply, arguments as they came. An id that is missing or taken is replaced by a new one.

    Taken means by another call of the reply or of the conversation so far: some servers count from 0 each turn.
    """
    taken = {call.id for message in request.messages for call in message.tool_calls}
    calls = []
    for one in raw:
        call_id = one.id if isinstance(one.id, str) and one.id and one.id not in taken else _new_id(taken)
        taken.add(call_id)
        calls.append(ToolCall(call_id, *_asked(one)))
    return tuple(calls)


def _asked(call: Any) -> tuple[str, str]:
    """Its name and arguments. A call of a kind that was not offered (`custom`: plain text) is one nobody can answer."""
    function, custom = getattr(call, "function", None), getattr(call, "custom", None)
    if function is None:
        return str(getattr(custom, "name", None) or ""), str(getattr(custom, "input", None) or "")
    return function.name or "", function.arguments or ""


def read_text(content: Any) -> str:
    """The text of a reply's content: a string, a list of parts (their texts), or nothing."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content or ""


def _wire_message(message: Message) -> dict[str, Any]:
    wired: dict[str, Any] = {"role": message.role, "content": _encodable(message.content)}
    if message.tool_calls:
        wired["tool_calls"] = [_wire_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        wired["tool_call_id"] = message.tool_call_id
    return wired


def _wire_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _object_text(call.raw_arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _object_text(raw: str) -> str:
    """Arguments as text that is a JSON object for sure.

    litellm and several servers parse the arguments of past calls, and refuse the request, or quietly repair
    them, when a model once wrote something malformed.
    """
    try:
        parsed = json.loads(raw or "{}")
    except ValueError:
        parsed = None
    return _encodable(raw or "{}") if isinstance(parsed, dict) else json.dumps({"malformed_arguments": raw})


def _encodable(text: str) -> str:
    # A lone surrogate (from a model's own \ud800 escape) cannot be sent as UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


def _new_id(taken: set[str]) -> str:
    # Nine letters and digits: the strictest provider (Mistral) takes exactly that.
    return next(new for number in range(1, 100_000) if (new := f"call{number:05d}") not in taken)
