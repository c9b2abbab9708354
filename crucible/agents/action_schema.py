"""The JSON Schema of one action: a call of one of the tools, or being done.

Servers turn it into a grammar (llama.cpp, Ollama, vLLM), and each knows another part of JSON Schema: some refuse a
request for one keyword they do not know. So it is made of `type`, `enum`, `properties`, `required`, `items` and `anyOf`
alone; what a tool's own schema says beyond that is checked when the call is made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from crucible.transcript.messages import ToolSpec

LONGEST = 8_000
"""Characters of a schema that spells out each tool's arguments; a longer one names the tools and says "an object"."""
# fmt: off
_IGNORED = frozenset((
    "title", "description", "default", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "$schema",
))
# fmt: on
"""What narrows or describes a value without changing its shape."""
_DONE: dict[str, Any] = {
    "type": "object",
    "properties": {"done": {"type": "string"}},
    "required": ["done"],
    "additionalProperties": False,
}


def action_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """The schema of one action: each tool with its own arguments where that stays small, else any tool with an object."""
    spelled_out = _any_of([_call([tool.name], _arguments(tool)) for tool in tools])
    if len(json.dumps(spelled_out)) <= LONGEST:
        return spelled_out
    return _any_of([_call([tool.name for tool in tools], {"type": "object"})])


def _any_of(calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"anyOf": [*calls, _DONE]}


def _call(names: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": names}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _arguments(tool: ToolSpec) -> dict[str, Any]:
    simple = _simple(tool.parameters)
    return simple if simple is not None and "properties" in simple else {"type": "object"}


def _simple(schema: Any) -> dict[str, Any] | None:
    """The schema in those few words, or None where they cannot say it."""
    if not isinstance(schema, dict):
        return None
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _IGNORED or key == "additionalProperties":
            continue
        part = _part(key, value)
        if part is None:
            return None
        kept[key] = part
    if "properties" in kept:
        kept["additionalProperties"] = False
    # Without any of these a converter takes what it likes: some an object, some anything.
    return kept if kept.keys() & {"type", "enum", "anyOf"} else None


def _part(key: str, value: Any) -> Any:
    match key, value:
        case ("type", str() | list()) | ("enum" | "required", list()):
            return value
        case "items", _:
            return _simple(value)
        case "anyOf", list():
            parts = [_simple(one) for one in value]
            return None if None in parts else parts
        case "properties", dict():
            named = {name: _simple(one) for name, one in value.items()}
            return None if None in named.values() else named
        case _:
            return None
