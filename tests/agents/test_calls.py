"""A call that cannot be understood becomes a result the model can act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.builtin import builtin_tools
from crucible.agents.calls import read_arguments
from crucible.transcript.messages import ToolCall, ToolSpec

TREE = {"type": "object", "properties": {"tree": {"allOf": [{"allOf": [{"allOf": [{"$ref": "#"}]}]}]}}}
FREE = {"type": "object", "properties": {"n": {"multipleOf": 0.5}}}
SERVERS = (ToolSpec("server__grow", "", TREE), ToolSpec("server__free", "", FREE))
TOOLS = {tool.name: tool for tool in (*builtin_tools(), *SERVERS)}


def read(name: str, raw: str) -> object:
    return read_arguments(ToolCall("1", name, raw), TOOLS)


def test_good_arguments_are_read() -> None:
    assert {"path": "a", "limit": 3} == read("read_file", '{"path": "a", "limit": 3}')
    assert {} == read("list_files", "")


@pytest.mark.parametrize(
    ("name", "raw", "gist"),
    [
        ("read_fil", "{}", "did you mean 'read_file'?"),
        ("read_file", '{"path": ', "not JSON"),
        ("read_file", "[1]", "must be a JSON object, not list"),
        ("read_file", "null", "not NoneType"),
        ("read_file", "{}", "'path' is a required property"),
        ("read_file", '{"path": 3}', "path: 3 is not of type 'string'"),
        ("read_file", '{"path": "a", "limit": true}', "limit: True is not of type 'integer'"),
        ("bash", '{"command": "ls", "cwd": "/"}', "'cwd' was unexpected"),
        ("bash", "[" * 100_000, "nested too deeply"),
        ("bash", '{"command": ' + "[" * 101 + "]" * 101 + "}", "nested too deeply"),
        ("server__grow", '{"tree": ' * 99 + "{}" + "}" * 99, "nested too deeply"),
        ("server__free", '{"a": ' * 250 + "1" + "}" * 250, "nested too deeply"),
        ("server__free", '{"n": 1' + "0" * 400 + "}", "too large"),
    ],
)
def test_what_is_wrong_is_said(name: str, raw: str, gist: str) -> None:
    said = read(name, raw)
    assert isinstance(said, str)
    assert gist in said


@given(st.text(), st.sampled_from([*TOOLS, "nope", ""]))
def test_any_text_is_arguments_or_a_reason(raw: str, name: str) -> None:
    assert isinstance(read(name, raw), dict | str)
