"""Codex: `codex exec --json`, one event a line.

A run ends with `turn.completed` or `turn.failed`. An `error` event may be a connection that is tried again, and the exit
code may be 0 for a turn that failed. Input tokens include what was read from a cache, and the counts are of the whole
thread, so the last ones hold. There is no cost.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import Arguments, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import arguments, content, mapping, text, tokens

_STARTS: Final = ("thread.", "turn.", "item.")
_ARGUMENTS: Final = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "web_search": ("query",),
    "collab_tool_call": ("receiver_thread_ids", "prompt"),
}


def claims(value: Any) -> bool:
    """An event of `codex exec --json`."""
    event = mapping(value)
    kind = text(event.get("type")) or ""
    return kind.startswith(_STARTS) or (kind == "error" and "message" in event and "severity" not in event)


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its events."""
    draft = Draft(scan, exit_code)
    items: dict[str, int] = {}
    turns = 0
    for event in scan.events():
        kind = event.get("type")
        if kind == "turn.started":
            turns += 1
            draft.reopen()
        elif kind in ("item.started", "item.updated", "item.completed"):
            _item(draft, mapping(event.get("item")), items, done=kind == "item.completed")
        elif kind == "turn.completed":
            draft.tokens = _usage(event)
            draft.end("turn.completed")
        elif kind == "turn.failed":
            draft.end_failed("turn.failed", f"turn.failed: {_message(event.get('error'))}")
        elif kind == "error":
            draft.errors.append(_message(event))
        elif kind == "thread.started":
            draft.session(event.get("thread_id"))
    draft.turns = turns or None
    if not draft.ended and draft.errors:
        draft.invalid(f"cut off: no turn.completed; the last error was: {draft.errors[-1]}")
    return draft.close("turn.completed")


def _usage(event: dict[str, Any]) -> Any:
    names = {"input": "input_tokens", "output": "output_tokens", "cache_read": "cached_input_tokens"}
    return tokens(event.get("usage"), **names)


def _message(source: Any) -> str:
    return text(mapping(source).get("message")) or "no message"


def _item(draft: Draft, item: dict[str, Any], items: dict[str, int], *, done: bool) -> None:
    kind = text(item.get("type"))
    if kind == "agent_message" and done:
        draft.reopen()
        draft.final_text = text(item.get("text"))
    elif kind == "error" and done:
        draft.errors.append(_message(item))
    elif kind in _ARGUMENTS or kind == "mcp_tool_call":
        name = str(item.get("id"))
        if name not in items:
            items[name] = draft.ask(_tool(item), _arguments(item))
        if done:
            draft.settle(items.pop(name), *_outcome(item))
    if kind == "collab_tool_call":
        draft.unseen = "a sub-agent was started, and this format does not print the calls of sub-agents"


def _tool(item: dict[str, Any]) -> Any:
    if item["type"] == "mcp_tool_call":
        return f"{item.get('server')}.{item['tool']}" if text(item.get("tool")) else None
    return item.get("tool") if item["type"] == "collab_tool_call" else item["type"]


def _arguments(item: dict[str, Any]) -> tuple[Arguments, str | None]:
    if item["type"] == "mcp_tool_call":
        given = item.get("arguments")
        return arguments({} if given is None else given)
    return {name: item[name] for name in _ARGUMENTS[item["type"]] if name in item}, None


def _outcome(item: dict[str, Any]) -> tuple[bool | None, Any, bool | None]:
    """Whether it went well, what it answered, whether it ran."""
    status, code = item.get("status"), item.get("exit_code")
    if status == "declined":
        return False, None, False
    if status == "in_progress":
        return None, None, None
    error = mapping(item.get("error")).get("message")
    failed = status == "failed" or error is not None or (code is not None and code != 0)
    return not failed, _answered(item) if error is None else error, True


def _answered(item: dict[str, Any]) -> Any:
    if item["type"] == "command_execution":
        return item.get("aggregated_output")
    result = mapping(item.get("result"))
    said, structured = content(result.get("content")), result.get("structured_content")
    return structured if said in (None, "", []) and structured is not None else said
