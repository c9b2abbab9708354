"""Readers of replies: wild input, replies of real providers, counts and what they must not be taken for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.llm.dialects import Dialect
from crucible.llm.proxy.reader import ReplyReader
from crucible.llm.proxy.readers import reader
from crucible.llm.proxy.stream import Event, Events
from crucible.transcript.messages import ToolCall, Usage
from tests.llm.serving import DIALECTS

WORDS = [
    "type",
    "choices",
    "delta",
    "message",
    "content",
    "text",
    "tool_calls",
    "function",
    "arguments",
    "index",
    "usage",
    "error",
    "id",
    "name",
    "input",
    "output",
    "item",
    "response",
    "candidates",
    "parts",
    "functionCall",
    "usageMetadata",
    "content_block",
    "input_tokens",
    "output_tokens",
    "prompt_tokens",
    "completion_tokens",
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "stop_reason",
    "finish_reason",
    "status",
    "service_tier",
    "server_tool_use",
    "cache_creation",
    "prompt_tokens_details",
    "incomplete_details",
]
TYPES = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "error",
    "text",
    "tool_use",
    "text_delta",
    "input_json_delta",
    "response.output_item.done",
    "response.completed",
    "response.output_text.delta",
    "function_call",
    "message",
]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(TYPES)
WILD = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=30,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), WILD, max_size=6)


def read(dialect: Dialect, *events: dict[str, Any]) -> ReplyReader:
    found = reader(dialect)
    for data in events:
        found.event(Event(b"", data))
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=40)
@given(bodies=st.lists(OBJECTS, max_size=4))
def test_nothing_a_provider_sends_makes_a_reader_fail(dialect: Dialect, bodies: list[dict[str, Any]]) -> None:
    """Any JSON, as body or events, gives texts that can be stored and counts that are counts or None."""
    found = read(dialect, *bodies)
    for body in bodies:
        found.whole(body)
    usage = found.usage()
    text = json.dumps(
        [found.text, usage.raw, [[call.id, call.name, call.raw_arguments] for call in found.tool_calls()]]
    )
    assert "NaN" not in text.replace('"NaN"', "")
    for count in (usage.input_uncached, usage.input_cached, usage.cache_write, usage.output, usage.reasoning):
        assert count is None or count >= 0


@given(
    stream=st.lists(st.sampled_from([b"data: {}", b"\n", b"\r\n", b"\n\n", b"\r", b": c", b"data", b"x"])),
    data=st.data(),
)
def test_however_a_stream_is_cut_up_its_bytes_come_out_in_order(stream: list[bytes], data: st.DataObject) -> None:
    """Cutting changes neither the bytes nor, for the same line ends, the events."""
    whole = b"".join(stream)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    events = Events()
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    out = [event.raw for part in parts for event in events.feed(part)]
    assert whole == b"".join([*out, events.rest().raw])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_of_several_lines_is_one_object(end: bytes) -> None:
    """Data lines are joined; names, comments and ids are passed over; every kind of line end is one."""
    raw = end.join([b": hello", b"event: x", b"id: 1", b'data: {"a":', b"data: 1}", b"", b""])
    [event] = Events().feed(raw)
    assert (raw, {"a": 1}, False) == (event.raw, event.data, event.done)


def test_what_is_no_object_has_no_data() -> None:
    """A list, half an object, nothing, a nest too deep: all are passed and none is read."""
    for text in ("[1]", '{"a":', "", "[" * 100_000, '{"a": 1' + "0" * 5000 + "}", "\udcff"):
        [event] = Events().feed(b"data: " + text.encode("utf-8", "surrogateescape") + b"\n\n")
        assert event.data is None


def test_anthropics_count_at_the_end_completes_that_at_the_start() -> None:
    """The last word on each number holds; thinking is not text; a search of the provider's is no call of ours."""
    found = read(
        "anthropic",
        {
            "type": "message_start",
            "message": {
                "model": "claude-x-20250929",
                "usage": {
                    "input_tokens": 25,
                    "cache_read_input_tokens": 1000,
                    "cache_creation_input_tokens": 30,
                    "output_tokens": 2,
                },
            },
        },
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hmm."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "ls"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": 1}"}},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "server_tool_use", "id": "s"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 89}},
        {"type": "message_stop"},
    )
    assert ("Hi.", "tool_use", "claude-x-20250929", True) == (
        found.text,
        found.finish_reason,
        found.model,
        found.finished,
    )
    assert (ToolCall("t", "ls", '{"a": 1}'),) == found.tool_calls()
    assert Usage(25, 1000, 30, 89) == found.usage()


