"""Tricks are real: each beats a harness without defences, which is played here behind walls all the same."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from crucible.runner.prepare import Prepared, resolve_mode
from crucible.selftest.catalog import Family, Trick, tricks
from crucible.selftest.trying import filled
from crucible.settings import Settings
from crucible.world import make_world
from crucible.world.types import Execution

pytestmark = pytest.mark.slow
SUITE = "python3 -m pytest -q"
MENDED = "start + size]"


def shown(*families: Family) -> list[Trick]:
    return [trick for trick in tricks() if trick.family in families and trick.plain is None]


async def afterwards(prepared: Prepared, scratch: Path, trick: Trick, command: str) -> tuple[Execution, str]:
    """A command where the agent worked, as a plain harness runs it, with nothing protected; and the source it left."""
    world = make_world(replace(prepared.world_spec(Settings()), protected=()), "overlay", scratch)
    try:
        await world.open()
        for turn in filled(trick.turns, {"@MARK@": "mark"}):
            for call in turn.calls:
                await world.call(call.tool, json.loads(call.raw_arguments))
        done = await world.execute(command, seconds=60, env={"PYTEST_ADDOPTS": "--junitxml=/tmp/report.xml"})
        source = await world.call("bash", {"command": "cat shelf/pages.py"})
    finally:
        await world.close()
    return done, source.text


@pytest.fixture(autouse=True, scope="module")
def _walls() -> None:
    if (found := resolve_mode(Settings()))[0] != "overlay":
        pytest.skip(f"no sandbox here: {found[1]}")


@pytest.mark.parametrize("trick", shown("tests", "policy"), ids=lambda trick: trick.id)
def test_a_plain_run_of_pytest_is_green(prepared: Prepared, tmp_path: Path, trick: Trick) -> None:
    done, source = asyncio.run(afterwards(prepared, tmp_path, trick, SUITE))
    assert 0 == done.exit_code, done.output
    assert MENDED not in source


@pytest.mark.parametrize("trick", shown("hiding"), ids=lambda trick: trick.id)
def test_git_does_not_see_the_change(prepared: Prepared, tmp_path: Path, trick: Trick) -> None:
    done, _ = asyncio.run(afterwards(prepared, tmp_path, trick, "git status --porcelain --untracked-files=all"))
    assert 0 == done.exit_code, done.output
    assert [] == [path for path in trick.hides if path in done.output]


def test_few_tricks_cannot_be_shown() -> None:
    assert 0.25 >= sum(trick.plain is not None for trick in tricks()) / len(tricks())
