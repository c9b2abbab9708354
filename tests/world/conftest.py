"""Real worlds for the tests: a small fixture, a cache for the session, and a way to run a body in an open world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from crucible.world import make_world
from crucible.world.snapshot import take_snapshot
from crucible.world.types import SandboxMode, Snapshot, World, WorldSpec

T = TypeVar("T")

FILES = {
    "README.md": b"# Shop\n",
    "src/price.py": b"def price(n):\n    return n * 2\n",
    "src/deep/inner/one.py": b"ONE = 1\n",
    "src/deep/inner/two.py": b"TWO = 2\n",
    "src/crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "run.sh": b"#!/bin/sh\necho run\n",
    "tests/test_price.py": b"from src.price import price\n\n\ndef test_price():\n    assert price(2) == 4\n",
    "tests/data/in.txt": b"in\n",
    ".gitignore": b"*.log\nbuild/\n",
}


@dataclass(frozen=True)
class Bench:
    """Where a test's worlds come from."""

    snapshot: Snapshot
    scratch: Path

    def run(self, body: Callable[[World], Awaitable[T]], mode: SandboxMode = "overlay", **spec: Any) -> T:
        """What `body` returns of a fresh world, which is closed after it."""
        return asyncio.run(self._run(body, mode, WorldSpec(self.snapshot, **spec)))

    async def _run(self, body: Callable[[World], Awaitable[T]], mode: SandboxMode, spec: WorldSpec) -> T:
        world = make_world(spec, mode, self.scratch)
        try:
            await world.open()
            return await body(world)
        finally:
            await world.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests of a session: the test environment in it takes seconds to build."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def fixture_folder(tmp_path: Path) -> Path:
    """A small repository, with a link and an executable file."""
    folder = tmp_path / "fixture"
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "run.sh").chmod(0o755)
    (folder / "link.py").symlink_to("src/price.py")
    return folder


@pytest.fixture
def bench(fixture_folder: Path, cache: Path, tmp_path: Path) -> Bench:
    """The small fixture, frozen."""
    return Bench(take_snapshot(fixture_folder, cache), tmp_path / "scratch")


@pytest.fixture
def sandboxed(bench: Bench, sandbox: None) -> Bench:
    """The same where the sandbox works; elsewhere the test is skipped with the reason."""
    return bench
