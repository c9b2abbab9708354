"""What sets arms apart is what was declared: proved before the first block, after it, and in every later attempt."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select as columns

from crucible.cli.app import run_app
from crucible.errors import PreflightError
from crucible.llm.loopback import LoopbackServer
from crucible.runner.arm_proof import Beginnings, FirstBlocksFirst, check_before, planned_openings
from crucible.runner.arms import AS_SAID
from crucible.runner.command import resume
from crucible.runner.equip import check_equipment
from crucible.runner.models import make_model
from crucible.runner.prepare import prepare, resolve_mode
from crucible.scenario.catalog import get_scenario
from crucible.settings import load_settings
from crucible.store.openings import openings
from crucible.store.tables import AttemptRow, PlannedRow
from crucible.store.writes import Store
from crucible.transcript.opening import as_text, completed, fingerprint
from tests.runner.arms_apart import ASK, chosen_for, run, solver, with_tools

USES = solver(("small__callers", ASK))


def made(store: Store) -> list[tuple[Any, ...]]:
    with store.reading() as session:
        query = columns(AttemptRow.arm, AttemptRow.block, AttemptRow.counted).order_by(AttemptRow.id)  # type: ignore[call-overload,arg-type]  # columns
        return [tuple(row) for row in session.execute(query)]


@pytest.fixture
def arms(bench: Path) -> dict[str, dict[str, Any]]:
    """What both arms of the starter scenario will begin with, told without a call."""
    settings = load_settings(bench)
    prepared = prepare(get_scenario(bench, "first-bug"), bench, settings)
    return planned_openings(prepared, settings, "copy", AS_SAID, lambda name: make_model(name, settings), {})  # type: ignore[return-value]  # they are dicts


# Before the first block


def test_what_the_built_in_loop_will_ask_is_known_without_asking(bench: Path, arms: dict[str, dict[str, Any]]) -> None:
    """Prompt, task, tools, model, budget, sandbox and files; declared differences pass."""
    assert {"careful", "baseline"} == arms.keys()
    one = arms["careful"]
    assert {"messages", "tools", "model", "parameters", "environment", "files"} == one.keys()
    assert ["system", "user"] == [message["role"] for message in one["messages"]]
    assert 15 == one["parameters"]["budget"]["max_turns"]
    assert {"sandbox", "network", "protected", "variables"} <= one["environment"].keys()
    assert ["tests"] == one["environment"]["protected"]
    assert not [name for name in one["environment"]["variables"] if "KEY" in name]
    check_before(arms, get_scenario(bench, "first-bug").scenario, without=False)


def test_an_undeclared_difference_is_refused_with_its_diff(bench: Path, arms: dict[str, dict[str, Any]]) -> None:
    """An edited tool description between arms: the run does not begin."""
    edited = json.loads(as_text(arms["careful"]))
    edited["tools"][0]["description"] += " Think hard before you read."
    with pytest.raises(PreflightError) as refused:
        check_before({**arms, "careful": edited}, get_scenario(bench, "first-bug").scenario, without=False)
    name = edited["tools"][0]["name"]
    assert f"first-bug: the arms differ in what the scenario does not declare: tool {name}" in refused.value.message
    assert "+++ careful" in refused.value.message
    assert "Think hard before you read." in refused.value.message


@pytest.mark.parametrize(
    "extra",
    [
        {"environment": {"network": True}},
        {"environment": {"protected": []}},
        {"files": "another digest"},
        {"parameters": {"temperature": 0.0}},
        {"model": "openai/other"},
    ],
)
def test_nothing_else_may_differ_either(bench: Path, arms: dict[str, dict[str, Any]], extra: dict[str, Any]) -> None:
    other = completed(arms["careful"], extra)
    with pytest.raises(PreflightError):
        check_before({**arms, "careful": other}, get_scenario(bench, "first-bug").scenario, without=False)


def test_an_opening_is_named_anew_when_it_is_completed() -> None:
    """Agent and runner both know of the environment; the runner's word on the world stands."""
    said = {"model": "m", "environment": {"servers": {"asd": "1"}, "sandbox": "?"}}
    whole = completed(said, {"environment": {"sandbox": "overlay"}, "files": "d"})
    assert {"model": "m", "environment": {"servers": {"asd": "1"}, "sandbox": "overlay"}, "files": "d"} == whole
    assert fingerprint(said) != fingerprint(whole)


# In the order in which attempts are made


class Listed:
    """A pace that hands out one batch."""

    def __init__(self, slots: list[PlannedRow]) -> None:
        self.batches = [slots]

    def next(self) -> list[PlannedRow]:
        return self.batches.pop() if self.batches else []

    def finished(self) -> bool:
        return not self.batches


