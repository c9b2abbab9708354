"""Agents that behave and agents that do not, as real processes in the real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crucible.errors import Cause, HarnessError, ProviderError
from crucible.llm.loopback import Calls, Counts, Slow, Status, Text
from crucible.transcript.events import Answered, Decided, Equipped, Replied, Started
from crucible.world.types import Limits
from tests.external.conftest import KEY, Place, scripted


def bash(command: str, **said: Any) -> Calls:
    return Calls([("bash", {"command": command})], **said)


FIX = [bash("echo bye > greeting.txt; cat greeting.txt"), bash("cat tests/check.txt", text="looking"), Text("done")]


def test_an_agent_works_and_is_recorded_turn_by_turn_from_the_wire(place: Place) -> None:
    counts = Counts(prompt_tokens=70, completion_tokens=7, cached_tokens=20)
    script = [
        bash("echo bye > greeting.txt; cat greeting.txt", usage=counts),
        bash("cat tests/check.txt"),
        Text("done"),
    ]
    tried = place.attempt(script, scripted("plain"))
    assert ("finished", Cause.AGENT, "done") == (tried.ending.what, tried.ending.cause, tried.ending.detail)
    kinds = [event.kind for event in tried.events]
    assert ["equipped", "started", "replied", "answered", "replied", "answered", "replied"] == kinds
    assert [(50, 20, 7)] == [(r.input_uncached, r.input_cached, r.output) for r in tried.replies[:1]]
    assert [(1, "bash", "bye\n", True), (2, "bash", "check\n", True)] == [
        (a.turn, a.tool, a.text, a.ok) for a in tried.answers
    ]
    asked = [call["id"] for reply in tried.replies for call in reply.tool_calls]
    assert asked == [answer.call_id for answer in tried.answers]
    assert ["greeting.txt"] == [file.path for file in tried.change.files]


def test_the_prompt_carries_the_budget_and_nothing_is_templated(place: Place) -> None:
    tried = place.attempt([Text("done")], scripted("plain"), task_prompt="Fix {model} and {nothing}: {{x}} $HOME")
    told = tried.requests[0]["messages"][1]["content"]
    assert told.startswith("Fix {model} and {nothing}: {{x}} $HOME\n\nYour budget: 25 replies, ")


def test_the_opening_holds_the_first_request_with_dates_masked(place: Place) -> None:
    tried = place.attempt([Text("done")], scripted("plain", version=["echo", "scripted 1.2.3"]))
    started = tried.started
    assert ("You are scripted.", "Do it.", ("bash",)) == (started.system_prompt, started.task, started.tools)
    assert started.opening is not None
    assert "Run a command. Today is <date>" in started.opening["tools"][0]["description"]
    environment = started.opening["environment"]
    assert "python3 1.2.3" == environment["agent"]
    assert "{prompt}" == environment["command"][-1]
    assert {"OPENAI_API_KEY", "OPENAI_BASE_URL"} <= set(environment["variables"])


def test_a_system_prompt_reaches_its_place(place: Place) -> None:
    agent = scripted("plain", env={"SYSTEM_PROMPT": "{system_prompt}"})
    tried = place.attempt([Text("done")], agent, arm={"system_prompt": "Be brief. {prompt}"})
    assert "Be brief. {prompt}" == tried.started.system_prompt


def test_no_key_is_inside(place: Place) -> None:
    tried = place.attempt([Text("done")], scripted("tells_secrets"))
    assert "held-outside" in tried.ending.detail or "OPENAI_API_KEY" in tried.ending.detail
    everything = "".join(event.model_dump_json() for event in tried.events) + str(tried.started.opening)
    assert KEY not in everything
    assert "TRIED_KEY" not in everything


def test_its_version_is_recorded(place: Place) -> None:
    tried = place.attempt([Text("done")], scripted("plain", version=["python3", "--version"]))
    (equipped,) = tried.of(Equipped)
    assert equipped.agent.startswith("python3 3.")


def test_an_agent_that_cannot_say_its_version_is_the_harness_s_fault(place: Place) -> None:
    with pytest.raises(HarnessError, match="python3 cannot say its version: false ended with exit code 1"):
        place.attempt([Text("done")], scripted("plain", version=["false"]))


def test_an_agent_that_never_asks_its_model_does_not_count(place: Place) -> None:
    with pytest.raises(HarnessError, match=r"never asked its model \(exit code 0\); it said: I cannot find my conf"):
        place.attempt([Text("done")], scripted("never_asks"))


@pytest.mark.slow
def test_an_agent_that_never_gets_to_ask_is_ended_and_does_not_count(place: Place) -> None:
    with pytest.raises(HarnessError, match="never asked its model; it was ended: its time was up; it said: loading"):
        place.attempt([Text("done")], scripted("loads"), start_seconds=8)


def test_a_command_that_is_not_inside_does_not_count(place: Place) -> None:
    agent = scripted("plain")
    agent["command"] = ["python3", "/nowhere/agent.py", "{prompt}"]
    with pytest.raises(HarnessError, match="never asked its model"):
        place.attempt([Text("done")], agent)


def test_an_agent_that_fails_after_asking_counts(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("fails"))
    assert ("agent_failed", Cause.AGENT) == (tried.ending.what, tried.ending.cause)
    assert "(exit code 3); it said: something broke" == tried.ending.detail
    assert 1 == len(tried.replies)


@pytest.mark.slow
def test_an_agent_that_never_ends_is_ended_by_the_clock_and_what_it_spent_is_kept(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("hangs"), budget={"max_wall_clock_seconds": 6})
    assert ("budget_time", Cause.BUDGET) == (tried.ending.what, tried.ending.cause)
    assert [100] == [reply.input_uncached for reply in tried.replies]
    assert () == tried.survivors


@pytest.mark.slow
def test_an_agent_that_asks_a_question_gets_no_answer_and_meets_the_clock(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("asks_a_question"), budget={"max_wall_clock_seconds": 2})
    assert "budget_time" == tried.ending.what


def test_exit_code_0_over_a_transcript_that_says_error_is_not_finished(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("lies", format="codex"))
    assert ("agent_error", Cause.AGENT) == (tried.ending.what, tried.ending.cause)
    assert "the model is overloaded" in tried.ending.detail


def test_a_cap_that_the_agent_reports_itself_is_its_budget(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("capped", format="claude-stream"))
    assert ("budget_turns", Cause.BUDGET) == (tried.ending.what, tried.ending.cause)


def test_what_an_agent_says_of_its_tokens_is_noted_and_not_believed(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("boasts", format="codex"))
    assert "finished" == tried.ending.what
    assert "the agent says 1 output tokens, the wire 10; the wire's count holds" == tried.noted("tokens_disagree")
    assert [10] == [reply.output for reply in tried.replies]


@pytest.mark.slow
def test_children_left_behind_do_not_hold_up_the_attempt(place: Place) -> None:
    tried = place.attempt(FIX, scripted("leaves_children"), budget={"max_wall_clock_seconds": 60})
    assert "finished" == tried.ending.what
    assert 2 == len(tried.answers)


@pytest.mark.slow
def test_an_agent_that_prints_without_end_is_ended(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("floods"), budget={"max_wall_clock_seconds": 60})
    assert ("output_limit", Cause.AGENT) == (tried.ending.what, tried.ending.cause)


@pytest.mark.parametrize("behaviour", ["is_silent", "mumbles"])
def test_tool_calls_of_an_agent_without_a_transcript_are_unknown_not_zero(place: Place, behaviour: str) -> None:
    tried = place.attempt(FIX, scripted(behaviour))
    assert "finished" == tried.ending.what
    assert [] == tried.answers
    assert (tried.noted("calls_unknown") or "").startswith("which tools were called is not known: ")
    assert ["greeting.txt"] == [file.path for file in tried.change.files]


def test_an_agent_killed_by_a_signal_counts_as_failed(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("dies"))
    assert ("agent_failed", "(ended by signal 9)") == (tried.ending.what, tried.ending.detail.split(";")[0])


def test_an_agent_killed_by_the_sandbox_s_limit_says_which(place: Place) -> None:
    tried = place.attempt([Text("hm")], scripted("eats_memory"), limits=Limits(memory_bytes=256 * 1024**2))
    assert ("limit_memory", Cause.AGENT) == (tried.ending.what, tried.ending.cause)


def test_writes_outside_the_workspace_and_to_protected_paths_fail(place: Place) -> None:
    script = [bash("echo x > /usr/x; echo x > /etc/x; echo x > tests/check.txt; echo ok > fine.txt"), Text("done")]
    tried = place.attempt(script, scripted("plain"), protected=["tests/check.txt"])
    assert 3 == tried.answers[0].text.count("Read-only file system")
    assert ["fine.txt"] == [file.path for file in tried.change.files]


def test_the_next_call_is_refused_when_the_turns_are_used_up(place: Place) -> None:
    script = [bash("true"), bash("true"), bash("true"), Text("done")]
    tried = place.attempt(script, scripted("plain"), budget={"max_turns": 2})
    assert ("budget_turns", Cause.BUDGET) == (tried.ending.what, tried.ending.cause)
    assert 2 == len(tried.requests) == len(tried.replies)
    assert "The budget of this attempt is used up" in (tried.noted("call_refused") or "")


@pytest.mark.slow
def test_calls_made_at_once_do_not_get_round_the_budget(place: Place) -> None:
    """What is in flight is spent already; else as many calls as an agent makes side by side were allowed beyond it."""
    script = [Slow(1.0, Text("hm"))] * 6
    tried = place.attempt(script, scripted("asks_at_once"), budget={"max_turns": 2})
    assert ("budget_turns", 2) == (tried.ending.what, len(tried.requests))


def test_tokens_are_counted_from_the_wire_and_end_the_attempt(place: Place) -> None:
    script = [bash("true", usage=Counts(9000, 10)), Text("done")]
    tried = place.attempt(script, scripted("plain"), budget={"max_total_tokens": 9050})
    assert ("budget_tokens", 1) == (tried.ending.what, len(tried.replies))


@pytest.mark.slow
def test_an_agent_that_does_not_take_no_for_an_answer_is_ended(place: Place) -> None:
    tried = place.attempt([Text("hm"), Text("hm")], scripted("insists"), budget={"max_turns": 1})
    assert "budget_turns" == tried.ending.what
    assert 1 == len(tried.requests)


def test_a_provider_that_failed_on_every_call_is_the_provider_s_fault(place: Place) -> None:
    with pytest.raises(ProviderError) as failed:
        place.attempt([Status(401, body={"error": {"message": f"bad key {KEY}"}})], scripted("plain"))
    assert "auth" == failed.value.kind
    assert KEY not in str(failed.value)


def test_a_provider_that_failed_last_is_the_provider_s_fault_and_what_was_spent_is_kept(place: Place) -> None:
    with pytest.raises(ProviderError):
        place.attempt([bash("true"), Status(500)], scripted("plain"))
    assert [1] == [event.turn for event in place.events if isinstance(event, Replied)]
    assert 1 == len([event for event in place.events if isinstance(event, Started)])


def test_a_conversation_too_long_for_the_model_is_the_budget_s_end(place: Place) -> None:
    body = {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}
    tried = place.attempt([bash("true"), Status(400, body=body)], scripted("plain"))
    assert ("context_full", Cause.BUDGET) == (tried.ending.what, tried.ending.cause)


def test_policies_that_warn_are_recorded_with_the_call(place: Place) -> None:
    matcher = {"tool": "bash", "arg_key": "command", "op": "contains", "value": "check.txt"}
    policy = {"id": "P1", "rule": "Leave the check alone.", "enforcement": "warn", "matchers": [matcher]}
    tried = place.attempt(FIX, scripted("plain"), policies=[policy])
    (decided,) = tried.of(Decided)
    assert ("P1", "warn", 2) == (decided.policy_id, decided.action, decided.turn)
    assert decided.call_id == tried.answers[1].call_id
    assert tried.events.index(decided) < tried.events.index(tried.answers[1])


def test_without_a_sandbox_it_works_in_the_copy(make_place: Callable[[], Place]) -> None:
    tried = make_place().attempt(FIX, scripted("plain"), mode="copy")
    assert "finished" == tried.ending.what
    assert ["bye\n", "check\n"] == [event.text for event in tried.events if isinstance(event, Answered)]
    assert ["greeting.txt"] == [file.path for file in tried.change.files]
