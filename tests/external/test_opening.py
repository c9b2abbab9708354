"""The opening of an attempt from its first request: the same parts whatever the dialect, and nothing that changes by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crucible.agents.external.opening import mask, opening_of, system_prompt_of
from crucible.llm.proxy import Asked

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"name": "read", "description": "Read.", "parameters": SCHEMA}
REQUESTS: dict[Any, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "system": [{"type": "text", "text": "Be good.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Do it."}]}],
        "tools": [{"name": "read", "description": "Read.", "input_schema": SCHEMA}],
        "max_tokens": 7,
        "stream": True,
        "metadata": {"user_id": "user_0123456789abcdef"},
    },
    "chat": {
        "model": "m",
        "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Do it."}],
        "tools": [{"type": "function", "function": TOOL}],
        "max_tokens": 7,
    },
    "responses": {
        "model": "m",
        "instructions": "Be good.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]}],
        "tools": [{"type": "function", **TOOL}],
        "max_tokens": 7,
        "prompt_cache_key": "x",
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be good."}]},
        "contents": [{"role": "user", "parts": [{"text": "Do it."}]}],
        "tools": [{"functionDeclarations": [{**TOOL, "parametersJsonSchema": SCHEMA}]}],
        "max_tokens": 7,
    },
}


@pytest.mark.parametrize("dialect", list(REQUESTS))
def test_every_dialect_has_the_same_opening(dialect: Any) -> None:
    asked = Asked(1, dialect, "m", REQUESTS[dialect])
    assert {
        "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Do it."}],
        "tools": [TOOL],
        "model": "m",
        "parameters": {"max_tokens": 7},
        "environment": {"agent": "x 1"},
    } == opening_of(asked, {"agent": "x 1"})
    assert "Be good." == system_prompt_of(asked)


def test_a_server_s_tools_in_a_namespace_have_their_full_names() -> None:
    tools = [{"type": "namespace", "name": "mcp__graph", "tools": [{"name": "callers"}]}, {"type": "web_search"}]
    opening = opening_of(Asked(1, "responses", "m", {"tools": tools}), {})
    assert ["mcp__graph__callers", "web_search"] == [tool["name"] for tool in opening["tools"]]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Today is 2026-11-30.", "Today is <date>."),
        ("at 2026-11-30T12:01:02.123Z, on", "at <date>, on"),
        ("Today is Monday, November 30, 2026.", "Today is <date>."),
        ("30 Nov 2026, 13:45:20", "<date>, <date>"),
        ("Mon Nov 30 13:45:20 UTC 2026", "<date>"),
        ("date 11/30/2026", "date <date>"),
        ("id 5b1e0c1e-0000-4000-8000-000000000001", "id <id>"),
        ("session_01ABCdefGHI user_0f3a9b2c11", "session_<id> user_<id>"),
        ("see /tmp/claude-1000/x/y.txt, then", "see <temporary>, then"),
        ("(/private/var/folders/ab/c)", "(<temporary>)"),
        ("http://127.0.0.1:43567/v1", "http://127.0.0.1:<port>/v1"),
        ("commit 6bdd5350c1e2a3b4c5d6", "commit <id>"),
    ],
)
def test_what_changes_by_itself_is_masked(text: str, masked: str) -> None:
    assert masked == mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "/workspace/shelf/pages.py",
        "Python 3.11.7 on Linux 6.18",
        "tools run_shell_command, call_graph_of, user_preferences and session_manager",
        "ratio 16:9, version 2.1.197",
        "deadbeefdeadbeef",
        "12345678901234567890",
        "may 5 people",
    ],
)
def test_what_says_something_about_an_arm_is_left(text: str) -> None:
    assert text == mask(text)


def test_masking_reaches_every_text_and_leaves_the_rest() -> None:
    value = {"a": ["2026-11-30", 5, None, True], "b": {"c": "x"}}
    assert {"a": ["<date>", 5, None, True], "b": {"c": "x"}} == mask(value)
    assert json.dumps(value) == json.dumps({"a": ["2026-11-30", 5, None, True], "b": {"c": "x"}})
