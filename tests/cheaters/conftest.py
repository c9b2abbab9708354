"""What the cheater tests share: a place to try tricks, one for each process of the test run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crucible.runner.prepare import Prepared, prepare, resolve_mode
from crucible.scenario.catalog import get_scenario
from crucible.selftest.bench import SCENARIO, make_place
from crucible.selftest.catalog import Trick
from crucible.selftest.results import Result
from crucible.selftest.trying import Trial, open_trial
from crucible.settings import Settings
from crucible.world.types import SandboxMode


@dataclass
class Arena:
    """A trial and the event loop it lives on."""

    trial: Trial
    runner: asyncio.Runner

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def trick(self, trick: Trick) -> Result:
        result: Result = self.run(self.trial.trick(trick))
        return result


def open_arena(mode: SandboxMode, cache: Path) -> Iterator[Arena]:
    with asyncio.Runner() as runner:
        opened = open_trial(mode, Settings(sandbox=mode, cache=str(cache)))
        trial = runner.run(opened.__aenter__())
        try:
            yield Arena(trial, runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def arena(cache: Path) -> Iterator[Arena]:
    """Where tricks are tried behind walls."""
    mode, why = resolve_mode(Settings())
    if mode != "overlay":
        pytest.skip(f"no sandbox here: {why}")
    yield from open_arena("overlay", cache)


@pytest.fixture(scope="session")
def open_ground(cache: Path) -> Iterator[Arena]:
    """Where tame tricks are tried without walls."""
    yield from open_arena("copy", cache)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Prepared:
    """The scenario that the tricks are played on."""
    place = tmp_path_factory.mktemp("ground") / "bench"
    make_place(place)
    return prepare(get_scenario(place, SCENARIO), place, Settings(cache=str(cache)))
