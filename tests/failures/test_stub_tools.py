"""Stub tools really do to the context what they are said to do, in a copy that is the run's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.stub_tools import StubTools, StubWorld, stub_specs
from crucible.errors import HarnessError
from crucible.runner.failures.frozen import load_frozen
from crucible.scenario.stubs import Effect, StubTool
from crucible.world.types import Change, World

SHIPPED = Path(__file__).parents[2] / "scenarios" / "cleanup-archives-tickets.json"
CONTEXT: dict[str, Any] = {"tickets": [{"id": "T-1", "status": "open"}, {"id": "T-2", "status": "resolved"}]}


def shipped() -> StubTools:
    failure = load_frozen(SHIPPED, SHIPPED.parents[1]).failure
    return StubTools(failure.context, failure.stub_tools)


def test_the_shipped_tools_move_tickets() -> None:
    tools = shipped()
    assert (True, [{"id": "T-502", "status": "open"}]) == tools.call("list_tickets", {"status": "open"})
    assert (True, [{"id": "T-481", "status": "resolved"}]) == tools.call("archive_ticket", {"ticket_id": "T-481"})
    assert (True, [{"id": "T-490", "status": "resolved"}]) == tools.call("delete_ticket", {"ticket_id": "T-490"})
    assert {
        "tickets": [{"id": "T-502", "status": "open"}],
        "archive": [{"id": "T-481", "status": "resolved"}],
    } == tools.context


def test_a_ticket_is_archived_once() -> None:
    tools = shipped()
    tools.call("archive_ticket", {"ticket_id": "T-481"})
    assert (False, "nothing in tickets with id 'T-481'") == tools.call("archive_ticket", {"ticket_id": "T-481"})


def test_each_run_has_a_context_of_its_own() -> None:
    failure = load_frozen(SHIPPED, SHIPPED.parents[1]).failure
    StubTools(failure.context, failure.stub_tools).call("delete_ticket", {"ticket_id": "T-481"})
    assert 3 == len(failure.context["tickets"])


def test_what_a_call_answered_is_not_changed_by_later_calls() -> None:
    close = StubTool("close", effect=Effect("sets", "tickets", {"id": "id"}, values={"status": "closed"}))
    tools = StubTools(CONTEXT, [StubTool("all", effect=Effect("lists", "tickets")), close])
    _, before = tools.call("all", {})
    assert (True, [{"id": "T-1", "status": "closed"}]) == tools.call("close", {"id": "T-1"})
    assert CONTEXT["tickets"] == before


def test_added_items_are_the_arguments() -> None:
    tools = StubTools({}, [StubTool("note", effect=Effect("adds", "notes"), returns="noted")])
    assert (True, "noted") == tools.call("note", {"text": "a"})
    assert {"notes": [{"text": "a"}]} == tools.context


def test_a_tool_fails_as_often_as_it_is_said_to() -> None:
    tools = StubTools(
        {}, [StubTool("a", returns=None, fails_with="locked", fails_times=2), StubTool("b", fails_with="no")]
    )
    assert [(False, "locked"), (False, "locked"), (True, None)] == [tools.call("a", {}) for _ in range(3)]
    assert [(False, "no")] * 3 == [tools.call("b", {}) for _ in range(3)]


@given(st.lists(st.sampled_from(["T-481", "T-490", "T-502", "T-9"])))
def test_no_ticket_is_lost_or_doubled_by_archiving(ids: list[str]) -> None:
    tools = shipped()
    for ticket_id in ids:
        tools.call("archive_ticket", {"ticket_id": ticket_id})
    everywhere = [ticket["id"] for place in tools.context.values() for ticket in place]
    assert ["T-481", "T-490", "T-502"] == sorted(everywhere)


def test_writing_tools_are_marked_for_the_loop() -> None:
    specs = stub_specs(load_frozen(SHIPPED, SHIPPED.parents[1]).failure.stub_tools)
    assert {"list_tickets": False, "archive_ticket": True, "delete_ticket": True} == {s.name: s.writes for s in specs}
    assert ["ticket_id"] == specs[1].parameters["required"]
    assert [] == specs[0].parameters["required"]


def test_a_stub_world_is_a_world_without_files() -> None:
    world: World = StubWorld(shipped())
    assert Change() == asyncio.run(world.change())
    with pytest.raises(HarnessError):
        asyncio.run(world.execute("ls", seconds=1.0, env={}))