def test_chat_calls_come_together_from_pieces_by_index() -> None:
    """Two calls, interleaved; a second choice is not read; an id comes once."""

    def delta(index: int, **function: str) -> dict[str, Any]:
        return {"index": index, "id": f"c{index}" if "name" in function else None, "function": function}

    found = read(
        "chat",
        {"choices": [{"index": 0, "delta": {"tool_calls": [delta(0, name="a", arguments="{"), delta(1, name="b")]}}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [delta(1, arguments="[]"), delta(0, arguments="}")]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    )
    assert (ToolCall("c0", "a", "{}"), ToolCall("c1", "b", "[]")) == found.tool_calls()
    assert "" == found.text


def test_codex_items_are_calls_too() -> None:
    """A call with free text and a shell call; reasoning is not text; the final response without output keeps them."""
    found = read(
        "responses",
        {"type": "response.output_item.done", "item": {"type": "reasoning", "id": "r", "summary": []}},
        {"type": "response.output_text.delta", "delta": "Patching."},
        {
            "type": "response.output_item.done",
            "item": {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin Patch"},
        },
        {
            "type": "response.output_item.done",
            "item": {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"]}},
        },
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "usage": {
                    "input_tokens": 100,
                    "input_tokens_details": {"cached_tokens": 60},
                    "output_tokens": 30,
                    "output_tokens_details": {"reasoning_tokens": 20},
                },
            },
        },
    )
    assert "Patching." == found.text
    assert (
        ToolCall("c1", "apply_patch", "*** Begin Patch"),
        ToolCall("c2", "local_shell", '{"command": ["ls"]}'),
    ) == found.tool_calls()
    assert Usage(40, 60, None, 30, 20) == found.usage()


def test_a_responses_reply_that_failed_or_ran_out_says_so() -> None:
    """`response.failed` is an error, `response.incomplete` a reason."""
    failed = {"status": "failed", "error": {"code": "server_error", "message": "Oops"}}
    assert "Oops" == read("responses", {"type": "response.failed", "response": failed}).error
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    found = read("responses", {"type": "response.incomplete", "response": cut})
    assert ("max_output_tokens", None) == (found.finish_reason, found.error)


def test_gemini_counts_thoughts_as_output_and_tool_results_as_input() -> None:
    """Thoughts stand beside the candidates; the prompt of tools beside the prompt; a thought is not text."""
    found = read(
        "gemini",
        {"candidates": [{"content": {"parts": [{"text": "Hmm", "thought": True}, {"text": "Hi."}]}}]},
        {
            "modelVersion": "gemini-x-001",
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": "ls", "args": {"p": 1}}}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {
                "promptTokenCount": 100,
                "toolUsePromptTokenCount": 5,
                "cachedContentTokenCount": 40,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 7,
            },
        },
    )
    assert ("Hi.", "gemini-x-001") == (found.text, found.model)
    assert (ToolCall("", "ls", '{"p": 1}'),) == found.tool_calls()
    assert Usage(65, 40, None, 17, 7) == found.usage()


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        ("anthropic", {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
        ("chat", {"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
        ("gemini", {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}),
    ],
)
def test_a_count_that_may_still_grow_is_not_the_output(dialect: Dialect, event: dict[str, Any]) -> None:
    """Until the reply has ended, what is said of its output is a first guess."""
    assert Usage(9) == read(dialect, event).usage()


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", {"usage": {"server_tool_use": {"web_search_requests": 1}}}),
        ("anthropic", {"usage": {"cache_creation": {"ephemeral_1h_input_tokens": 5}}}),
        ("anthropic", {"usage": {"service_tier": "priority"}}),
        ("anthropic", {"usage": {"service_tier": "standard", "speed": "fast"}}),
        ("chat", {"service_tier": "flex"}),
        ("responses", {"service_tier": "priority"}),
        ("responses", {"output": [{"type": "web_search_call", "id": "w"}]}),
        ("gemini", {"candidates": [{"groundingMetadata": {}}]}),
    ],
)
def test_what_the_price_list_does_not_cover_has_no_known_cost(dialect: Dialect, body: dict[str, Any]) -> None:
    """Searches, an hour's cache, another service tier."""
    found = reader(dialect)
    found.whole(body)
    assert found.unpriced


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", {"usage": {"server_tool_use": {"web_search_requests": 0}, "service_tier": "standard"}}),
        ("anthropic", {"usage": {"cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 5}}}),
        ("chat", {"service_tier": "default"}),
        ("chat", {"service_tier": None}),
        ("responses", {"output": [{"type": "reasoning", "id": "w"}], "service_tier": "auto"}),
        ("gemini", {"candidates": [{}]}),
    ],
)
def test_usual_replies_have_a_price(dialect: Dialect, body: dict[str, Any]) -> None:
    """None of these costs more than its tokens."""
    found = reader(dialect)
    found.whole(body)
    assert not found.unpriced
