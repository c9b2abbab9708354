"""In what first requests differ: part by part, as a diff, and which of it the arms declare."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from crucible.report.arm_diff import arm_diff, arm_diff_lines
from crucible.report.overall import overall
from crucible.scenario.schema import Arm, ExternalAgent
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, EventRow, FirstRequestRow, ScenarioRow
from crucible.store.writes import Store
from crucible.transcript.declared import belongs, undeclared
from crucible.transcript.differing import MOST_LINES, differences
from crucible.transcript.events import Started
from crucible.transcript.opening import as_text, complete, fingerprint

OPENING: dict[str, Any] = {
    "messages": [{"role": "system", "content": "Be good.\nBudget: 5."}, {"role": "user", "content": "Fix it."}],
    "tools": [
        {"name": "bash", "description": "Runs.", "parameters": {"type": "object"}},
        {"name": "read_file", "description": "Reads.", "parameters": {"type": "object"}},
    ],
    "model": "openai/a",
    "parameters": {"most_output_tokens": 8192},
    "environment": {"sandbox": "overlay", "network": False, "shown": []},
    "files": "abc",
}
FIND = {"name": "asd__find", "description": "Finds.", "parameters": {"type": "object"}}
SERVERS = {"asd": {"what": "asd 1"}, "ctx": {"what": "ctx 1"}}


def opening(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(OPENING), **changes}


def arm(**said: Any) -> Arm:
    return Arm(**{"id": "arm", "model": "openai/a", **said})


def stray(one: dict[str, Any], other: dict[str, Any], arms: tuple[Arm, Arm], **more: Any) -> list[str]:
    """Names of what differs and is not declared."""
    return [str(part) for part in undeclared(differences(one, other), arms, **more)]


SAME = (arm(id="a"), arm(id="b"))
TREATED = (arm(id="a"), arm(id="b", extra_tools=("asd",)))
with_find = opening(tools=[*OPENING["tools"], FIND])


def test_what_differs_is_named_and_shown_as_a_diff() -> None:
    edited = opening(
        messages=[{"role": "system", "content": "Be better.\nBudget: 5."}, {"role": "user", "content": "Fix it."}],
        files="xyz",
    )
    prompt, files = differences(OPENING, edited, ("old", "new"))
    assert ("system prompt", "", None) == (prompt.kind, prompt.name, prompt.side)
    assert "--- old\n+++ new\n@@ -1,2 +1,2 @@\n-Be good.\n+Be better.\n Budget: 5." == prompt.diff
    assert ("files", "-abc\n+xyz") == (files.kind, files.diff.partition("@@\n")[2])
    assert () == differences(OPENING, opening())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"messages": [OPENING["messages"][0], {"role": "user", "content": "Other."}]}, ["task"]),
        ({"messages": [{"role": "developer", "content": "x"}, OPENING["messages"][1]]}, ["system prompt"]),
        ({"messages": OPENING["messages"][1:]}, ["system prompt"]),
        ({"tools": OPENING["tools"][:1]}, ["tool read_file"]),
        ({"tools": [OPENING["tools"][0], {**OPENING["tools"][1], "description": "Reads!"}]}, ["tool read_file"]),
        ({"tools": OPENING["tools"][::-1]}, ["order of tools"]),
        ({"tools": [*OPENING["tools"], OPENING["tools"][0]]}, ["tool bash (2)"]),
        ({"model": "openai/b"}, ["model"]),
        ({"parameters": {"most_output_tokens": 8192, "temperature": 0}}, ["parameter temperature"]),
        ({"parameters": {}}, ["parameter most_output_tokens"]),
        ({"environment": {**OPENING["environment"], "network": True}}, ["environment network"]),
        ({"environment": {**OPENING["environment"], "servers": SERVERS}}, ["server asd", "server ctx"]),
        ({"files": None}, ["files"]),
        ({"seeds": 4}, ["other seeds"]),
    ],
)
def test_between_like_arms_every_difference_is_undeclared(changes: dict[str, Any], named: list[str]) -> None:
    """And in both directions."""
    assert named == stray(OPENING, opening(**changes), SAME)
    assert named == stray(opening(**changes), OPENING, SAME)


def test_a_number_is_not_a_truth_value() -> None:
    assert ["parameter x"] == stray(opening(parameters={"x": 1}), opening(parameters={"x": True}), SAME)


@pytest.mark.parametrize(
    ("other", "declared"),
    [
        (opening(model="openai/b"), {"model": "openai/b"}),
        (opening(model="openai/a in JSON actions"), {"tool_protocol": "json"}),
        (opening(messages=[{"role": "system", "content": "Z"}, OPENING["messages"][1]]), {"system_prompt": "Z"}),
        (with_find, {"extra_tools": ("asd",)}),
        (
            opening(
                tools=[*OPENING["tools"], FIND], environment={**OPENING["environment"], "shown": ["/opt/asd"],
                                                              "servers": {"asd": SERVERS["asd"]}}
            ),
            {"extra_tools": ("asd",)},
        ),
    ],
)  # fmt: skip
def test_what_an_arm_declares_is_declared(other: dict[str, Any], declared: dict[str, Any]) -> None:
    """And without the declaration it is not."""
    assert [] == stray(OPENING, other, (arm(id="a"), arm(id="b", **declared)))
    assert [] != stray(OPENING, other, SAME)


def test_a_declared_difference_excuses_no_other() -> None:
    """Another prompt does not allow another tool; an extra server neither an edited tool of ours nor one of another server."""
    prompts = (arm(id="a"), arm(id="b", system_prompt="Z"))
    edited = {**OPENING["tools"][0], "description": "Runs well."}
    assert ["tool asd__find"] == stray(OPENING, with_find, prompts)
    assert ["tool bash"] == stray(OPENING, opening(tools=[edited, OPENING["tools"][1], FIND]), TREATED)
    assert ["tool ctx__find"] == stray(
        OPENING, opening(tools=[*with_find["tools"], {**FIND, "name": "ctx__find"}]), TREATED
    )
    assert ["environment sandbox"] == stray(
        OPENING, opening(environment={**OPENING["environment"], "sandbox": "copy"}), TREATED
    )


def test_a_server_of_both_arms_offers_both_the_same() -> None:
    """One that lists other tools for one arm sets them apart, whatever else an arm has."""
    both = (arm(id="a", extra_tools=("asd",)), arm(id="b", extra_tools=("asd", "ctx")))
    ctx = {**FIND, "name": "ctx__find"}
    assert [] == stray(with_find, opening(tools=[*with_find["tools"], ctx]), both)
    assert ["tool asd__find"] == stray(with_find, opening(tools=[*OPENING["tools"], ctx]), both)
    changed = {"asd": {"what": "asd 2"}, "ctx": SERVERS["ctx"]}
    assert ["server asd"] == stray(
        opening(environment={"servers": {"asd": SERVERS["asd"]}}), opening(environment={"servers": changed}), both
    )


def test_tools_of_the_wrong_arm_are_undeclared_and_left_out_ones_too() -> None:
    assert ["tool asd__find"] == stray(with_find, OPENING, TREATED)
    assert ["tool asd__find"] == stray(OPENING, with_find, TREATED, without_extra_tools=True)


def test_another_agent_may_say_what_it_likes_in_the_same_world() -> None:
    """Its prompt, tools and parameters are its own; the files and the sandbox are not."""
    agents = (arm(id="a"), arm(id="b", agent=ExternalAgent(preset="codex")))
    other = opening(
        messages=[{"role": "developer", "content": "I am codex"}, {"role": "user", "content": "<task>Fix it.</task>"}],
        tools=[{"name": "shell"}], parameters={"reasoning": "high"},
        environment={**OPENING["environment"], "agent": "codex 1", "shown": ["/opt/codex"]},
    )  # fmt: skip
    assert [] == stray(OPENING, other, agents)
    assert ["files", "environment network"] == stray(
        OPENING, {**other, "files": "z", "environment": {**other["environment"], "network": True}}, agents
    )


def test_one_agent_in_both_arms_says_the_same_unless_it_was_given_something_else() -> None:
    """It tells its model which servers it has, in words of its own."""
    codex = ExternalAgent(preset="codex")
    said = opening(messages=[{"role": "system", "content": "You have asd."}, OPENING["messages"][1]],
                   tools=[*OPENING["tools"], {**FIND, "name": "mcp__asd__find"}])  # fmt: skip
    assert [] == stray(OPENING, said, (arm(id="a", agent=codex), arm(id="b", agent=codex, extra_tools=("asd",))))
    assert ["system prompt", "tool mcp__asd__find"] == stray(
        OPENING, said, (arm(id="a", agent=codex), arm(id="b", agent=codex))
    )


@pytest.mark.parametrize(
    ("tool", "servers", "expected"),
    [
        ("asd__find", ("asd", "ctx"), "asd"),
        ("mcp__ctx__recall", ("asd", "ctx"), "ctx"),
        ("my_server__x", ("my.server",), "my.server"),
        ("_9p__x", ("9p",), "9p"),
        ("asd_find", ("asd",), None),
        ("asdx__find", ("asd",), None),
        ("bash", ("asd",), None),
        ("asd__find", (), None),
        ("a__b__c", ("a", "a__b"), "a__b"),
        ("x" * 55 + "_0123abcd", ("x" * 80,), "x" * 80),
    ],
)
def test_a_tool_is_of_the_server_its_name_begins_with(
    tool: str, servers: tuple[str, ...], expected: str | None
) -> None:
    assert expected == belongs(tool, servers)


@pytest.mark.parametrize("name", ["mcp__asd__find", "mcp_asd_find", "asd_find", "asd.find", "asd__find"])
def test_one_server_in_one_arm_of_an_agent_is_declared_however_the_agent_names_its_tools(name: str) -> None:
    agent = ExternalAgent(preset="gemini-cli")
    said = opening(tools=[*OPENING["tools"], {**FIND, "name": name}])
    assert [] == stray(OPENING, said, (arm(id="a", agent=agent), arm(id="b", agent=agent, extra_tools=("asd",))))
    assert [f"tool {name}"] == stray(OPENING, said, (arm(id="a", agent=agent), arm(id="b", agent=agent)))
    assert "asd" == belongs(name, ("asd",), by_agent=True)


def test_a_diff_is_bounded_and_shows_where_a_long_line_differs() -> None:
    long = "word " * 20_000
    said = [{"role": "system", "content": text} for text in (long, long[:50_000] + "OTHER" + long[50_000:])]
    (part,) = differences(opening(messages=said[:1]), opening(messages=said[1:]))
    assert "OTHER" in part.diff
    assert len(part.diff.splitlines()) <= MOST_LINES + 1
    assert max(map(len, part.diff.splitlines())) <= 161
    lines = ["\n".join(f"{i} {mark}" for i in range(5000)) for mark in "ab"]
    (part,) = differences(*(opening(messages=[{"role": "system", "content": text}]) for text in lines))
    assert part.diff.endswith("[... the rest of the difference is left out ...]")
    same, tail = ["\n".join(str(i) for i in range(3000)) + end for end in ("", "x")]
    (part,) = differences(*(opening(messages=[{"role": "system", "content": text}]) for text in (same, tail)))
    assert "further lines were not looked at" in part.diff


def test_what_could_act_on_a_terminal_is_shown_as_an_escape() -> None:
    (part,) = differences(opening(model="a\x1b[31m"), opening(model="a\r"))
    assert part.diff.endswith("-a\\x1b[31m\n+a\\r")


@pytest.mark.parametrize(("one", "other"), [("1", 1), ("\x1b", "\\x1b"), ("null", ["x"]), ("", "\n")])
def test_values_that_look_alike_are_told_apart(one: Any, other: Any) -> None:
    (part,) = differences(opening(parameters={"x": one}), opening(parameters={"x": other}))
    assert part.diff.count("\n") >= 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "developer", "tool"]), "content": json_values}),
    max_size=3,
)
tools = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["a", "b", "a__c"])}, optional={"x": json_values}), max_size=4
)
mappings = st.dictionaries(st.sampled_from(["servers", "sandbox", "x"]), json_values, max_size=3)
wild = st.fixed_dictionaries(
    {},
    optional={
        "messages": messages, "tools": tools, "model": st.text(max_size=3), "parameters": mappings,
        "environment": mappings, "files": st.text(max_size=3),
    },
)  # fmt: skip


@given(wild, wild)
def test_nothing_differs_only_where_nothing_does(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Any two openings: no part has an empty diff, like arms declare nothing, and the other way round as many differ."""
    parts = differences(one, other)
    assert all(part.diff for part in parts)
    assert parts == undeclared(parts, SAME)
    assert [str(part) for part in parts] == sorted(
        (str(part) for part in differences(other, one)), key=[str(part) for part in parts].index
    )
    assert () == differences(one, copy.deepcopy(one))


