"""The opening of an agent's attempt, from its first model request in any dialect, with what changes by itself masked.

Masked, because it differs between two attempts of one arm and says nothing about the arm:

    dates, times of day, weekday dates      <date>
    UUIDs; hexadecimal ids of 16 and more   <id>
    ids with a digit behind a word, as session_  <id>
    paths below /tmp, /var/tmp, /var/folders  <temporary>
    ports of 127.0.0.1 and localhost        <port>
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from crucible.llm.proxy import Asked
from crucible.transcript.readers.values import mapping, objects, text

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_OWNERS = "session|user|account|thread|conversation|msg|req|toolu"
_MASKS: Final = (
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"), "<date>"),
    (re.compile(rf"\b(?:{_DAY},? )?{_MONTH}\.? \d{{1,2}},? \d{{4}}\b"), "<date>"),
    (re.compile(rf"\b(?:{_DAY},? )?\d{{1,2}} {_MONTH}\.? \d{{4}}\b"), "<date>"),
    (re.compile(rf"\b{_DAY} {_MONTH} +\d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}}(?: [A-Z]{{3,4}})? \d{{4}}\b"), "<date>"),
    (re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b"), "<date>"),
    (re.compile(r"\b\d{1,2}:\d{2}:\d{2}(?: ?[AP]M)?\b"), "<date>"),
    (re.compile(rf"\b((?:{_OWNERS})[_-])(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{{8,}}\b"), r"\1<id>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"), "<id>"),
    (re.compile(r"(?<![\w.])(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s\"'`<>)\]},:;]+"), "<temporary>"),
    (re.compile(r"\b(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
    # Claude Code's own mark of its build and of this request, in the first line of its system prompt.
    (re.compile(r"\b(cc_version|cch)=[^;\s]+"), r"\1=<id>"),
)
_NOT_PARAMETERS: Final = frozenset(
    (
        *("messages", "system", "tools", "model", "input", "instructions", "contents", "systemInstruction"),
        *("metadata", "stream", "stream_options", "user", "prompt_cache_key", "client_metadata", "store"),
        *("system_instruction", "safety_identifier", "session_id", "previous_response_id"),
    )
)


def mask(value: Any) -> Any:
    """The value with all that changes by itself masked, in every text of it (see the module)."""
    if isinstance(value, str):
        for pattern, word in _MASKS:
            value = pattern.sub(word, value)
        return value
    if isinstance(value, dict):
        return {key: mask(item) for key, item in value.items()}
    return [mask(item) for item in value] if isinstance(value, list | tuple) else value


def opening_of(asked: Asked, environment: dict[str, Any]) -> dict[str, Any]:
    """The opening that a request is, in the parts that crucible.transcript.opening names."""
    body = asked.body
    return {
        "messages": mask(messages_of(asked)),
        "tools": mask(tools_of(asked)),
        "model": asked.model,
        "parameters": mask({key: value for key, value in body.items() if key not in _NOT_PARAMETERS}),
        "environment": environment,
    }


def system_prompt_of(asked: Asked) -> str:
    """What a request says as its system prompt; empty when it says nothing."""
    return "\n\n".join(m["content"] for m in messages_of(asked) if m["role"] in ("system", "developer"))


def messages_of(asked: Asked) -> list[dict[str, str]]:
    """Role and text of every message of a request, the system prompt first."""
    body = asked.body
    match asked.dialect:
        case "anthropic":
            said = [{"role": "system", "content": body["system"]}] if body.get("system") else []
            raw = [*said, *objects(body.get("messages"))]
        case "chat":
            raw = list(objects(body.get("messages")))
        case "responses":
            said = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
            given = body.get("input")
            raw = [*said, *([{"role": "user", "content": given}] if isinstance(given, str) else objects(given))]
        case "gemini":
            own = mapping(body.get("systemInstruction") or body.get("system_instruction"))
            said = [{"role": "system", "content": own.get("parts")}] if own else []
            raw = [*said, *({**one, "content": one.get("parts")} for one in objects(body.get("contents")))]
    return [{"role": str(one.get("role") or one.get("type") or ""), "content": _content(one)} for one in raw]


def _content(message: dict[str, Any]) -> str:
    """The text of a message; what is no text in it as JSON."""
    content = message.get("content", {key: value for key, value in message.items() if key not in ("role", "id")})
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(_part(part) for part in parts)


def _part(part: Any) -> str:
    said = text(part) or text(mapping(part).get("text"))
    if said is not None:
        return said
    kept = {key: value for key, value in part.items() if key != "cache_control"} if isinstance(part, dict) else part
    return json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str)


def tools_of(asked: Asked) -> list[dict[str, Any]]:
    """Name, description and parameters of every tool that a request offers, in order."""
    found: list[dict[str, Any]] = []
    for entry in objects(asked.body.get("tools")):
        declared = list(objects(entry.get("functionDeclarations") or entry.get("function_declarations")))
        if entry.get("type") == "namespace":
            declared = [_of_namespace(entry, one) for one in objects(entry.get("tools"))]
        found += [_tool(one) for one in declared or [mapping(entry.get("function")) or entry]]
    return found


def _of_namespace(entry: dict[str, Any], tool: dict[str, Any]) -> dict[str, Any]:
    """A tool by its full name: those of tool servers are grouped by server."""
    space = text(entry.get("name")) or ""
    return {**tool, "name": f"{space}__{tool.get('name')}"} if space.startswith("mcp__") else tool


def _tool(said: dict[str, Any]) -> dict[str, Any]:
    schemas = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema", "format")
    schema = next((said[key] for key in schemas if key in said), None)
    name = text(said.get("name")) or text(said.get("type")) or next(iter(said), "")
    return {"name": name, "description": text(said.get("description")) or "", "parameters": schema}
