"""Wire: our messages as provider dicts and calls back, pure."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.llm.types import Request
from crucible.llm.wire import read_text, read_tool_calls, takes_cache_marks, wire_messages, wire_schema, wire_tools
from crucible.transcript.messages import Message, ToolCall, ToolSpec

TALK = (
    Message("system", "Be brief."),
    Message("user", "Go."),
    Message("assistant", "", (ToolCall("a", "bash", '{"command": "ls"}'),)),
    Message("tool", "one.py", tool_call_id="a"),
)
TOOLS = (ToolSpec("bash", "Runs.", {"type": "object"}), ToolSpec("read_file", "Reads.", {"type": "object"}))


def call(call_id: str | None, arguments: str | None = "{}") -> Any:
    return SimpleNamespace(id=call_id, function=SimpleNamespace(name="bash", arguments=arguments))


def marked(wired: list[dict[str, Any]]) -> list[int]:
    return [index for index, one in enumerate(wired) if "cache_control" in one]


def test_a_conversation_on_the_wire() -> None:
    """Roles, texts, calls and the id a tool message answers are sent, and nothing else."""
    assert wire_messages(TALK) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
            ],
        },
        {"role": "tool", "content": "one.py", "tool_call_id": "a"},
    ]


def test_cache_marks_are_on_system_last_tool_and_last_message() -> None:
    """Three marks, and none unless asked for."""
    assert marked(wire_messages(TALK, cache=True)) == [0, 3]
    assert marked(wire_tools(TOOLS, cache=True)) == [1]
    assert marked(wire_messages(TALK) + wire_tools(TOOLS)) == []
    assert wire_tools((), cache=True) == wire_messages((), cache=True) == []


def test_an_empty_message_gets_no_cache_mark() -> None:
    """Providers refuse a mark on an empty text; the message before it is marked instead."""
    silent = (Message("system", ""), Message("user", "Go."), Message("tool", "", tool_call_id="a"))
    assert marked(wire_messages(silent, cache=True)) == [1]


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("anthropic/claude-sonnet-4-5", True),
        ("claude-sonnet-4-5", True),
        ("bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        ("openrouter/anthropic/claude-sonnet-4.5", True),
        ("openai/gpt-5", False),
        ("openai/claude-lookalike", False),
        ("gemini/gemini-2.5-pro", False),
    ],
)
def test_cache_marks_go_only_where_they_are_taken(model: str, takes: bool) -> None:
    """Claude, where its host passes marks on."""
    assert takes_cache_marks(model) is takes


def test_what_is_sent_shares_nothing_with_the_request() -> None:
    """A library that rewrites schemas in place cannot change the next request."""
    wire_tools(TOOLS)[0]["function"]["parameters"]["type"] = "changed"
    assert TOOLS[0].parameters == {"type": "object"}


@given(st.text(st.characters(), max_size=40))
def test_past_arguments_are_always_a_json_object_in_utf8(raw: str) -> None:
    """Whatever a model once wrote as arguments can be sent back to any provider."""
    [wired] = wire_messages([Message("assistant", raw, (ToolCall("a", "bash", raw),))])
    arguments = wired["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(arguments), dict)
    (arguments + wired["content"]).encode("utf-8")


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "call00001", "call00002"]), st.text(max_size=3))))
def test_call_ids_are_unique_and_good_ones_are_kept(ids: list[str | None]) -> None:
    """No two calls of a reply and the conversation share an id; the first use of an id keeps it."""
    calls = read_tool_calls([call(one) for one in ids], Request(TALK))
    ours = [one.id for one in calls]
    assert len({*ours, "a"}) == len(ids) + 1
    assert all(ours)
    first = next((index for index, one in enumerate(ids) if one == "b"), None)
    assert first is None or ours[first] == "b"


def test_a_call_of_a_kind_nobody_offered_is_a_call_that_gets_an_answer() -> None:
    """A custom tool's call has text and no function; an id that is no text is replaced."""
    custom = SimpleNamespace(id=7, type="custom", custom=SimpleNamespace(name="apply_patch", input="*** Begin"))
    assert read_tool_calls([custom], Request(())) == (ToolCall("call00001", "apply_patch", "*** Begin"),)
    assert read_tool_calls([SimpleNamespace(id="x")], Request(())) == (ToolCall("x", "", ""),)


def test_absent_arguments_are_an_empty_text() -> None:
    """A call without arguments is a call with none, not an error."""
    assert read_tool_calls([call("x", None)], Request(())) == (ToolCall("x", "bash", ""),)


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("", ""), ("hi", "hi"), ([{"type": "text", "text": "a"}, {"type": "thinking"}, {"text": "b"}], "ab")],
)
def test_content_is_text_whatever_its_shape(content: Any, text: str) -> None:
    """None, a string, or a list of parts."""
    assert read_text(content) == text


def test_a_schema_is_asked_for_strictly_where_every_object_in_it_is_closed() -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    nested = {"anyOf": [closed, closed | {"required": []}]}
    assert [True, False, False] == [
        wire_schema(schema)["json_schema"]["strict"] for schema in (closed, nested, {"type": "object"})
    ]
