"""mini-swe-agent: the trajectory file (`.traj.json`), one object.

Commands are in `extra.actions` of the model's messages, with or without tool calls, and their outcome in `extra` of the
messages after them. The file is written after every step, so it is finished only when it has an exit status.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from crucible.transcript.neutral import Arguments, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import amount, count, given, mapping, objects, text

_SUBMITS: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_CAPS: Final = {"TimeExceeded": "time", "LimitsExceeded": "turns"}
_GAVE_UP: Final = "RepeatedFormatError"


def claims(value: Any) -> bool:
    """A trajectory of mini-swe-agent."""
    run = mapping(value)
    marked = (text(run.get("trajectory_format")) or "").startswith("mini-swe-agent")
    return isinstance(run.get("messages"), list) and (marked or "exit_status" in mapping(run.get("info")))


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its trajectory."""
    draft = Draft(scan, exit_code, calls=None, heed_damage=False)
    runs = [value for value in scan.events() if claims(value)]
    if len(runs) > 1:
        draft.invalid(f"{len(runs)} trajectories in one output: that is more than one run")
    for run in runs[-1:]:
        info = mapping(run.get("info"))
        stats = mapping(info.get("model_stats"))
        draft.cost_usd = amount(stats.get("instance_cost"))
        draft.turns = count(stats.get("api_calls"))
        draft.final_text = text(info.get("submission"))
        _messages(draft, run)
        _ending(draft, info)
    return draft.close("exit status")


def _messages(draft: Draft, run: dict[str, Any]) -> None:
    waiting: deque[int] = deque()
    for message in objects(run.get("messages")):
        extra = mapping(message.get("extra"))
        if message.get("role") == "assistant":
            waiting.clear()
            waiting.extend(_asked(draft, message, extra))
        elif "returncode" in extra or "exception_info" in extra:
            _observed(draft, message, extra, waiting)
        elif (
            message.get("role") == "exit"
            and mapping(message.get("extra")).get("exit_status", "Submitted") == "Submitted"
        ):
            _submitted(draft)


def _asked(draft: Draft, message: dict[str, Any], extra: dict[str, Any]) -> list[int]:
    """The calls of one message. What could not be read as a command was asked for and not run."""
    actions, requested = extra.get("actions"), message.get("tool_calls")
    if draft.calls is None and (isinstance(actions, list) or isinstance(requested, list)):
        draft.calls = []
    commands = list(objects(actions))
    indices = [draft.ask("bash", _command(action), call_id=_id(action)) for action in commands]
    known = {action.get("tool_call_id") for action in commands}
    for call in objects(requested):
        # A command without an id cannot be told from the call it came from.
        if call.get("id") not in known and None not in known:
            function = mapping(call.get("function"))
            indices.append(draft.ask(function.get("name"), given(function, "arguments"), call_id=_id(call)))
    return indices


def _command(action: dict[str, Any]) -> tuple[Arguments, str | None]:
    return {name: value for name, value in action.items() if name != "tool_call_id"}, None


def _id(source: dict[str, Any]) -> str | None:
    return text(source.get("tool_call_id")) or text(source.get("id"))


def _observed(draft: Draft, message: dict[str, Any], extra: dict[str, Any], waiting: deque[int]) -> None:
    """Results by their id where they have one, else in the order of the commands."""
    code = extra.get("returncode")
    ok = None if code is None else code == 0 and not extra.get("exception_info")
    ok = False if extra.get("exception_info") else ok
    result = extra.get("raw_output", message.get("content"))
    if text(message.get("tool_call_id")):
        draft.answer(message["tool_call_id"], ok, result)
    elif waiting:
        draft.settle(waiting.popleft(), ok, result)
    else:
        draft.invalid("the output of a command that is not there: calls are missing")


def _submitted(draft: Draft) -> None:
    """Submitting is a command whose output is the end: it ran, though nothing answers it, or that it was cut short."""
    for index, call in reversed(list(enumerate(draft.calls or []))):
        if not call.ok and any(word in str(mapping(call.args).get("command")) for word in _SUBMITS):
            draft.settle(index, True, None)
            return


def _ending(draft: Draft, info: dict[str, Any]) -> None:
    status = text(info.get("exit_status"))
    if not status:
        return
    if status == "Submitted":
        draft.end(status)
    elif status in _CAPS:
        draft.end_capped("spend" if _out_of_money(draft, info) else _CAPS[status], status)
    elif status == _GAVE_UP:
        draft.end(status, complete=False)
    else:
        draft.end_failed(status, f"ended by {status}")


def _out_of_money(draft: Draft, info: dict[str, Any]) -> bool:
    limit = amount(mapping(mapping(info.get("config")).get("agent")).get("cost_limit"))
    return bool(limit and draft.cost_usd is not None and draft.cost_usd >= limit)
