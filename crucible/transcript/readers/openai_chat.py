"""OpenAI chat: a list of messages, or an object with `messages`.

Results are paired with calls by `tool_call_id`, never by position; arguments are a JSON text. Nothing marks the end but
the document's own: the run is finished when the last message is the model's and asks for nothing.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import Arguments, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import content, given, mapping, objects, said, text, tokens

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")


def claims(value: Any) -> bool:
    """A list of messages, an empty one too, or an object that holds one."""
    if isinstance(value, dict):
        return "info" not in value and "trajectory_format" not in value and claims(value.get("messages"))
    return isinstance(value, list) and all(_is_message(message) for message in value)


def _is_message(value: Any) -> bool:
    message = mapping(value)
    return message.get("role") in _ROLES and "type" not in message


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its messages."""
    draft = Draft(scan, exit_code, heed_damage=False)
    runs = [value for value in scan if claims(value)]
    if len(runs) > 1:
        draft.invalid(f"{len(runs)} lists of messages in one output: that is more than one run")
    for run in runs[-1:]:
        messages = list(objects(run if isinstance(run, list) else run.get("messages")))
        for message in messages:
            _message(draft, message)
        draft.tokens = tokens(mapping(run).get("usage"), input="prompt_tokens", output="completion_tokens")
        if messages and messages[-1].get("role") == "assistant" and not _requests(messages[-1]):
            draft.end(None)
    if not runs:
        draft.calls = None
    return draft.close(None)


def _message(draft: Draft, message: dict[str, Any]) -> None:
    if _foreign_calls(message.get("content")):
        draft.invalid("tool calls inside the content of a message, which is not how OpenAI writes them")
    if message.get("role") == "assistant":
        for tool, args, name in _requests(message):
            draft.ask(tool, args, call_id=name)
        words = said(message.get("content"))
        draft.final_text = text(message.get("refusal")) if words is None else words
    elif message.get("role") in ("tool", "function"):
        name = message.get("tool_call_id", message.get("name"))
        draft.answer(name, True, content(message.get("content")))


def _requests(message: dict[str, Any]) -> list[tuple[Any, tuple[Arguments, str | None], Any]]:
    """Tool, arguments and id of every call of a message; the id of the old single call is its name."""
    found: list[tuple[Any, tuple[Arguments, str | None], Any]] = []
    for call in objects(message.get("tool_calls")):
        if isinstance(call.get("custom"), dict):
            custom = call["custom"]
            found.append((custom.get("name"), (None, text(custom.get("input"))), call.get("id")))
        else:
            function = mapping(call.get("function"))
            found.append((function.get("name"), given(function, "arguments"), call.get("id")))
    old = message.get("function_call")
    if isinstance(old, dict):
        found.append((old.get("name"), given(old, "arguments"), old.get("name")))
    return found


def _foreign_calls(parts: Any) -> bool:
    return any("tool" in str(part.get("type")) or "function" in str(part.get("type")) for part in objects(parts))
