"""Claude Code: `--output-format stream-json --verbose`, one event a line, and `json`, its last event alone.

A run ends with the event of type `result`. It is finished only when that says success, no error and no other terminal
reason: an API error is reported as a success with `is_error`, and exit code 0.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import (
    amount,
    content,
    count,
    given,
    mapping,
    objects,
    seconds,
    strings,
    text,
    tokens,
)

_CAPS: Final = {"error_max_turns": "turns", "max_turns": "turns", "error_max_budget_usd": "spend"}


def claims_stream(value: Any) -> bool:
    """An event of the stream, or an array of them as `json --verbose` prints."""
    if isinstance(value, list):
        return any(claims_stream(event) for event in value)
    kind = mapping(value).get("type")
    return (kind in ("assistant", "user") and "message" in value) or (kind == "system" and "subtype" in value)


def claims_result(value: Any) -> bool:
    """The event that ends a run."""
    return mapping(value).get("type") == "result" and "subtype" in value


def read_result(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its `result` alone. Which tools it called is not in there; what it was refused is."""
    draft = Draft(scan, exit_code, calls=None, heed_damage=False)
    results = [event for event in scan.events() if claims_result(event)]
    if len(results) > 1:
        draft.invalid(f"{len(results)} results in one output: that is more than one run")
    for result in results[-1:]:
        _result(draft, result)
        if draft.complete and not (text(draft.final_text) or "").strip():
            draft.invalid("an empty result; with --output-format stream-json the answer may be in the stream")
    return draft.close("result")


def read_stream(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its events, sub-agents' calls included."""
    draft = Draft(scan, exit_code)
    answer = _Answer()
    spoke = False
    for event in scan.events():
        if event.get("type") == "assistant":
            spoke = True
            _assistant(draft, event, answer)
        elif event.get("type") == "user":
            _results(draft, mapping(event.get("message")))
        elif claims_result(event):
            _result(draft, event, answer.text)
        elif event.get("subtype") == "init":
            draft.session(event.get("session_id"))
    if not spoke:
        draft.calls = None
        draft.invalid("no event of the model: nothing was started, or --output-format is not stream-json")
    return draft.close("result event")


class _Answer:
    """The text of the agent's last message, which the `result` sometimes leaves out."""

    def __init__(self) -> None:
        self.text = ""
        self._message: Any = None

    def add(self, message: Any, piece: str) -> None:
        self.text = self.text + piece if message == self._message else piece
        self._message = message


def _assistant(draft: Draft, event: dict[str, Any], answer: _Answer) -> None:
    draft.reopen()
    message = mapping(event.get("message"))
    parent = text(event.get("parent_tool_use_id"))
    for block in objects(message.get("content")):
        kind = text(block.get("type")) or ""
        if kind.endswith("tool_use"):
            key = (str(message.get("id")), str(block.get("id")))
            draft.ask(block.get("name"), given(block, "input"), call_id=block.get("id"), parent=parent, key=key)
            answer.add(None, "")
        elif kind == "text" and parent is None:
            answer.add(message.get("id"), text(block.get("text")) or "")
    _results(draft, message)


def _results(draft: Draft, message: dict[str, Any]) -> None:
    for block in objects(message.get("content")):
        if (text(block.get("type")) or "").endswith("tool_result"):
            result = block.get("content")
            failed = bool(block.get("is_error")) or str(mapping(result).get("type")).endswith("_error")
            draft.answer(block.get("tool_use_id"), not failed, content(result))


def _result(draft: Draft, result: dict[str, Any], answer: str = "") -> None:
    draft.turns = count(result.get("num_turns"))
    draft.cost_usd = amount(result.get("total_cost_usd"))
    draft.seconds = seconds(result.get("duration_ms"))
    draft.tokens = tokens(
        result.get("usage"),
        input="input_tokens",
        output="output_tokens",
        cache_read="cache_read_input_tokens",
        cache_write="cache_creation_input_tokens",
    )
    draft.final_text = text(result.get("result")) or answer or text(result.get("result"))
    draft.errors += strings(result.get("errors"))
    _ending(draft, result)
    for denial in objects(result.get("permission_denials")):
        draft.deny(denial.get("tool_use_id"), denial.get("tool_name"), given(denial, "tool_input"))


def _ending(draft: Draft, result: dict[str, Any]) -> None:
    subtype, terminal = str(result.get("subtype")), text(result.get("terminal_reason"))
    stop = text(result.get("stop_reason"))
    capped = next((word for word in (subtype, terminal) if word in _CAPS), None)
    if capped is not None:
        draft.end_capped(_CAPS[capped], capped.removeprefix("error_"))
    elif subtype != "success":
        draft.end_failed(subtype, f"ended by {subtype}: {'; '.join(draft.errors) or 'no reason given'}")
    elif result.get("is_error"):
        status = result.get("api_error_status")
        word = f"api_error:{status}" if status is not None else terminal or "api_error"
        draft.end_failed(word, f"{word}: {draft.final_text or 'no reason given'}")
    elif terminal not in (None, "completed"):
        draft.end_failed(terminal, f"ended by {terminal}")
    else:
        draft.end(stop)
