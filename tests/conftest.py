"""What tests share: a small bench of its own for each test, and a way to run the command line as its user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from crucible.scenario.starter import make_bench

# How long an example takes says how busy the machine is, and nothing about the code. Where a change is judged the examples
# are the same each time, so that red means the change; new ones are tried at home.
settings.register_profile(
    "crucible", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("crucible")

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of snapshots and test environments for all tests of a process."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def bench(tmp_path: Path, cache: Path) -> Path:
    """A new bench folder with the starter scenario `first-bug`."""
    return new_bench(tmp_path / "bench", cache)


@pytest.fixture(scope="module")
def shared_bench(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """One bench for all tests of a module, whose scenario is validated once."""
    return new_bench(tmp_path_factory.mktemp("module") / "bench", cache)


def new_bench(folder: Path, cache: Path) -> Path:
    """The starter bench, with the tests' cache."""
    make_bench(folder)
    config = folder / "crucible.toml"
    config.write_text(f'{config.read_text()}cache = "{cache}"\n')
    return folder


@pytest.fixture
def cli(bench: Path) -> Cli:
    """Runs `crucible ...` in the bench; no API key reaches it unless it is given."""

    def run(*arguments: str, cwd: Path = bench, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "crucible", *arguments],
            cwd=cwd,
            env=environment(**env),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without anybody's keys."""
    return {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_API_BASE"))} | extra