# In a report


def begin(store: Store, run_id: int, of: Any) -> None:
    """Store what each attempt began with."""
    with store.reading() as session:
        rows = session.exec(select(AttemptRow).where(AttemptRow.run_id == run_id)).all()
    for row in rows:
        said = of(row)
        event = complete(
            Started(at=0, turn=0, system_prompt="p", task="t", tools=("bash",), first_request_sha256="", opening=said),
            {"files": "abc"},
        )
        if event.opening is not None:
            store.ensure(FirstRequestRow(sha256=event.first_request_sha256, data=as_text(event.opening)))
        store.add_events(
            [EventRow(attempt_id=row.id or 0, seq=0, kind="started", turn=0, at=0, data=event.model_dump_json())]
        )


def run(store: Store, treated: str = "{id: new, model: openai/simulated}") -> int:
    filled = [Filled(i < 5) for i in range(6)]
    run_id = fill_run(store, {"s": {"new": filled, "old": filled}}, "old")
    with store.writing() as session:
        scenario = session.exec(select(ScenarioRow)).one()
        scenario.text = scenario.text.replace("{id: new, model: openai/simulated}", treated)
    return run_id


def test_an_undeclared_difference_withholds_the_verdict_and_is_shown(store: Store) -> None:
    run_id = run(store, "{id: new, model: openai/simulated, system_prompt: Z}")
    begin(store, run_id, lambda row: opening(model=row.model, tools=OPENING["tools"][: 1 + (row.arm == "old")]))
    found = overall(store, run_id)
    assert found is not None
    sentence = "No verdict: the arms differ in what the scenario does not declare: tool read_file."
    assert sentence == found.verdict.sentence
    assert any(line.startswith("UNDECLARED DIFFERENCE: the arms differ") for line in found.comparisons[0].uptake)
    assert [("tool", "read_file", False)] == [
        (one["kind"], one["name"], one["declared"]) for one in found.comparisons[0].differences or ()
    ]
    shown = list(arm_diff_lines(arm_diff(store, run_id) or []))
    assert "s: 1 part of the first request differs, 1 of them undeclared" == shown[0]
    assert "\ntool read_file  (NOT DECLARED)" in shown
    assert "--- old\n+++ new" in shown[-1]


