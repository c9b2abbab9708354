"""Tools get names that every provider takes, no two the same, and schemas that say no less than the server's."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from crucible.agents.mcp.naming import LONGEST_DESCRIPTION, LONGEST_NAME, offered, renamed, safe_names
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.schemas import SchemaError, sendable

NAMES = st.text(max_size=90)
STRING = {"type": "string"}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}


# Names


@pytest.mark.parametrize(
    ("server", "name", "seen"),
    [
        ("asd", "callers", "asd__callers"),
        ("code-graph", "who-calls", "code-graph__who-calls"),
        ("a.b", "c/d e", "a_b__c_d_e"),
        ("2nd", "callers", "_2nd__callers"),
        ("-", "x", "_-__x"),
        ("asd", "größe", "asd__gr__e"),
        ("asd", "x" * 80, "asd__" + "x" * 50 + "_2ded573b"),
    ],
)
def test_a_name_is_server_and_tool_made_safe(server: str, name: str, seen: str) -> None:
    (got,) = safe_names([(server, name)], [])
    assert seen[:55] == got[:55]
    assert len(seen) == len(got)


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=12), st.lists(NAMES, max_size=3))
def test_names_are_safe_different_and_the_same_each_time(tools: list[tuple[str, str]], taken: list[str]) -> None:
    names = safe_names(tools, taken)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names)
    assert len(names) == len({*names}) == len({*names} - {*taken})
    assert names == safe_names(tools, taken)
    assert max(map(len, names), default=0) <= LONGEST_NAME


def test_of_two_tools_with_one_safe_name_the_one_that_has_it_by_right_keeps_it() -> None:
    dotted, plain = safe_names([("s", "a.b"), ("s", "a_b")], [])
    assert "s__a_b" == plain
    assert re.fullmatch(r"s__a_b_[0-9a-f]{8}", dotted)


def test_of_two_tools_with_one_safe_name_by_nobodys_right_both_get_a_hash() -> None:
    assert ["s__a_b", "s__a_b"] == [name[:-9] for name in safe_names([("s", "a.b"), ("s", "a b")], [])]


def test_a_name_does_not_depend_on_what_else_is_offered_unless_they_clash() -> None:
    assert safe_names([("s", "a.b")], []) == safe_names([("s", "a.b"), ("s", "c")], [])[:1]


def test_the_name_of_a_builtin_tool_is_not_taken_from_it() -> None:
    (name,) = safe_names([("s", "bash")], ["s__bash"])
    assert name.startswith("s__bash_")


def test_two_servers_with_one_tool_name_offer_both() -> None:
    plans = [ServerPlan("one", "one", ("x",)), ServerPlan("two", "two", ("x",))]
    assert ["one__read", "two__read"] == [o.spec.name for o in offered([(p, [tool("read")]) for p in plans], [])]


def test_two_servers_whose_full_names_are_the_same_offer_both() -> None:
    plans = [(ServerPlan("a", "a", ("x",)), [tool("b__c")]), (ServerPlan("a__b", "b", ("x",)), [tool("c")])]
    tools = offered(plans, [])
    assert 2 == len({o.spec.name for o in tools})
    assert {"a__b__c": tuple(o.spec.name for o in tools)} == renamed(tools)


def test_the_order_is_of_servers_then_of_names_whatever_order_a_server_lists_in() -> None:
    plan = ServerPlan("s", "s", ("x",))
    there, back = [tool("b"), tool("a"), tool("c")], [tool("c"), tool("a"), tool("b")]
    assert ["s__a", "s__b", "s__c"] == [o.spec.name for o in offered([(plan, there)], [])]
    assert offered([(plan, there)], []) == offered([(plan, back)], [])


def test_allow_and_deny_are_the_servers_own_names() -> None:
    plan = ServerPlan("s", "s", ("x",), allow=("a", "b"), deny=("b",))
    assert ["s__a"] == [o.spec.name for o in offered([(plan, [tool("a"), tool("b"), tool("c")])], [])]


def test_a_tool_that_does_not_say_that_it_only_reads_counts_as_writing() -> None:
    tools = [tool("a"), tool("b", annotations={"readOnlyHint": True}), tool("c", annotations=None)]
    assert [True, False, True] == [o.spec.writes for o in offered([(ServerPlan("s", "s", ("x",)), tools)], [])]


def test_a_description_is_sent_as_it_is_up_to_its_limit() -> None:
    tools = [tool("a", description="Find\n  it."), tool("b", description="x" * 50_000), tool("c", title="See")]
    short, long, title = (o.spec.description for o in offered([(ServerPlan("s", "s", ("x",)), tools)], []))
    assert ("Find\n  it.", "See") == (short, title)
    assert LONGEST_DESCRIPTION <= len(long) < LONGEST_DESCRIPTION + 100


# Schemas


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"q": STRING}, "required": ["q"], "additionalProperties": False},
        {"type": "object", "properties": {"$id": STRING, "$schema": STRING, "enum": STRING, "items": STRING}},
        {
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/N"}},
            "$defs": {"N": {"anyOf": [STRING, {"type": "null"}]}},
        },
        {
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/T"}},
            "$defs": {
                "T": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
            },
        },
        {"type": "object", "properties": {"e": {"enum": [{"$ref": "#/nowhere"}], "default": {"items": [1]}}}},
    ],
)
def test_a_schema_of_an_object_is_sent_as_it_is(schema: dict[str, Any]) -> None:
    assert schema == sendable(schema)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"properties": {"a": STRING}}, {"type": "object", "properties": {"a": STRING}}),
        ({"type": ["object", "null"]}, {"type": "object", "properties": {}}),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "type": "object", "properties": {}},
            {"type": "object", "properties": {}},
        ),
        (
            {"type": "object", "properties": {"p": {"type": "array", "items": [STRING], "additionalItems": False}}},
            {"type": "object", "properties": {"p": {"type": "array", "prefixItems": [STRING], "items": False}}},
        ),
        (
            {"type": "object", "properties": {"n": {"minimum": 0, "exclusiveMinimum": True, "required": True}}},
            {"type": "object", "properties": {"n": {"exclusiveMinimum": 0}}},
        ),
        (
            {"type": "object", "properties": {"s": {"type": "string", "pattern": r"^\p{Lu}"}}},
            {"type": "object", "properties": {"s": STRING}},
        ),
        (
            {"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"a": STRING}, "required": ["a"]}}},
            {
                "type": "object",
                "properties": {"a": STRING},
                "required": ["a"],
                "definitions": {"A": {"properties": {"a": STRING}, "required": ["a"]}},
            },
        ),
        (
            {
                "anyOf": [
                    {"properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
                    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"type": "null"},
                ]
            },
            {
                "type": "object",
                "properties": {"a": {"anyOf": [STRING, {"type": "integer"}]}, "b": STRING},
                "required": ["a"],
            },
        ),
        (
            {
                "allOf": [{"properties": {"a": STRING}, "required": ["a"]}],
                "properties": {"b": STRING},
                "required": ["b"],
            },
            {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"]},
        ),
        (
            {"type": "object", "properties": {"a": STRING}, "not": {"required": ["b"]}, "if": {}, "then": {}},
            {"type": "object", "properties": {"a": STRING}},
        ),
    ],
)
def test_what_providers_refuse_is_said_otherwise(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    assert sent == sendable(schema)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, "it is missing"),
        ("object", "it is str"),
        ({"type": "string"}, "its type is 'string'"),
        ({"type": "objekt"}, r"\$.type: 'objekt'"),
        ({"type": "object", "properties": []}, r"\$.properties"),
        ({"type": "object", "required": "a"}, r"\$.required"),
        ({"anyOf": [STRING, {"type": "null"}]}, "no branch of anyOf is an object"),
        ({"$ref": "https://example.org/schema.json"}, "outside of it"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "outside of it"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "leads nowhere"),
        ({"$ref": "#"}, "round in a circle"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}}, "circle"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, r"\$dynamicRef"),
    ],
)
def test_what_cannot_be_sent_says_why(schema: object, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        sendable(schema)


def test_a_schema_without_bottom_cannot_be_sent() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(SchemaError, match="nested too deeply"):
        sendable(schema)


def test_references_that_branch_at_every_step_are_followed_once() -> None:
    """Followed each time they are met, this would take 2^60 steps."""
    steps = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(60)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": {**steps, "D60": STRING}}
    assert schema == sendable(schema)


KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "$ref", "anyOf", "allOf", "items", "enum", "$defs", "not", "pattern", "title"]
)
WILD = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["object", "string", "#", "#/$defs/a", "a", "(", 1, 0.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | st.just("a"), inner, max_size=4),
    max_leaves=15,
)


@given(WILD, st.dictionaries(st.sampled_from(["a", "b"]), st.none() | st.text(max_size=3), max_size=2))
def test_whatever_is_sent_can_be_judged_by(schema: object, arguments: dict[str, Any]) -> None:
    """No schema of a server ends an attempt: what comes out judges any arguments without an error."""
    try:
        sent = sendable(schema)
    except SchemaError:
        return
    assert "object" == sent["type"]
    list(Draft202012Validator(sent).iter_errors(arguments))
