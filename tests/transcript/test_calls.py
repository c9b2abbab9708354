"""Calls: merged, paired, attempted, refused, made by sub-agents, and what is known of their arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun
from tests.transcript.samples import (
    ANSWER,
    ASKED,
    CHAT,
    CLAUDE,
    CLAUDE_INIT,
    CLAUDE_RESULT,
    CODEX,
    CODEX_OK,
    GEMINI,
    GEMINI_END,
    GEMINI_JSON,
    GEMINI_STATS,
    MINI,
    NAMES,
    OPENHANDS_FINISH,
    RESPONSES,
    agent_span,
    chat_call,
    chat_span,
    claude_answer,
    claude_text,
    claude_use,
    codex_item,
    export,
    openhands_action,
    openhands_answer,
    read,
    read_whole,
    reply,
    tool_span,
)


def only(run: NeutralRun) -> NeutralCall:
    assert run.valid, run.reason
    assert run.calls is not None
    assert 1 == len(run.calls)
    return run.calls[0]


def claude(*events: dict[str, Any], **ending: Any) -> NeutralRun:
    return read(CLAUDE_INIT, *events, CLAUDE_RESULT | ending)


def chat(*messages: dict[str, Any]) -> NeutralRun:
    return read_whole([*messages, CHAT[-1]])


# Claude Code


def test_events_of_one_message_are_one_message() -> None:
    """A message that is told again with more in it makes no second call."""
    first, again = claude_use("c1"), claude_use("c1")
    again["message"]["content"].append({"type": "text", "text": "and"})
    assert True is only(claude(first, again, claude_answer("c1"))).ok


def test_the_same_id_in_another_message_is_another_call() -> None:
    run = claude(
        claude_use("c1"), claude_answer("c1", "one"), claude_use("c1", message="m2"), claude_answer("c1", "two")
    )
    assert ["one", "two"] == [call.result for call in run.calls or ()]


def test_a_call_of_a_sub_agent_keeps_its_parent() -> None:
    run = claude(
        claude_use("c1", "Task"),
        claude_use("c2", "delete", "m2", parent="c1"),
        claude_answer("c2"),
        claude_answer("c1"),
    )
    assert [("Task", None), ("delete", "c1")] == [(call.tool, call.parent) for call in run.calls or ()]


def test_what_a_sub_agent_says_is_not_the_answer() -> None:
    said = claude_text("I am the sub-agent.") | {"parent_tool_use_id": "c1"}
    assert ANSWER == claude(claude_text(ANSWER), said, result="").final_text


def test_a_refused_call_was_attempted_and_not_executed() -> None:
    denial = {"tool_name": "archive", "tool_use_id": "c1", "tool_input": ASKED}
    answered = claude_answer("c1", "permission denied", is_error=True)
    for events in ([claude_use("c1"), answered], [claude_use("c1")], [claude_text("no")]):
        call = only(claude(*events, permission_denials=[denial]))
        assert ("archive", ASKED, False, False) == (call.tool, call.args, call.ok, call.executed)


def test_a_refused_call_is_known_where_calls_are_not() -> None:
    denial = {"tool_name": "delete", "tool_use_id": "c1", "tool_input": ASKED}
    run = read_whole(CLAUDE_RESULT | {"permission_denials": [denial]})
    assert run.calls is None
    assert (NeutralCall("delete", ASKED, ok=False, executed=False),) == run.denied


def test_an_empty_result_is_filled_from_the_stream() -> None:
    assert ANSWER == read(*CLAUDE[:-1], CLAUDE_RESULT | {"result": ""}).final_text


def test_text_before_the_last_call_is_not_the_answer() -> None:
    run = claude(claude_text("Let me see.", "m0"), claude_use("c1"), claude_answer("c1"), result="")
    assert ("", True) == (run.final_text, run.valid)


def test_a_tool_of_the_provider_is_a_call_too() -> None:
    use = {"type": "server_tool_use", "id": "w1", "name": "web_search", "input": {"query": "x"}}
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    found = {"type": "web_search_tool_result", "tool_use_id": "w1", "content": failed}
    call = only(claude({"type": "assistant", "message": {"id": "m1", "content": [use, found]}}))
    assert ("web_search", False, failed) == (call.tool, call.ok, call.result)


def test_an_array_of_events_is_a_stream() -> None:
    """`--output-format json --verbose` prints them all in one array."""
    assert read(*CLAUDE) == read_whole(CLAUDE)


def test_content_that_is_not_text_is_kept_as_it_is() -> None:
    image = [{"type": "text", "text": "see"}, {"type": "image", "source": {}}]
    assert image == only(claude(claude_use("c1"), claude_answer("c1", image))).result
    two = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert "a\nb" == only(claude(claude_use("c1"), claude_answer("c1", two))).result
    assert "" == only(claude(claude_use("c1"), claude_answer("c1", []))).result
    assert only(claude(claude_use("c1"), claude_answer("c1", None))).result is None


def test_a_result_of_a_call_that_is_not_there_is_a_torn_stream() -> None:
    run = claude(claude_answer("c7"))
    assert "'c7'" in (run.reason or "")
    assert not run.valid


def test_a_call_without_a_name_cannot_be_judged() -> None:
    assert "without a name" in (claude(claude_use("c1", "")).reason or "")


# Codex


@pytest.mark.parametrize(
    ("item", "ok", "executed", "result"),
    [
        ({"result": CODEX_OK}, True, True, "ok"),
        ({"result": {"content": [], "structured_content": {"n": 1}}}, True, True, {"n": 1}),
        ({"result": {"content": [], "structured_content": None}}, True, True, ""),
        ({"status": "failed", "error": {"message": "no"}}, False, True, "no"),
        ({"status": "in_progress"}, None, None, None),
        ({"status": "declined"}, False, False, None),
    ],
)
def test_how_an_item_of_codex_came_out(
    item: dict[str, Any], ok: bool | None, executed: bool | None, result: Any
) -> None:
    call = only(read(*CODEX[:2], codex_item("i1", **item), *CODEX[5:]))
    assert (ok, executed, result) == (call.ok, call.executed, call.result)


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False), (None, True)])
def test_a_command_that_exits_with_a_number_failed(code: int | None, ok: bool) -> None:
    item = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "x", "exit_code": code}
    done = {"type": "item.completed", "item": item | {"status": "completed"}}
    call = only(read(*CODEX[:2], done, *CODEX[5:]))
    assert ("command_execution", {"command": "ls"}, ok, "x") == (call.tool, call.args, call.ok, call.result)


def test_null_arguments_of_codex_are_none_needed() -> None:
    assert {} == only(read(*CODEX[:2], codex_item("i1", arguments=None), *CODEX[5:])).args


def test_a_started_sub_agent_leaves_calls_unseen() -> None:
    item = {"id": "i1", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "archive", "status": "completed"}
    run = read(*CODEX[:2], {"type": "item.completed", "item": item}, *CODEX[5:])
    assert "spawn_agent" == only(run).tool
    assert "sub-agent" in (run.unseen or "")


# Gemini


def test_more_calls_counted_than_printed_leaves_calls_unseen() -> None:
    run = read(*GEMINI[:-1], GEMINI_END | {"stats": GEMINI_STATS | {"tool_calls": 5}})
    assert "5 tool calls were counted and 2 printed: sub-agents' calls are not" == run.unseen
    assert read(*GEMINI).unseen is None


def test_counts_are_known_where_calls_are_not() -> None:
    run = read_whole(GEMINI_JSON)
    assert (None, {"archive": 2}) == (run.calls, run.tool_counts)
    silent = {key: value for key, value in GEMINI_JSON.items() if key != "stats"}
    assert (None, None, None) == (read_whole(silent).calls, read_whole(silent).tool_counts, read_whole(silent).tokens)


def test_tokens_of_several_models_are_added_up_only_when_all_are_known() -> None:
    one, other = {"input": 5, "candidates": 7, "cached": 1}, {"input": 6, "candidates": 8}
    stats = {"models": {"a": {"tokens": one}, "b": {"tokens": other}}, "tools": GEMINI_JSON["stats"]["tools"]}
    tokens = read_whole(GEMINI_JSON | {"stats": stats}).tokens
    assert {"input": 11, "output": 15} == (tokens.to_json() if tokens else None)


# mini-swe-agent


def mini(*messages: dict[str, Any]) -> NeutralRun:
    return read_whole(MINI | {"messages": list(messages)})


def test_submitting_is_a_command_that_ran_though_nothing_answers_it() -> None:
    submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat p"
    asked = {"role": "assistant", "content": "", "extra": {"actions": [{"command": "ls"}, {"command": submit}]}}
    run = mini(asked, {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}})
    assert [(None, None), (True, True)] == [(call.ok, call.executed) for call in run.calls or ()]


def test_a_submission_that_is_said_not_to_have_run_ended_the_run_and_so_ran() -> None:
    submit = {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "tool_call_id": "c1"}
    asked = {"role": "assistant", "content": "", "extra": {"actions": [submit]}}
    cut = {"role": "tool", "tool_call_id": "c1", "content": "", "extra": {"exception_info": "action was not executed"}}
    submitted = {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}
    assert [True, False] == [only(mini(asked, cut, end)).ok for end in (submitted, {"role": "user", "content": ""})]


def test_a_call_that_is_no_command_was_asked_for_and_not_run() -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [chat_call("x", "{bad")], "extra": {"actions": []}}
    call = only(mini(asked, {"role": "user", "content": "format error", "extra": {}}))
    assert ("archive", None, "{bad", None) == (call.tool, call.args, call.raw_args, call.executed)


def test_a_command_that_timed_out_failed() -> None:
    asked = {"role": "assistant", "content": "", "extra": {"actions": [{"command": "sleep 99"}]}}
    out = {"role": "user", "content": "", "extra": {"raw_output": "", "returncode": -1, "exception_info": "timeout"}}
    assert False is only(mini(asked, out)).ok


def test_a_trajectory_without_recorded_actions_says_nothing_of_calls() -> None:
    run = mini({"role": "assistant", "content": "```bash\nls\n```"}, {"role": "user", "content": "Observation: x"})
    assert (None, True) == (run.calls, run.valid)


# OpenHands


def openhands(*events: dict[str, Any]) -> NeutralRun:
    return read(*events, OPENHANDS_FINISH)


def test_a_null_action_was_asked_for_and_never_executed() -> None:
    error = {"kind": "AgentErrorEvent", "source": "agent", "tool_name": "archive", "tool_call_id": "h1", "error": "bad"}
    call = only(openhands(openhands_action("h1", action=None), error))
    assert (False, False, "bad") == (call.ok, call.executed, call.result)
    assert None is only(openhands(openhands_action("h1"), error)).executed


def test_a_rejected_action_was_never_executed() -> None:
    no = {"kind": "UserRejectObservation", "source": "user", "tool_name": "archive", "tool_call_id": "h1"}
    call = only(openhands(openhands_action("h1"), no | {"rejection_reason": "hook"}))
    assert (False, False, "hook") == (call.ok, call.executed, call.result)


def test_thinking_and_finishing_are_no_tool_calls() -> None:
    think = openhands_action("h0", "think"), openhands_answer("h0", "noted") | {"tool_name": "think"}
    assert () == openhands(*think).calls


@pytest.mark.parametrize(("code", "ok"), [(0, True), (2, False), (-1, None)])
def test_a_command_of_openhands_fails_by_its_exit_code(code: int, ok: bool | None) -> None:
    observation = {"kind": "TerminalObservation", "content": [], "is_error": False, "exit_code": code}
    answer = openhands_answer("h1", "") | {"observation": observation}
    assert ok is only(openhands(openhands_action("h1"), answer)).ok


def test_events_printed_over_several_lines_behind_a_marker_are_read() -> None:
    from crucible.transcript.readers import read_transcript

    events = [openhands_action("h1"), openhands_answer("h1", "ok"), OPENHANDS_FINISH]
    printed = "".join(f"--JSON Event--\n{json.dumps(event, indent=2, sort_keys=True)}\n" for event in events)
    run = read_transcript(f"Initializing agent...\n{printed}Goodbye!\n".encode())
    assert (True, 5) == (run.valid, run.skipped_lines)
    assert only(run) == only(openhands(*events[:-1]))


def test_the_older_pairs_of_action_and_observation_are_read() -> None:
    events: list[dict[str, Any]] = [
        {"type": "action", "action": "message", "source": "user", "args": {"content": "do it"}},
        {"type": "action", "action": "write", "path": "app.py"},
        {"type": "observation", "content": "written"},
        {"type": "action", "action": "run", "id": 4, "args": {"command": "false"}},
        {"type": "observation", "observation": "run", "cause": 4, "content": "", "extras": {"exit_code": 1}},
        {"type": "action", "action": "finish", "args": {"final_thought": ANSWER}},
    ]
    run = read(*events)
    told = [(call.tool, call.args, call.ok) for call in run.calls or ()]
    assert [("write", {"path": "app.py"}, True), ("run", {"command": "false"}, False)] == told
    assert (True, ANSWER, "finish") == (run.valid, run.final_text, run.stop)


def test_a_call_behind_the_agent_client_protocol_is_told_at_each_step() -> None:
    event = {"kind": "ACPToolCallEvent", "source": "agent", "tool_call_id": "p1", "title": "Edit", "is_error": False}
    first = event | {"status": "pending", "raw_input": ASKED, "parent_tool_call_id": "p0"}
    done = event | {"status": "completed", "raw_input": None, "raw_output": "ok"}
    assert NeutralCall("Edit", ASKED, True, "ok", "p0") == only(openhands(first, done))


# OpenAI


@pytest.mark.parametrize(
    ("sent", "args", "raw"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ("{}", {}, None),
        ("", {}, None),
        ("null", None, "null"),
        ("[1]", None, "[1]"),
        ("{bad", None, "{bad"),
        ('{"a": 1} {"a": 2}', None, '{"a": 1} {"a": 2}'),
        ('{"a": NaN}', {"a": "NaN"}, None),
        ('{"a": 1e999}', {"a": "1e999"}, None),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}, None),
        ('{"a": "\\ud83d\\ude00\\\\ud83d"}', {"a": "\U0001f600\\ud83d"}, None),
    ],
)
def test_arguments_are_read_as_json_or_kept_as_sent(sent: str, args: Any, raw: str | None) -> None:
    asked = {"role": "assistant", "tool_calls": [chat_call("o1", sent)]}
    call = only(chat(asked, {"role": "tool", "tool_call_id": "o1", "content": "ok"}))
    assert (args, raw) == (call.args, call.raw_args)


def test_arguments_that_are_not_there_are_unknown() -> None:
    call = chat_call("o1")
    del call["function"]["arguments"]
    asked = {"role": "assistant", "tool_calls": [call]}
    assert UNKNOWN is only(chat(asked, {"role": "tool", "tool_call_id": "o1", "content": "ok"})).args


def test_ids_that_start_anew_in_every_turn_are_paired_in_order() -> None:
    turns = [
        message
        for word in ("one", "two", "three")
        for message in (
            {"role": "assistant", "tool_calls": [chat_call("call_0")]},
            {"role": "tool", "tool_call_id": "call_0", "content": word},
        )
    ]
    assert ["one", "two", "three"] == [call.result for call in chat(*turns).calls or ()]


def test_the_old_single_function_call_is_read() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "archive", "arguments": "{}"}}
    call = only(chat(asked, {"role": "function", "name": "archive", "content": "ok"}))
    assert ("archive", {}, "ok") == (call.tool, call.args, call.result)


def test_a_free_form_call_has_no_arguments_object() -> None:
    custom = {"id": "o1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    call = only(
        chat({"role": "assistant", "tool_calls": [custom]}, {"role": "tool", "tool_call_id": "o1", "content": ""})
    )
    assert ("sql", None, "select 1", "") == (call.tool, call.args, call.raw_args, call.result)


def test_calls_hidden_in_content_are_not_passed_over() -> None:
    hidden = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "delete", "input": {}}]}
    assert not chat(hidden).valid


def test_a_refusal_is_the_answer() -> None:
    assert "No." == read_whole([CHAT[0], {"role": "assistant", "content": None, "refusal": "No."}]).final_text


def test_tools_of_the_provider_in_a_response_are_calls() -> None:
    mcp = {
        "type": "mcp_call",
        "id": "m1",
        "server_label": "board",
        "name": "archive",
        "arguments": "{}",
        "output": "ok",
    }
    search = {"type": "web_search_call", "id": "w1", "status": "failed", "action": {"query": "x"}}
    run = read_whole(RESPONSES | {"output": [mcp, search, RESPONSES["output"][-1]]})
    told = [(call.tool, call.args, call.ok, call.result) for call in run.calls or ()]
    assert [("board.archive", {}, True, "ok"), ("web_search", {"action": {"query": "x"}}, False, None)] == told


def test_a_list_of_items_is_a_response() -> None:
    items = [{"role": "user", "content": "Tidy up."}, *RESPONSES["output"]]
    assert "ok" == only(read_whole(items)).result


# OpenTelemetry


def test_spans_count_in_order_of_their_start() -> None:
    late, early = tool_span("x", "a", 50, "second"), tool_span("y", "a", 20, "first")
    run = read_whole(export(late, agent_span(), early))
    assert ["first", "second"] == [call.tool for call in run.calls or ()]


def test_tools_on_offer_are_no_calls() -> None:
    offered = {"gen_ai.tool.definitions": json.dumps([{"name": "delete"}])}
    run = read_whole(export(agent_span(), chat_span("s", "a", 9, reply({"type": "text", "content": "x"}), **offered)))
    assert () == run.calls


def test_what_was_not_recorded_is_unknown() -> None:
    """Neither calls nor answer nor arguments are taken for empty."""
    bare = read_whole(export(agent_span(), chat_span("s", "a", 9)))
    assert (None, UNKNOWN, True) == (bare.calls, bare.final_text, bare.valid)
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "archive"}
    tool = tool_span("x", "a", 9)
    tool["attributes"] = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    call = only(read_whole(export(agent_span(), tool)))
    assert (UNKNOWN, None, True) == (call.args, call.result, call.ok)


def test_calls_that_only_the_replies_tell_of_are_calls() -> None:
    """Their results are in the next request, which repeats the whole conversation."""
    asked = reply({"type": "tool_call", "id": "k1", "name": "archive", "arguments": ASKED}, finish="tool_call")
    told = json.dumps([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "k1", "response": "ok"}]}])
    last = chat_span("s2", "a", 20, reply({"type": "text", "content": ANSWER}), **{"gen_ai.input.messages": told})
    assert NeutralCall("archive", ASKED, True, "ok") == only(
        read_whole(export(agent_span(), chat_span("s1", "a", 9, asked), last))
    )


def test_a_call_told_in_a_reply_and_by_a_span_is_one_call() -> None:
    asked = reply({"type": "tool_call", "id": "k1", "name": "archive", "arguments": ASKED}, finish="tool_call")
    spans = [agent_span(), chat_span("s", "a", 9, asked)]
    assert True is only(read_whole(export(*spans, tool_span("x", "a", 20)))).ok
    assert True is only(read_whole(export(*spans, tool_span("x", "a", 20, **{"gen_ai.tool.call.id": "k1"})))).ok


def test_a_call_that_never_came_to_a_span_was_attempted() -> None:
    part = {"type": "tool_call", "name": "archive", "arguments": ASKED}
    run = read_whole(export(agent_span(), chat_span("s", "a", 9, reply(part, part)), tool_span("x", "a", 20)))
    assert [(None, None), (True, True)] == [(call.ok, call.executed) for call in run.calls or ()]


def test_the_span_of_a_tool_server_below_its_call_is_the_same_call() -> None:
    run = read_whole(export(agent_span(), tool_span("x", "a", 9), tool_span("y", "x", 10)))
    assert "archive" == only(run).tool


def test_calls_below_a_nested_agent_are_a_sub_agents() -> None:
    task = tool_span("x", "a", 9, "task", **{"gen_ai.tool.call.id": "k1"})
    inner = agent_span("b", "x", 10), tool_span("y", "b", 11, "task"), tool_span("z", "b", 12, "delete")
    run = read_whole(export(agent_span(), task, *inner))
    assert [("task", None), ("task", "k1"), ("delete", "k1")] == [(call.tool, call.parent) for call in run.calls or ()]
    direct = agent_span("c", "a", 10), tool_span("w", "c", 11)
    assert "c" == only(read_whole(export(agent_span(), *direct))).parent


def test_a_token_count_that_one_reply_lacks_is_not_known() -> None:
    blind = chat_span("s2", "a", 20, reply({"type": "text", "content": "x"}))
    blind["attributes"] = [pair for pair in blind["attributes"] if "output_tokens" not in pair["key"]]
    tokens = read_whole(export(agent_span(), chat_span("s1", "a", 9, reply()), blind)).tokens
    assert {"input": 100} == (tokens.to_json() if tokens else None)


# Names


def test_an_entry_may_be_an_object() -> None:
    told = [{"name": "archive", "args": ASKED, "result": "ok"}, {"name": "delete", "args": {}, "is_error": True}]
    run = read_whole(NAMES | {"tools": told})
    assert (NeutralCall("archive", ASKED, True, "ok"), NeutralCall("delete", {}, False)) == run.calls


def test_an_answer_that_is_not_printed_is_unknown_and_no_tools_are_none_called() -> None:
    run = read_whole({"tools": []})
    assert ((), UNKNOWN, True) == (run.calls, run.final_text, run.valid)


def test_an_entry_that_is_no_name_cannot_be_judged() -> None:
    assert not read_whole(NAMES | {"tools": ["archive", 7]}).valid
