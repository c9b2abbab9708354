"""OpenHands: `--headless --json`, events one a line or printed over several lines behind a marker line.

Events of the SDK have a `kind`; older ones are pairs of `action` and `observation`. A run ends with the finish tool or
with a state that says finished, error or stuck. `finish` and `think` steer the agent and are no tool calls. An action
that is null was asked for and never ran.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import arguments, content, mapping, said, text

_CONTROL: Final = ("finish", "think")
_DELEGATES: Final = ("delegate", "task")
_OLD_CONTROL: Final = (
    "finish",
    "think",
    "message",
    "system",
    "recall",
    "change_agent_state",
    "agent_state_changed",
    "null",
)
_OLD_FRAME: Final = ("type", "action", "id", "timestamp", "source", "message", "thought", "cause", "timeout")
_LATEST: Final = object()
_FAILED_STATES: Final = ("error", "paused", "deleting", "waiting_for_confirmation")


def claims(value: Any) -> bool:
    """An event of either shape."""
    event = mapping(value)
    kind = text(event.get("kind")) or ""
    sdk = kind.endswith(("Event", "Observation", "Condensation")) and "source" in event
    return sdk or event.get("type") in ("action", "observation")


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its events."""
    draft = Draft(scan, exit_code)
    actions: dict[Any, int] = {}
    for event in scan.events():
        reader = _KINDS.get(str(event.get("kind")))
        if reader is not None:
            reader(draft, event)
        elif event.get("type") == "action":
            _old_action(draft, event, actions)
        elif event.get("type") == "observation":
            _old_observation(draft, event, actions)
    return draft.close("finish")


def _action(draft: Draft, event: dict[str, Any]) -> None:
    tool, request = event.get("tool_name"), mapping(event.get("tool_call"))
    action = event.get("action")
    args = _arguments(request, action)
    if tool == "finish" and action is not None:
        said_last = text(mapping(action).get("message"))
        draft.final_text = said_last if said_last is not None else text(mapping(args[0]).get("message"))
        draft.end("finish")
    elif tool not in _CONTROL:
        index = draft.ask(tool, args, call_id=event.get("tool_call_id"))
        if action is None:
            draft.settle(index, None, None, executed=False)
    if tool in _DELEGATES:
        draft.unseen = "a sub-agent was started, and this format does not print the calls of sub-agents"


def _arguments(request: dict[str, Any], action: Any) -> tuple[Arguments, str | None]:
    if "arguments" in request:
        return arguments(request["arguments"])
    inner = mapping(action)
    if "data" in inner:
        return arguments(inner["data"])
    return ({key: value for key, value in inner.items() if key != "kind"} if inner else UNKNOWN), None


def _observation(draft: Draft, event: dict[str, Any]) -> None:
    if event.get("tool_name") in _CONTROL:
        return
    observation = mapping(event.get("observation"))
    ok = _went_well(bool(observation.get("is_error")), observation)
    answer = observation.get("content", observation.get("output"))
    draft.answer(event.get("tool_call_id"), ok, content(answer))


def _went_well(failed: bool, source: dict[str, Any]) -> bool | None:
    """Not when it says so or its command failed; exit code -1 is a command still going on."""
    code = source.get("exit_code", mapping(source.get("metadata")).get("exit_code"))
    if code == -1 and not failed:
        return None
    return not failed and code in (None, 0)


def _error(draft: Draft, event: dict[str, Any]) -> None:
    """An error beside the tool. A call that had an action may have run before it failed."""
    if event.get("tool_name") not in _CONTROL:
        draft.answer(event.get("tool_call_id"), False, event.get("error"), executed=None)


def _rejected(draft: Draft, event: dict[str, Any]) -> None:
    if event.get("tool_name") not in _CONTROL:
        draft.answer(event.get("tool_call_id"), False, event.get("rejection_reason"), executed=False)


def _acp_call(draft: Draft, event: dict[str, Any]) -> None:
    """A call of an agent behind the Agent Client Protocol, told again at each change of its status."""
    key = ("acp", str(event.get("tool_call_id")))
    parent = text(event.get("parent_tool_call_id"))
    args = (UNKNOWN, None) if event.get("raw_input") is None else arguments(event["raw_input"])
    index = draft.ask(event.get("title"), args, parent=parent, key=key)
    if event.get("status") in ("completed", "failed") or event.get("is_error"):
        ok = event.get("status") != "failed" and not event.get("is_error")
        draft.settle(index, ok, event.get("raw_output"))


def _message(draft: Draft, event: dict[str, Any]) -> None:
    draft.reopen()
    if event.get("source") == "agent":
        draft.final_text = said(mapping(event.get("llm_message")).get("content"))


def _state(draft: Draft, event: dict[str, Any]) -> None:
    key, value = event.get("key"), event.get("value")
    if key == "full_state":
        value = mapping(value).get("execution_status")
    elif key not in ("execution_status", "agent_status"):
        return
    if value == "finished":
        draft.end("finish" if draft.stop == "finish" else "finished")
    elif value == "stuck":
        draft.end_capped("loop", "stuck")
    elif value in _FAILED_STATES and draft.cap is None:
        draft.end_failed(value, f"ended in the state {value}: {'; '.join(draft.errors) or 'no reason given'}")


def _run_error(draft: Draft, event: dict[str, Any]) -> None:
    code = text(event.get("code")) or "error"
    draft.errors.append(f"{code}: {event.get('detail')}")
    if "MaxIterations" in code:
        draft.end_capped("turns", code)
    else:
        draft.end_failed(code, draft.errors[-1])


def _iteration_limit(draft: Draft, event: dict[str, Any]) -> None:
    draft.errors.append(text(event.get("detail")) or "iteration limit")
    draft.end_capped("turns", "iteration_limit")


def _old_action(draft: Draft, event: dict[str, Any], actions: dict[Any, int]) -> None:
    name, args = event.get("action"), event.get("args")
    if not isinstance(args, dict):
        args = {key: value for key, value in event.items() if key not in _OLD_FRAME}
    if name == "finish":
        words = (args.get("final_thought"), args.get("message"), event.get("message"))
        draft.final_text = next((word for word in words if text(word)), None)
        draft.end("finish")
    elif name == "message":
        draft.reopen()
        draft.final_text = draft.final_text if event.get("source") == "user" else text(args.get("content"))
    elif name not in _OLD_CONTROL:
        actions[_LATEST] = actions[str(event.get("id"))] = draft.ask(name, (args, None))


def _old_observation(draft: Draft, event: dict[str, Any], actions: dict[Any, int]) -> None:
    """The observation of the action that caused it, or of the latest. Those of control actions answer nothing."""
    cause = event.get("cause")
    index = actions.get(_LATEST if cause is None else str(cause))
    if index is not None and event.get("observation") not in _OLD_CONTROL:
        ok = _went_well(event.get("observation") == "error", mapping(event.get("extras")))
        draft.settle(index, ok, event.get("content"))


_KINDS: Final = {
    "ActionEvent": _action,
    "ObservationEvent": _observation,
    "AgentErrorEvent": _error,
    "UserRejectObservation": _rejected,
    "ACPToolCallEvent": _acp_call,
    "MessageEvent": _message,
    "ConversationStateUpdateEvent": _state,
    "ConversationErrorEvent": _run_error,
    "ConversationIterationLimitEvent": _iteration_limit,
}