def test_attempts_of_one_arm_that_begin_differently_get_no_verdict(store: Store) -> None:
    run_id = run(store)
    begin(
        store,
        run_id,
        lambda row: opening(model=row.model, files="", parameters={"x": row.block if row.arm == "new" else 1}),
    )
    found = overall(store, run_id)
    assert found is not None
    assert "did not all begin with the same request: parameter x" in found.verdict.sentence


def test_what_really_ran_stands_beside_what_was_declared(store: Store) -> None:
    """Another server in its place, another agent."""
    run_id = run(store, "{id: new, model: openai/simulated, extra_tools: [asd], agent: {preset: codex}}")
    with store.writing() as session:
        for row in session.exec(select(AttemptRow).where(AttemptRow.arm == "new")).all():
            row.agent, row.servers, row.setup = "codex 0.9", {"asd": "code-graph 0.2.1"}, "asd=code-graph"
    begin(store, run_id, lambda row: opening(model=row.model, **({"tools": [FIND]} if row.arm == "new" else {})))
    found = overall(store, run_id)
    assert found is not None
    assert (
        "The arms differ in: agent (codex 0.9 against the built-in loop), extra tools (asd = code-graph 0.2.1: 1 tool, "
        "0.1 KB of schemas); which of the 2 made a difference, this run cannot tell."
    ) == found.comparisons[0].uptake[0]


def test_an_attempt_resumed_after_openings_were_recorded_is_no_difference(store: Store) -> None:
    """The older ones have no content to be held against, and their fingerprints are of another make."""
    run_id = run(store, "{id: new, model: openai/simulated, system_prompt: Z}")

    def of(row: AttemptRow) -> dict[str, Any] | None:
        return None if row.block < 4 else opening(model=row.model, messages=[{"role": "system", "content": row.arm}])

    begin(store, run_id, of)
    found = overall(store, run_id)
    assert found is not None
    assert "UNDECLARED" not in "".join(found.comparisons[0].uptake)
    assert "equivalent" == found.verdict.word or "inconclusive" == found.verdict.word


def test_a_run_that_is_not_there_has_no_differences(store: Store) -> None:
    assert None is arm_diff(store, 7)
    lines = list(arm_diff_lines(arm_diff(store, run(store)) or []))
    assert 1 == len(lines)
    assert "unknown: made before this was recorded" in lines[0]
    assert fingerprint(OPENING) == fingerprint(opening())
