"""A model without native tool calls works with tools by one JSON action per turn, and no reply of it is ever a crash."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from crucible.agents.action_schema import LONGEST, action_schema
from crucible.agents.builtin import builtin_tools
from crucible.agents.calls import read_arguments
from crucible.agents.json_actions import NO_ACTION, JsonActions, as_text_only
from crucible.agents.loop import LoopAgent
from crucible.agents.types import Ending, Task, system_prompt
from crucible.errors import Cause, ProviderError
from crucible.llm.client import LiteLLMModel
from crucible.llm.loopback import Answer, Counts, LoopbackServer, Status, Text
from crucible.llm.retry import RetryPolicy
from crucible.llm.types import Reply, Request
from crucible.scenario.schema import Budget
from crucible.transcript.events import Answered, Event, Replied, Started
from crucible.transcript.messages import Message, ToolCall, ToolSpec, Usage
from crucible.world import make_world
from crucible.world.probe import probe
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Change, WorldSpec

TOOLS = builtin_tools()
BY_NAME = {tool.name: tool for tool in TOOLS}
USAGE = Usage(input_uncached=7, input_cached=2, output=3, cost_usd=0.25)


class Says:
    """A model that replies one text, and keeps what it was asked."""

    name = "local/tiny"

    def __init__(self, text: str, calls: tuple[ToolCall, ...] = ()) -> None:
        self.text, self.calls = text, calls
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(self.text, self.calls, USAGE, "stop", seconds=1.5, waited=0.5)

    def price_known(self) -> bool:
        return True

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:
        return float(input_tokens + output_tokens)

    def estimate_tokens(self, request: Request) -> int:
        return sum(len(message.content) for message in request.messages)


def asked(*messages: Message, tools: Sequence[ToolSpec] = TOOLS) -> Request:
    return Request((Message("system", "Be careful."), Message("user", "Fix it."), *messages), tuple(tools))


def reply_to(text: str, request: Request | None = None) -> Reply:
    return asyncio.run(JsonActions(Says(text)).complete(request or asked()))


# What a reply is read as


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "bash", "arguments": {"command": "ls"}}',
        '```json\n{"tool": "bash", "arguments": {"command": "ls"}}\n```',
        'I look first.\n```\n{"tool":"bash","arguments":{"command":"ls"}}```\n',
        '<think>{"tool": "read_file"} or {"done": ""}?</think>\n{"tool": "bash", "arguments": {"command": "ls"}}',
        'A set {1, 2} and {"a": 1}: {"thought": "?", "tool": "bash", "arguments": {"command": "ls"}, "done": null}',
    ],
)
def test_one_action_is_found_in_fences_and_prose(text: str) -> None:
    (call,) = reply_to(text).tool_calls
    assert ("bash", {"command": "ls"}) == (call.name, json.loads(call.raw_arguments))


def test_what_is_said_beside_an_action_is_the_text() -> None:
    said = reply_to('I look first.\n```json\n{"tool": "list_files", "arguments": {}}\n```\nThen I edit.')
    assert "I look first.\nThen I edit." == said.text


def test_a_text_with_real_line_breaks_in_a_string_is_read() -> None:
    (call,) = reply_to('{"tool": "write_file", "arguments": {"path": "a", "content": "one\ntwo"}}').tool_calls
    assert {"path": "a", "content": "one\ntwo"} == json.loads(call.raw_arguments)


@pytest.mark.parametrize(("text", "said"), [('{"done": "Fixed."}', "Fixed."), ('{"done": ""}', "")])
def test_done_is_a_reply_without_calls(text: str, said: str) -> None:
    assert (said, ()) == (reply_to(text).text, reply_to(text).tool_calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am done.",
        '{"tool": "bash", "arguments": {"command": "l',
        '{"tool": "bash"} {"tool": "bash"}',
        '{"tool": "bash", "done": "both"}',
        '{"tool": 1}',
        '{"done": 1}',
        '[{"name": "bash"}]',
        '{"tool": "bash", "arguments": {"timeout": NaN}}',
        '{"tool": "bash", "arguments": {"timeout": 1e999}}',
        '{"tool": "bash", "arguments": {"timeout": ' + "9" * 5000 + "}}",
        '{"tool": "bash", "arguments": ' + "[" * 100_000,
        '{"a": ' * 20_000,
        "{" * 100_000,
    ],
)
def test_what_is_no_single_action_is_a_call_that_no_tool_has(text: str) -> None:
    (call,) = reply_to(text).tool_calls
    assert (NO_ACTION, text) == (call.name, call.raw_arguments)
    assert f"There is no tool {NO_ACTION!r}. The tools are: read_file" in str(read_arguments(call, BY_NAME))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"tool": "bsh", "arguments": {}}', "There is no tool 'bsh'; did you mean 'bash'?"),
        ('{"tool": "bash", "arguments": "ls"}', "must be a JSON object, not str"),
        ('{"tool": "bash", "arguments": null}', "'command' is a required property"),
    ],
)
def test_an_action_that_is_wrong_gets_the_same_complaint_as_a_native_call(text: str, complaint: str) -> None:
    (call,) = reply_to(text).tool_calls
    assert complaint in str(read_arguments(call, BY_NAME))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
pieces = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["{", "}", '"tool"', ":", "```json\n", "```", "</think>", '{"done": "x"}', "NaN", "\ud800"]),
    st.tuples(st.sampled_from([*BY_NAME]), json_values).map(
        lambda one: json.dumps({"tool": one[0], "arguments": one[1]})
    ),
)


@given(st.lists(pieces, max_size=6).map("".join))
def test_any_reply_is_one_call_or_a_text_and_its_usage_is_untouched(text: str) -> None:
    reply = reply_to(text)
    assert len(reply.tool_calls) <= 1
    assert (USAGE, "stop", 1.5, 0.5) == (reply.usage, reply.finish_reason, reply.seconds, reply.waited)
    for call in reply.tool_calls:
        assert isinstance(read_arguments(call, BY_NAME), dict | str)
        again = as_text_only(
            asked(Message("assistant", reply.text, reply.tool_calls), Message("tool", "?", (), call.id))
        )
        assert ["system", "user", "assistant", "user"] == [message.role for message in again.messages]


# What is sent


def test_past_calls_are_the_actions_that_made_them_and_results_are_user_messages() -> None:
    call = ToolCall("action1", "bash", '{"command": "ls"}')
    sent = as_text_only(asked(Message("assistant", "Look.", (call,)), Message("tool", "a.py", tool_call_id="action1")))
    assert () == sent.tools
    said = 'Look.\n{"tool": "bash", "arguments": {"command": "ls"}}'
    told = [(message.role, message.content) for message in sent.messages[1:]]
    assert [("user", "Fix it."), ("assistant", said), ("user", "a.py")] == told
    assert {((), None)} == {(message.tool_calls, message.tool_call_id) for message in sent.messages}


def test_a_reply_that_was_no_action_is_shown_as_written_and_answered_with_the_form() -> None:
    call = ToolCall("action1", NO_ACTION, "Sure!")
    sent = as_text_only(asked(Message("assistant", "", (call,)), Message("tool", "There is no tool.", (), "action1")))
    assert "Sure!" == sent.messages[2].content
    assert sent.messages[3].content.startswith("There is no tool.\n\nReply with exactly one JSON object")


def test_the_system_prompt_comes_first_and_tells_the_form_and_every_tool() -> None:
    system = as_text_only(asked()).messages[0].content
    assert system.startswith("Be careful.\n\nReply with exactly one JSON object")
    assert [] == [tool.name for tool in TOOLS if f"- {tool.name}: {tool.description}" not in system]


def test_call_ids_are_never_used_twice() -> None:
    text = '{"tool": "list_files", "arguments": {}}'
    (first,) = reply_to(text).tool_calls
    (second,) = reply_to(text, asked(Message("assistant", "", (first,)), Message("tool", "", (), first.id))).tool_calls
    assert first.id != second.id


def test_a_request_without_tools_and_a_reply_with_native_calls_pass_as_they_are() -> None:
    plain = asked(tools=())
    model = Says("Just text.")
    assert "Just text." == asyncio.run(JsonActions(model).complete(plain)).text
    assert [plain] == model.asked
    native = (ToolCall("x", "bash", "{}"), ToolCall("y", "bash", "{}"))
    assert native == asyncio.run(JsonActions(Says("", native)).complete(asked())).tool_calls


def test_price_and_size_are_the_models_own_for_what_is_really_sent() -> None:
    model = JsonActions(Says(""))
    assert (True, 3.0, "local/tiny in JSON actions") == (model.price_known(), model.cost_of(1, 2), model.name)
    assert model.estimate_tokens(asked()) > 1000


# The schema


def test_the_schema_takes_each_tool_with_its_own_arguments_and_done_and_nothing_else() -> None:
    takes = Draft202012Validator(action_schema(TOOLS)).is_valid
    assert takes({"done": "x"})
    assert takes({"tool": "bash", "arguments": {"command": "ls", "timeout": 3.5}})
    assert not takes({"tool": "bash", "arguments": {"path": "a"}})
    assert not takes({"tool": "nope", "arguments": {}})
    assert not takes({"tool": "bash", "arguments": {"command": "ls"}, "done": "x"})


def test_the_schema_uses_only_words_that_every_server_knows() -> None:
    known = {"anyOf", "type", "enum", "properties", "required", "items", "additionalProperties"}

    def words(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(words, schema))
        if not isinstance(schema, dict):
            return set()
        inner = [words(one) for key, one in schema.items() if key != "properties"]
        return set(schema).union(*inner, *(words(one) for one in schema.get("properties", {}).values()))

    assert set() == words(action_schema(TOOLS)) - known


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"not": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
        {"type": "object"},
        {},
    ],
)
def test_a_tool_whose_schema_those_words_cannot_say_takes_an_object(odd: dict[str, Any]) -> None:
    call, _ = action_schema([ToolSpec("odd", "Odd.", odd)])["anyOf"]
    assert {"type": "object"} == call["properties"]["arguments"]


def test_an_optional_argument_as_python_servers_write_it_is_kept() -> None:
    maybe = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Path"}
    call, _ = action_schema([ToolSpec("t", "T.", {"type": "object", "properties": {"path": maybe}})])["anyOf"]
    assert {"anyOf": [{"type": "string"}, {"type": "null"}]} == call["properties"]["arguments"]["properties"]["path"]


def test_many_tools_are_named_only() -> None:
    many = [ToolSpec(f"{tool.name}_{n}", tool.description, tool.parameters) for n in range(20) for tool in TOOLS]
    schema = action_schema(many)
    assert len(json.dumps(schema)) < LONGEST
    assert Draft202012Validator(schema).is_valid({"tool": "bash_19", "arguments": {"anything": 1}})
    assert not Draft202012Validator(schema).is_valid({"tool": "bash", "arguments": {}})


# Whole attempts, in the real sandbox, with a real client and a real server

COUNTS = Counts(prompt_tokens=50, completion_tokens=5)
BUG = "def last(items):\n    return items[len(items)]\n"


def attempt(script: Sequence[Answer], place: Path, cache: Path, model: str = "openai/tiny") -> tuple[Any, ...]:
    async def work(server: LoopbackServer) -> tuple[Ending, list[Event], Change]:
        (place / "fixture").mkdir()
        (place / "fixture" / "last.py").write_text(BUG)
        spec = WorldSpec(take_snapshot(place / "fixture", cache))
        world = make_world(spec, "overlay" if probe().ok else "copy", place)
        asks = LiteLLMModel(model, api_base=server.base_url, api_key="none", retry=RetryPolicy(attempts=1))
        events: list[Event] = []
        await world.open()
        try:
            budget = Budget(max_turns=10)
            task = Task("Fix last().", system_prompt(None, budget), (), budget)
            ending = await LoopAgent(JsonActions(asks), TOOLS).attempt(task, world, events.append)
            return ending, events, await world.change()
        finally:
            await world.close()

    with LoopbackServer(script) as server:
        return *asyncio.run(work(server)), server.requests


def says(action: dict[str, Any]) -> Text:
    return Text(json.dumps(action), usage=COUNTS)


@pytest.mark.slow
def test_a_model_that_only_writes_text_fixes_a_bug(tmp_path: Path, cache: Path) -> None:
    script = [
        Text('Let me see.\n```json\n{"tool": "read_file", "arguments": {"path": "last.py"}}\n```', usage=COUNTS),
        Text("I will now fix the bug!", usage=COUNTS),
        says({"tool": "edit_file", "arguments": {"path": "last.py", "old": "[len(items)]", "new": "[-1]"}}),
        says({"tool": "bash", "arguments": {"command": "python3 -c 'import last; print(last.last([1, 2]))'"}}),
        says({"done": "It took one past the end."}),
    ]
    ending, events, change, requests = attempt(script, tmp_path, cache)
    assert ("finished", Cause.AGENT, "It took one past the end.") == (ending.what, ending.cause, ending.detail)
    assert [("last.py", BUG.replace("[len(items)]", "[-1]").encode())] == [(f.path, f.after.data) for f in change.files]
    answers = [event for event in events if isinstance(event, Answered)]
    assert [("read_file", True), (NO_ACTION, False), ("edit_file", True), ("bash", True)] == [
        (a.tool, a.ok) for a in answers
    ]
    assert answers[-1].text.startswith("2")
    assert [(50, 5)] * 5 == [(e.input_uncached, e.output) for e in events if isinstance(e, Replied)]
    assert [None] * 5 == [request.get("tools") for request in requests]
    assert ["json_schema"] * 5 == [request["response_format"]["type"] for request in requests]
    assert ["system", *["user", "assistant"] * 4, "user"] == [message["role"] for message in requests[-1]["messages"]]


@pytest.mark.slow
def test_the_opening_says_that_the_model_was_asked_in_actions(tmp_path: Path, cache: Path) -> None:
    _, events, _, _ = attempt([says({"done": ""})], tmp_path, cache)
    (started,) = [event for event in events if isinstance(event, Started)]
    assert started.opening is not None
    assert "openai/tiny in JSON actions" == started.opening["model"]


@pytest.mark.slow
def test_five_replies_in_a_row_that_are_no_action_end_the_attempt(tmp_path: Path, cache: Path) -> None:
    ending, *_ = attempt([Text("Sure!")] * 9, tmp_path, cache)
    assert ("bad_calls", Cause.AGENT) == (ending.what, ending.cause)


@pytest.mark.slow
def test_a_provider_that_takes_no_schema_is_asked_without_one(tmp_path: Path, cache: Path) -> None:
    *_, requests = attempt([says({"done": ""})], tmp_path, cache, model="volcengine/tiny")
    assert "response_format" not in requests[0]


@pytest.mark.slow
def test_a_provider_that_fails_is_a_provider_error(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ProviderError):
        attempt([Status(401)], tmp_path, cache)
