"""How a run ended decides whether it counts: never by the exit code, and never green when it did not finish."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import read_transcript
from tests.transcript.samples import (
    CHAT,
    CLAUDE,
    CLAUDE_INIT,
    CLAUDE_RESULT,
    CODEX,
    GEMINI,
    GEMINI_END,
    GEMINI_JSON,
    MINI,
    NAMES,
    OPENHANDS,
    OTEL,
    RESPONSES,
    SAMPLES,
    STREAMS,
    agent_span,
    chat_span,
    codex_item,
    export,
    openhands_state,
    read,
    read_whole,
    reply,
    tool_span,
)


def claude(**ending: Any) -> NeutralRun:
    return read(*CLAUDE[:-1], CLAUDE_RESULT | ending, exit_code=0)


def mini(status: str | None, **agent: Any) -> NeutralRun:
    info = MINI["info"] | {"exit_status": status, "config": {"agent": agent}}
    return read_whole(MINI | {"info": info})


def gemini_error(severity: str, message: str) -> NeutralRun:
    return read(*GEMINI[:-1], {"type": "error", "severity": severity, "message": message}, GEMINI_END)


def openhands(*ending: dict[str, Any]) -> NeutralRun:
    return read(*OPENHANDS[:-1], *ending)


def openhands_error(code: str) -> dict[str, Any]:
    return {"kind": "ConversationErrorEvent", "source": "environment", "code": code, "detail": "it broke"}


TURN_FAILED = {"type": "turn.failed", "error": {"message": "usage limit reached"}}
GEMINI_FAILED = {"type": "result", "status": "error", "error": {"type": "ApiError", "message": "429"}}
GEMINI_LIMIT = {"type": "result", "status": "error", "error": {"type": "FatalTurnLimitedError", "message": "turns"}}
OUT_OF_TOKENS = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}

INVALID = {
    "a rate limit that calls itself a success": claude(is_error=True, api_error_status=429, result="Rate limit"),
    "an API error without a status": claude(is_error=True, terminal_reason="api_error"),
    "an aborted stream": claude(terminal_reason="aborted_streaming"),
    "an error during execution": claude(subtype="error_during_execution", is_error=True, errors=["boom"]),
    "a subtype nobody knows": claude(subtype="error_of_tomorrow"),
    "a spending limit, though it is no error": claude(subtype="error_max_budget_usd", is_error=False),
    "a result without a run": read(CLAUDE_INIT, CLAUDE_RESULT),
    "an empty result alone": read_whole(CLAUDE_RESULT | {"result": ""}),
    "a turn that failed, whatever the exit code": read(*CODEX[:-1], TURN_FAILED, exit_code=0),
    "a turn that never ended": read(*CODEX[:-1], exit_code=0),
    "a connection that was lost": read(*CODEX[:2], {"type": "error", "message": "Reconnecting... 5/5"}),
    "a launch that printed an error alone": read({"type": "error", "message": "no key"}),
    "a result with an error": read(*GEMINI[:-1], GEMINI_FAILED),
    "a success after a fatal error": gemini_error("error", "Agent execution stopped: hook"),
    "an error instead of a response": read_whole({"session_id": "s", "error": {"type": "AuthError", "message": "no"}}),
    "a response beside an error": read_whole(GEMINI_JSON | {"error": {"type": "INVALID_STREAM", "message": "empty"}}),
    "a stopped run told as a warning": read_whole(GEMINI_JSON | {"warnings": ["Agent execution stopped: hook"]}),
    "an exception": mini("APIConnectionError"),
    "no exit status": mini(None),
    "an empty exit status": mini(""),
    "a cost limit": mini("LimitsExceeded", cost_limit=0.02, step_limit=0),
    "a conversation error": openhands(openhands_error("LLMAuthenticationError"), openhands_state("error")),
    "a state of error": openhands(openhands_state("error")),
    "a pause": openhands(openhands_state("paused")),
    "no finish": openhands(),
    "messages that end with a call": read_whole(CHAT[:2]),
    "messages that end with a result": read_whole(CHAT[:4]),
    "messages that end with the user": read_whole(CHAT[:1]),
    "a response that ends with a call": read_whole(RESPONSES | {"output": RESPONSES["output"][:1]}),
    "a failed response": read_whole(RESPONSES | {"status": "failed", "error": {"message": "server"}}),
    "a response in progress": read_whole(RESPONSES | {"status": "in_progress"}),
    "a filtered response": read_whole(RESPONSES | FILTERED),
    "an agent span with an error": read_whole(export(agent_span(failed="timeout"), tool_span("x", "a", 9))),
    "spans without their parents": read_whole(export(tool_span("x", "a", 9), chat_span("y", "a", 12, reply()))),
    "a last reply that asks for a tool": read_whole(export(chat_span("y", "", 1, reply(finish="tool_call")))),
    "two runs in one file": read_whole(export(agent_span("a"), agent_span("b", **{"gen_ai.conversation.id": "2"}))),
    "no spans": read_whole({"resourceSpans": []}),
    "names from a process that failed": read_whole(NAMES, exit_code=1),
    "names beside an error": read_whole(NAMES | {"is_error": True}),
    "messages from a process that failed": read_whole(CHAT, exit_code=1),
    "neither an answer nor a call": read_whole(NAMES | {"tools": [], "result": ""}),
    "two runs of Claude Code": read(
        CLAUDE_INIT | {"session_id": "1"}, *CLAUDE, CLAUDE_INIT | {"session_id": "2"}, *CLAUDE
    ),
    "two runs of Codex": read(*CODEX, {"type": "thread.started", "thread_id": "other"}, *CODEX[1:]),
    "two runs of Gemini": read(*GEMINI, {"type": "init", "session_id": "other"}, *GEMINI[1:]),
    "two runs of the same wrapper": read(NAMES, NAMES),
    "nothing": read_transcript(b"", exit_code=127),
    "white space": read_transcript(b" \n\t\n"),
    "plain text": read_transcript(b"agent: command not found\n"),
    "nothing, with a format": read_transcript(b"", "codex"),
    "plain text, with a format": read_transcript(b"Segmentation fault\n", "claude-stream", 139),
}

CAPPED = {
    "turns": (claude(subtype="error_max_turns", is_error=True), "turns", "max_turns"),
    "turns by terminal reason": (claude(terminal_reason="max_turns"), "turns", "max_turns"),
    "turns told as an error event": (gemini_error("error", "Maximum session turns exceeded"), "turns", None),
    "a loop told as a warning": (gemini_error("warning", "Loop detected, stopping execution"), "loop", None),
    "turns as a result": (read(*GEMINI[:-1], GEMINI_LIMIT), "turns", "FatalTurnLimitedError"),
    "turns as an exit code": (read_whole({"session_id": "s", "error": {"code": 53}}), "turns", None),
    "steps": (mini("LimitsExceeded", step_limit=3, cost_limit=3.0), "turns", "LimitsExceeded"),
    "time": (mini("TimeExceeded"), "time", "TimeExceeded"),
    "iterations": (openhands(openhands_error("MaxIterationsReached"), openhands_state("error")), "turns", None),
    "a stuck agent": (openhands(openhands_state("stuck")), "loop", "stuck"),
    "tokens of a response": (read_whole(RESPONSES | OUT_OF_TOKENS), "tokens", "max_output_tokens"),
    "tokens of a reply": (read_whole(export(chat_span("y", "", 1, reply(finish="length")))), "tokens", "length"),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_run_that_says_nothing_of_the_agent_is_invalid_with_a_reason(name: str) -> None:
    run = INVALID[name]
    assert not run.valid
    assert run.reason


@pytest.mark.parametrize("name", CAPPED)
def test_a_run_that_hit_a_limit_counts_and_did_not_finish(name: str) -> None:
    run, cap, stop = CAPPED[name]
    assert (True, False, cap) == (run.valid, run.complete, run.cap)
    assert stop in (None, run.stop)


def test_an_agent_that_gives_up_counts_and_did_not_finish() -> None:
    run = mini("RepeatedFormatError")
    assert (True, False, None) == (run.valid, run.complete, run.cap)


@pytest.mark.parametrize("name", STREAMS)
def test_a_bad_exit_code_after_the_terminal_event_is_told_and_no_more(name: str) -> None:
    run = read_transcript(SAMPLES[name], exit_code=1)
    assert (True, True) == (run.valid, run.complete)
    assert ("finished, but the process failed (exit code 1)",) == run.errors


@pytest.mark.parametrize("name", STREAMS)
def test_a_good_exit_code_does_not_finish_a_run(name: str) -> None:
    head = SAMPLES[name].splitlines(keepends=True)[:-1]
    run = read_transcript(b"".join(head), exit_code=0)
    assert (False, False) == (run.valid, run.complete)
    assert "cut off" in (run.reason or "")


@pytest.mark.parametrize("name", STREAMS)
def test_a_run_that_goes_on_after_its_end_is_not_at_its_end(name: str) -> None:
    """The first events again, the last not: a second turn that was cut."""
    events = SAMPLES[name].splitlines(keepends=True)
    run = read_transcript(b"".join([*events, *events[:-1]]))
    assert (False, False) == (run.valid, run.complete)


def test_a_transient_error_does_not_spoil_a_turn_that_completes() -> None:
    run = read(*CODEX[:3], {"type": "error", "message": "Reconnecting... 1/5"}, *CODEX[3:])
    assert (True, ("Reconnecting... 1/5",)) == (run.valid, run.errors)


def test_a_call_that_never_came_back_is_attempted_and_not_known_to_have_run() -> None:
    run = read(*CODEX[:2], codex_item("i9", "item.started", status="in_progress"), *CODEX[5:])
    call = (run.calls or ())[0]
    assert (None, None, None) == (call.ok, call.executed, call.result)
    assert run.valid


def test_the_usage_of_the_whole_thread_is_not_added_up_by_turn() -> None:
    later = {"type": "turn.completed", "usage": {"input_tokens": 200, "cached_input_tokens": 180, "output_tokens": 9}}
    run = read(*CODEX, {"type": "turn.started"}, *CODEX[5:6], later)
    assert {"input": 200, "cache_read": 180, "output": 9} == run.tokens.to_json() if run.tokens else None
    assert 2 == run.turns


def test_the_reason_of_a_run_that_was_killed_has_its_exit_code() -> None:
    assert "(exit code 137)" in (read(*CLAUDE[:3], exit_code=137).reason or "")


def test_a_file_of_otel_exports_cut_between_lines_is_cut() -> None:
    """The agent's own span is written last; without it the others hang in the air."""
    *children, root = OTEL["resourceSpans"][0]["scopeSpans"][0]["spans"][::-1]
    whole_run = [export(span) for span in [*children, root]]
    assert read(*whole_run).valid
    assert [False] * 4 == [read(*whole_run[:n]).valid for n in range(1, 5)]