def test_each_scenarios_first_block_is_made_before_later_ones() -> None:
    """So that however many are made at a time, nothing is spent on a second block before the first is looked at."""
    slots = [
        PlannedRow(run_id=1, position=i, scenario_hash=digest, block=block, arm=arm, model="m", baseline=arm == "b")
        for i, (block, digest, arm) in enumerate((b, d, a) for b in (2, 3, 5) for d in "xy" for a in "ab")
    ]
    pace = FirstBlocksFirst(Listed(slots))
    assert slots[:4] == pace.next()
    assert slots[4:] == pace.next()
    assert [] == pace.next()


def test_a_later_attempt_that_begins_otherwise_is_found(bench: Path, arms: dict[str, dict[str, Any]]) -> None:
    begun = Beginnings.of(get_scenario(bench, "first-bug").scenario, without=False)
    assert [None] * 4 == [begun.take(arm, arms[arm]) for arm in ("careful", "baseline", "baseline", "careful")]
    found = begun.take("careful", completed(arms["careful"], {"model": "openai/other"}))
    assert found is not None
    assert "the attempts of careful did not all begin with the same request: model" == found.reason


@pytest.mark.slow
def test_what_an_arm_with_tool_servers_will_ask_is_known_once_they_were_tried(bench: Path) -> None:
    """To the letter what its attempts begin with; without a trial it is not known, and not guessed."""
    with LoopbackServer(USES) as server:
        settings = with_tools(bench, server, {"careful": ["small"]})
        chosen = chosen_for(bench, settings)
        (loaded,) = chosen.loaded
        tried = asyncio.run(check_equipment(bench, chosen, settings, lambda _: None))["first-bug"]
        told = [
            planned_openings(
                prepare(loaded, bench, settings), settings, chosen.mode, AS_SAID,
                lambda name: make_model(name, settings), known,
            )
            for known in (tried, {})
        ]  # fmt: skip
        assert [{"careful", "baseline"}, {"baseline"}] == [set(one) for one in told]
        check_before(told[0], loaded.scenario, without=False)
        store, result, _ = run(bench, settings, blocks=1)
    with store:
        begun = {as_text(one.content) for one in openings(store, result.run_id).values() if one.content}
        assert begun == {as_text(one) for one in told[0].values()}


# In real runs


@pytest.mark.slow
def test_declared_differences_do_not_stop_a_run_and_its_openings_are_stored(bench: Path) -> None:
    """A prompt and a tool server, both declared: every attempt is made, and begins as was told before."""
    with LoopbackServer(USES) as server:
        settings = with_tools(bench, server, {"careful": ["small"]})
        store, result, _ = run(bench, settings)
    with store:
        assert (None, "done", ()) == (result.stopped, result.status, result.undeclared)
        contents = [one.content for one in openings(store, result.run_id).values()]
        assert 4 == len(contents)
        assert 2 == len({as_text(one) for one in contents if one})
        mode, _ = resolve_mode(settings)
        assert {mode} == {one and one["environment"]["sandbox"] for one in contents}


@pytest.mark.slow
def test_a_difference_nobody_declared_stops_the_run_after_its_first_block(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both arms have the server, and it describes its tools anew at every start. Going on says the same again."""
    with LoopbackServer(USES) as server:
        settings = with_tools(bench, server, {"careful": ["small"], "baseline": ["small"]}, "clock")
        store, result, said = run(bench, settings, blocks=3, parallel=4)
        with store:
            parts = "tool small__callees, tool small__callers"
            reason = f"first-bug: the arms differ in what the scenario does not declare: {parts}"
            assert (reason, "stopped") == (result.stopped, result.status)
            assert [1, 1] == [block for _, block, _ in made(store)]
            assert any("-" in line and "Started at" in line for line in said)
            gone_on = asyncio.run(resume(bench, result.run_id, settings, store, said.append, None))
            assert (reason, "stopped", []) == (gone_on.stopped, gone_on.status, gone_on.made)
        monkeypatch.chdir(bench)
        assert 3 == run_app(["run", "--resume", str(result.run_id)])
        shown = capfd.readouterr()
        assert "make the arms alike in this, or declare it" in shown.err
        assert "UNDECLARED DIFFERENCE" in shown.out
        assert 0 == run_app(["compare", str(result.run_id), "--differences"])
        shown = capfd.readouterr()
        assert "tool small__callers  (NOT DECLARED)" in shown.out
        assert "\nsystem prompt\n--- baseline\n+++ careful\n" in shown.out


@pytest.mark.slow
def test_an_arm_that_begins_otherwise_later_stops_the_run(bench: Path) -> None:
    """The first block cannot show it: only the treated arm has the server."""
    with LoopbackServer(USES) as server:
        settings = with_tools(bench, server, {"careful": ["small"]}, "clock")
        store, result, _ = run(bench, settings, blocks=4)
    with store:
        assert (result.stopped or "").startswith(
            "first-bug: the attempts of careful did not all begin with the same request: tool small__callees"
        )
        assert 3 <= len(made(store)) <= 4
