"""Replies from the wire and calls from a transcript, put together in order."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.external.answers import answers_on_the_wire
from crucible.agents.external.placing import Timed
from crucible.agents.external.recording import events_of, remarks
from crucible.llm.proxy import Asked, Exchange
from crucible.transcript.events import Answered, Event, Noted, Replied
from crucible.transcript.messages import ToolCall, Usage
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun, NeutralTokens

USAGE = Usage(input_uncached=100, output=10)


def exchange(number: int, *calls: tuple[str, str, dict[str, Any]], body: Any = None, **said: Any) -> Exchange:
    asked = Asked(number, said.pop("dialect", "chat"), "tiny", body or {})
    made = tuple(ToolCall(call_id, name, json.dumps(arguments)) for call_id, name, arguments in calls)
    return Exchange(asked, **{"status": 200, "usage": USAGE, "tool_calls": made, **said})


def timed(*exchanges: Exchange) -> list[Timed]:
    return [Timed(one, float(at)) for at, one in enumerate(exchanges)]


def run(*calls: NeutralCall, **said: Any) -> NeutralRun:
    return NeutralRun(calls=calls, complete=True, **said)


def recorded(exchanges: list[Timed], transcript: NeutralRun | None, *servers: str) -> list[Event]:
    return list(events_of(exchanges, transcript, servers, (), {}))


def order(events: list[Event]) -> list[tuple[str, int]]:
    return [(event.call_id if isinstance(event, Answered) else event.kind, event.turn) for event in events]


def test_a_call_follows_the_reply_that_asked_for_it_by_name_and_arguments() -> None:
    calls = timed(exchange(1, ("a", "bash", {"c": 1}), ("b", "bash", {"c": 2})), exchange(2, ("c", "bash", {"c": 3})))
    transcript = run(*(NeutralCall("bash", {"c": n}, ok=True) for n in (2, 1, 3)))
    assert [("replied", 1), ("b", 1), ("a", 1), ("replied", 2), ("c", 2)] == order(recorded(calls, transcript))


def test_a_tool_that_an_agent_calls_otherwise_is_found_by_what_was_asked() -> None:
    calls = timed(exchange(1, ("a", "exec_command", {"cmd": "ls"})), exchange(2, ("b", "exec_command", {"cmd": "pwd"})))
    transcript = run(NeutralCall("command_execution", {"command": "bash -lc 'pwd'"}, ok=True))
    assert [("replied", 1), ("replied", 2), ("b", 2)] == order(recorded(calls, transcript))


def test_a_call_that_the_wire_does_not_know_stays_with_the_call_before_it() -> None:
    calls = timed(exchange(1, ("a", "bash", {})), exchange(2))
    transcript = run(NeutralCall("bash", {}, ok=True), NeutralCall("sub", {}, ok=True))
    assert [("replied", 1), ("a", 1), ("transcript_2", 1), ("replied", 2)] == order(recorded(calls, transcript))


def test_a_call_that_only_the_wire_knows_is_recorded_with_its_result_there() -> None:
    answered = {"messages": [{"role": "tool", "tool_call_id": "a", "content": "unsupported call: nope"}]}
    calls = timed(exchange(1, ("a", "nope", {"x": 1})), exchange(2, body=answered))
    (answer,) = [event for event in recorded(calls, run()) if isinstance(event, Answered)]
    assert (1, "a", "nope", {"x": 1}, False) == (answer.turn, answer.call_id, answer.tool, answer.arguments, answer.ok)


def test_without_a_transcript_no_call_is_made_up() -> None:
    answered = {"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}
    calls = timed(exchange(1, ("a", "bash", {})), exchange(2, body=answered))
    for transcript in (None, NeutralRun(calls=None, valid=False, reason="the agent printed nothing")):
        assert [("replied", 1), ("replied", 2)] == order(recorded(calls, transcript))
        (noted,) = remarks(calls, transcript, 3.0, ())
        assert "calls_unknown" == noted.what


def test_a_server_s_tool_has_our_name_for_it() -> None:
    calls = timed(exchange(1, ("a", "mcp__graph__callers", {})))
    (_, answer) = recorded(calls, run(NeutralCall("graph.callers", {}, ok=True)), "graph")
    assert isinstance(answer, Answered)
    assert "graph__callers" == answer.tool


def test_a_result_that_the_transcript_leaves_out_is_taken_from_the_wire() -> None:
    answered = {"messages": [{"role": "tool", "tool_call_id": "a", "content": "hello"}]}
    calls = timed(exchange(1, ("a", "bash", {})), exchange(2, body=answered))
    (_, answer, _) = recorded(calls, run(NeutralCall("bash", {}, ok=True, result="")))
    assert isinstance(answer, Answered)
    assert "hello" == answer.text


def test_arguments_that_the_transcript_leaves_out_are_those_it_was_asked_with() -> None:
    (_, answer) = recorded(timed(exchange(1, ("a", "bash", {"c": 1}))), run(NeutralCall("execute", ok=True)))
    assert isinstance(answer, Answered)
    assert ("a", "execute", {"c": 1}) == (answer.call_id, answer.tool, answer.arguments)


def test_a_call_that_nothing_answered_had_no_success() -> None:
    calls = timed(exchange(1))
    states = [NeutralCall("bash", {}, executed=None), NeutralCall("bash", {}), NeutralCall("bash", UNKNOWN, ok=False)]
    answers = [event for one in states for event in recorded(calls, run(one)) if isinstance(event, Answered)]
    assert [(False, {}), (True, {}), (False, None)] == [(answer.ok, answer.arguments) for answer in answers]


def test_a_reply_that_broke_off_is_a_turn_that_was_paid_for_and_its_count_is_unknown() -> None:
    cut = exchange(1, error="the agent hung up", usage=Usage(input_uncached=100))
    refused = exchange(2, status=None, error="the budget is used up", refused=True)
    down = exchange(3, status=500, error="overloaded")
    events = recorded(timed(cut, refused, down), run())
    assert ["replied", "noted", "noted", "noted"] == [event.kind for event in events]
    assert ["model_call_failed", "call_refused", "model_call_failed"] == [
        e.what for e in events if isinstance(e, Noted)
    ]
    (reply,) = [event for event in events if isinstance(event, Replied)]
    assert reply.billed is None


def test_what_an_agent_says_of_its_tokens_is_compared_with_the_wire() -> None:
    calls = timed(exchange(1), exchange(2))
    said = [list(remarks(calls, run(tokens=NeutralTokens(output=count)), 3.0, ())) for count in (20, 21)]
    assert [0, 1] == [len(notes) for notes in said]
    assert "the agent says 21 output tokens, the wire 20; the wire's count holds" == said[1][0].detail


def test_what_else_was_asked_for_is_noted() -> None:
    (noted,) = remarks(timed(exchange(1)), run(), 3.0, ["GET /v1/telemetry 404"])
    assert ("stray_requests", True) == (noted.what, "GET /v1/telemetry 404" in noted.detail)


def test_results_are_found_in_every_dialect() -> None:
    bodies: dict[Any, Any] = {
        "anthropic": {"messages": [{"content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]},
        "chat": {"messages": [{"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x"}]}]},
        "responses": {"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]},
        "gemini": {"contents": [{"parts": [{"functionResponse": {"id": "a", "response": {"output": "x"}}}]}]},
    }
    for dialect, body in bodies.items():
        assert {"a": "x"} == answers_on_the_wire([Asked(1, dialect, "tiny", body)])


names = st.sampled_from(["bash", "edit", "read"])
calls = st.lists(st.tuples(names, st.integers(0, 3)), max_size=6)


@given(st.lists(calls, max_size=4), calls)
def test_whatever_a_transcript_holds_every_call_of_it_is_recorded_once_and_turns_only_rise(
    asked: list[list[tuple[str, int]]], made: list[tuple[str, int]]
) -> None:
    wire = timed(
        *(
            exchange(n, *((f"{n}_{m}", name, {"n": value}) for m, (name, value) in enumerate(one)))
            for n, one in enumerate(asked, 1)
        )
    )
    events = recorded(wire, run(*(NeutralCall(name, {"n": value}, ok=True) for name, value in made)))
    answers = [event for event in events if isinstance(event, Answered)]
    assert sorted(made) == sorted((answer.tool, (answer.arguments or {})["n"]) for answer in answers)
    assert len(made) == len({answer.call_id for answer in answers})
    turns = [event.turn for event in events]
    assert turns == sorted(turns) or not asked
