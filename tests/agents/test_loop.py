"""The loop in a real world: every call id is answered once, budgets end it, policies refuse, detours are survived."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crucible.agents.builtin import builtin_tools
from crucible.agents.loop import GO_ON, LoopAgent
from crucible.agents.rehearsal import ScriptedCall, ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.agents.types import Ending, Task
from crucible.errors import Cause, ProviderError
from crucible.llm.types import Reply, Request
from crucible.scenario.schema import Budget, Matcher, Policy
from crucible.transcript.events import Answered, Decided, Event, Replied
from crucible.world import make_world
from crucible.world.probe import probe
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Change, WorldSpec


def call(tool: str, **args: Any) -> ScriptedCall:
    return ScriptedCall(tool=tool, args=args)


def turn(*calls: ScriptedCall, say: str = "") -> ScriptedTurn:
    return ScriptedTurn(say=say, calls=calls)


class Outcome:
    def __init__(self, ending: Ending, events: list[Event], change: Change, model: ScriptedModel) -> None:
        self.ending, self.events, self.change, self.model = ending, events, change, model

    @property
    def answers(self) -> list[Answered]:
        return [e for e in self.events if isinstance(e, Answered)]

    @property
    def asked(self) -> list[str]:
        return [c["id"] for e in self.events if isinstance(e, Replied) for c in e.tool_calls]


@pytest.fixture
def attempt(tmp_path: Path, cache: Path):  # type: ignore[no-untyped-def] # a function
    (tmp_path / "fixture" / "tests").mkdir(parents=True)
    (tmp_path / "fixture" / "a.txt").write_text("one\n")
    (tmp_path / "fixture" / "tests" / "t.py").write_text("pass\n")

    def run(turns: Sequence[ScriptedTurn] | ScriptedModel, *policies: Policy, **budget: Any) -> Outcome:
        model = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
        return asyncio.run(_run(model, policies, Budget(**budget), tmp_path, cache))

    return run


async def _run(model: ScriptedModel, policies: tuple[Policy, ...], budget: Budget, place: Path, cache: Path) -> Outcome:
    snapshot = take_snapshot(place / "fixture", cache)
    protected = ("tests",) if policies else ()
    world = make_world(WorldSpec(snapshot, protected), "overlay" if probe().ok else "copy", place)
    events: list[Event] = []
    await world.open()
    try:
        task = Task("Do it.", "You are careful.", policies, budget)
        ending = await LoopAgent(model, builtin_tools()).attempt(task, world, events.append)
        return Outcome(ending, events, await world.change(), model)
    finally:
        await world.close()


def protect_tests(enforcement: str = "block") -> Policy:
    matcher = Matcher(tool="write_file", arg_key="path", op="starts_with", value="tests/")
    return Policy(id="P1", rule="Hands off tests.", enforcement=enforcement, matchers=(matcher,))  # type: ignore[arg-type] # a literal


def test_a_reply_without_calls_ends_the_attempt(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    done = attempt([turn(call("edit_file", path="a.txt", old="one", new="two")), turn(say="Changed.")])
    assert ("finished", Cause.AGENT, "Changed.") == (done.ending.what, done.ending.cause, done.ending.detail)
    assert [("a.txt", "modify", b"two\n")] == [(f.path, f.status, f.after.data) for f in done.change.files]


def test_parallel_calls_are_each_answered_once_in_order(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    done = attempt([turn(call("bash", command="echo 1"), call("nope"), call("read_file", path="a.txt")), turn()])
    assert done.asked == [a.call_id for a in done.answers]
    assert [True, False, True] == [a.ok for a in done.answers]


@pytest.mark.slow
def test_calls_left_when_a_budget_ends_mid_batch_are_answered_too(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    slow = [call("bash", command="sleep 60"), call("write_file", path="b.txt", content="x"), call("list_files")]
    done = attempt([turn(*slow), turn()], max_wall_clock_seconds=3)
    assert ("budget_time", Cause.BUDGET) == (done.ending.what, done.ending.cause)
    assert done.asked == [a.call_id for a in done.answers]
    assert [True, False, False] == [a.timed_out for a in done.answers]
    assert all("Not run: the attempt ended" in a.text for a in done.answers[1:])
    assert () == done.change.files


def test_turns_and_tokens_end_the_attempt(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    endless = [turn(call("list_files"))] * 10
    assert "budget_turns" == attempt(endless, max_turns=3).ending.what
    assert "budget_tokens" == attempt(endless, max_total_tokens=200).ending.what


def test_only_unreadable_calls_in_a_row_end_the_attempt(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    bad = turn(ScriptedCall(tool="bash", raw="{"))
    done = attempt([bad, bad, turn(call("list_files")), *[bad] * 9])
    assert ("bad_calls", Cause.AGENT) == (done.ending.what, done.ending.cause)
    assert 3 + 5 == len(done.answers)


def test_a_blocked_write_names_the_policy_and_bash_meets_the_wall(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    tricks = [
        call("write_file", path="tests/t.py", content="x"),
        call("edit_file", path="./TESTS/../tests/t.py", old="pass", new="x"),
        call("bash", command="ln -s tests t; echo x > t/t.py"),
        call("write_file", path="t/t.py", content="x"),
        call("bash", command="sed -i s/pass/x/ tests/t.py"),
    ]
    done = attempt([turn(*tricks), turn()], protect_tests())
    decided = [e for e in done.events if isinstance(e, Decided)]
    assert [0, 1, 3] == [done.asked.index(d.call_id) for d in decided]
    assert {"P1"} == {d.policy_id for d in decided}
    assert [] == [f.path for f in done.change.files if f.path.startswith("tests")]


def test_a_warned_call_is_made_and_recorded(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    warn = Policy(
        id="W", rule="Rather not.", enforcement="warn",
        matchers=(Matcher(tool="bash", arg_key="command", op="contains", value="echo"),),
    )  # fmt: skip
    done = attempt([turn(call("bash", command="echo hi")), turn()], warn)
    assert [("W", "warn")] == [(e.policy_id, e.action) for e in done.events if isinstance(e, Decided)]
    assert done.answers[0].text.startswith("hi")


def test_a_policy_that_fails_ends_the_attempt(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    done = attempt(
        [turn(call("write_file", path="tests/t.py", content="x"), call("list_files")), turn()], protect_tests("fail")
    )
    assert ("policy_fail", Cause.AGENT) == (done.ending.what, done.ending.cause)
    assert done.asked == [a.call_id for a in done.answers]


def test_both_arms_first_requests_differ_by_what_was_declared_only(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    first, second = attempt([turn(say="a")]), attempt([turn(say="b")])
    assert first.events[0].first_request_sha256 == second.events[0].first_request_sha256


def test_long_output_is_stored_capped_with_its_true_size(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    (answer,) = attempt([turn(call("bash", command="yes | head -c 3000000")), turn()]).answers
    assert 3_000_000 == answer.text_size
    assert len(answer.text) < 100_000


class Down(ScriptedModel):
    """A provider that fails in one way."""

    def __init__(self, kind: str) -> None:
        super().__init__([])
        self.kind = kind

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002 - the protocol's name
        raise ProviderError("no", kind=self.kind)


class Cut(ScriptedModel):
    """A model whose first replies are cut off at their length limit before they call anything."""

    def __init__(self, cut: Sequence[str], *turns: ScriptedTurn) -> None:
        super().__init__([*(ScriptedTurn(say=text) for text in cut), *turns])
        self.cut, self.requests = len(cut), list[Request]()

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = await super().complete(request)
        return replace(reply, finish_reason="length") if len(self.requests) <= self.cut else reply


def test_a_reply_that_was_cut_off_has_not_ended_the_work(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    """A model that thought for too long once lost the attempt there and then, as if it had said that it was done."""
    model = Cut(["I think", " "], turn(call("write_file", path="b.txt", content="x")), turn(say="done"))
    done = attempt(model)
    assert ("finished", ["b.txt"]) == (done.ending.what, [f.path for f in done.change.files])
    said = [(m.role, m.content) for m in model.requests[2].messages[2:]]
    assert [("assistant", "I think"), ("user", GO_ON), ("user", GO_ON)] == said


def test_replies_that_are_cut_off_again_and_again_end_the_attempt(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    done = attempt(Cut(["I think"] * 9))
    assert ("bad_calls", Cause.AGENT, 5) == (done.ending.what, done.ending.cause, len(done.model.requests))


def test_a_full_context_is_the_agents_budget_and_an_outage_the_providers(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    ending = attempt(Down("context")).ending
    assert ("context_full", Cause.BUDGET) == (ending.what, ending.cause)
    with pytest.raises(ProviderError):
        attempt(Down("server"))


def test_a_time_out_too_large_for_a_number_is_one_like_any_other(attempt) -> None:  # type: ignore[no-untyped-def] # a fixture
    """It once was made a float, which such a number cannot be, and ended the whole run."""
    outcome = attempt([turn(call("bash", command="echo hi", timeout=10**400)), turn(say="done")])
    assert ("finished", ["hi"]) == (outcome.ending.what, [answer.text for answer in outcome.answers])
