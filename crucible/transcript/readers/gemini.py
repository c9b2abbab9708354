"""Gemini CLI: `--output-format stream-json`, one event a line, and `json`, one object with counts of the tools called.

The stream ends with the event of type `result`; its status can be success though an error event said that the run was
stopped. Exit code 53 is the turn limit.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import NeutralRun, NeutralTokens
from crucible.transcript.readers.draft import Draft, exited
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import count, given, mapping, seconds, strings, text, tokens

_TURNS_EXIT: Final = 53
_LIMITS: Final = {"turns exceeded": "turns", "turn limit": "turns", "turnlimit": "turns", "loop detected": "loop"}


def claims_stream(value: Any) -> bool:
    """An event of the stream."""
    event = mapping(value)
    marks = {
        "init": "session_id",
        "message": "role",
        "tool_use": "tool_name",
        "tool_result": "tool_id",
        "error": "severity",
        "result": "status",
    }
    mark = marks.get(str(event.get("type")))
    return mark in event and not isinstance(event.get("content"), list)


def claims_json(value: Any) -> bool:
    """The object that `json` prints."""
    run = mapping(value)
    return "type" not in run and "tools" not in run and "session_id" in run and ("response" in run or "error" in run)


def read_json(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its one object: how often each tool was called, not in which order nor with what."""
    draft = Draft(scan, exit_code, calls=None, heed_damage=False)
    runs = [value for value in scan.events() if claims_json(value)]
    if len(runs) > 1:
        draft.invalid(f"{len(runs)} objects in one output: that is more than one run")
    for run in runs[-1:]:
        stats = mapping(run.get("stats"))
        draft.final_text = text(run.get("response")) if "response" in run else None
        draft.tokens = _all_models(mapping(stats.get("models")))
        draft.tool_counts = _tool_counts(mapping(stats.get("tools")))
        draft.errors += strings(run.get("warnings"))
        _json_ending(draft, run)
    return draft.close("object with the response")


def _json_ending(draft: Draft, run: dict[str, Any]) -> None:
    error = mapping(run.get("error"))
    limit = next(filter(None, map(_limit, [_error_text(error), *draft.errors])), None)
    if error.get("code") == _TURNS_EXIT or draft.exit_code == _TURNS_EXIT:
        limit = "turns"
    stopped = next((warning for warning in draft.errors if "execution stopped" in warning.lower()), None)
    if limit is not None:
        draft.end_capped(limit, text(error.get("type")) or limit)
    elif error or stopped:
        draft.end_failed(text(error.get("type")) or "error", stopped or _error_text(error))
    elif text(run.get("response")) is None:
        draft.end_failed("error", f"no response{exited(draft.exit_code)}")
    else:
        draft.end(None)


def _tool_counts(tools: dict[str, Any]) -> dict[str, int] | None:
    by_name = tools.get("byName")
    if not isinstance(by_name, dict):
        return None
    counts = {name: count(mapping(stats).get("count")) for name, stats in by_name.items()}
    return {name: times for name, times in counts.items() if times is not None}


def _all_models(models: dict[str, Any]) -> NeutralTokens | None:
    """The sum over the models used, a count that one of them lacks left out: `input` is without what was cached."""
    used = [mapping(mapping(model).get("tokens")) for model in models.values()]
    names = {"input": "input", "output": "candidates", "cache_read": "cached"}
    sums: dict[str, int] = {}
    for ours, theirs in names.items():
        counts = [count(usage.get(theirs)) for usage in used]
        known = [n for n in counts if n is not None]
        if known and len(known) == len(counts):
            sums[ours] = sum(known)
    return NeutralTokens(**sums) if sums else None


def read_stream(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its events. Answers come in pieces: the last answer is what was said since the last tool."""
    draft = Draft(scan, exit_code)
    answer: list[str] = []
    stopped: str | None = None
    for event in scan.events():
        kind = event.get("type")
        if kind == "message":
            draft.reopen()
            _message(event, answer)
        elif kind == "tool_use":
            answer.clear()
            draft.ask(event.get("tool_name"), given(event, "parameters"), call_id=event.get("tool_id"))
        elif kind == "tool_result":
            answer.clear()
            _tool_result(draft, event)
        elif kind == "error":
            draft.errors.append(text(event.get("message")) or "no message")
            if event.get("severity") == "error" or _limit(draft.errors[-1]):
                stopped = draft.errors[-1]
        elif kind == "result" and "status" in event:
            _stream_ending(draft, event, stopped)
        elif kind == "init":
            draft.session(event.get("session_id"))
    draft.final_text = "".join(answer) if answer else None
    return draft.close("result event")


def _message(event: dict[str, Any], answer: list[str]) -> None:
    if event.get("role") != "assistant" or not event.get("delta"):
        answer.clear()
    if event.get("role") == "assistant":
        answer.append(text(event.get("content")) or "")


def _tool_result(draft: Draft, event: dict[str, Any]) -> None:
    error = text(mapping(event.get("error")).get("message"))
    ok = event.get("status") == "success" and error is None
    draft.answer(event.get("tool_id"), ok, event.get("output") if error is None else error)


def _stream_ending(draft: Draft, result: dict[str, Any], stopped: str | None) -> None:
    stats = mapping(result.get("stats"))
    draft.tokens = tokens(stats, input="input_tokens", output="output_tokens", cache_read="cached")
    draft.seconds = seconds(stats.get("duration_ms"))
    counted, seen = count(stats.get("tool_calls")), len(draft.calls or ())
    if counted is not None and counted > seen:
        draft.unseen = f"{counted} tool calls were counted and {seen} printed: sub-agents' calls are not"
    status, error = text(result.get("status")), mapping(result.get("error"))
    limit = _limit(stopped or "") or (_limit(_error_text(error)) if error else None)
    if limit is not None or (draft.exit_code == _TURNS_EXIT and status != "success"):
        draft.end_capped(limit or "turns", text(error.get("type")) or stopped)
    elif status != "success" or stopped is not None:
        draft.end_failed(status, stopped or _error_text(error))
    else:
        draft.end(status)


def _error_text(error: dict[str, Any]) -> str:
    words = [text(error.get("type")), text(error.get("message"))]
    return ": ".join(word for word in words if word) or "ended by an error without a message"


def _limit(message: str) -> str | None:
    return next((limit for words, limit in _LIMITS.items() if words in message.lower()), None)
