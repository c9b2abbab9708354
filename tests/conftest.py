"""What tests share: a small bench of its own for each test, and a way to run the command line as its user does."""

from __future__ import annotations

import fcntl
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import crucible
from crucible.scenario.starter import make_bench
from crucible.world.probe import probe

# How long an example takes says how busy the machine is, and nothing about the code. Where a change is judged the examples
# are the same each time, so that red means the change; new ones are tried at home.
settings.register_profile(
    "crucible", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
if "CI" in os.environ:
    # Examples are drawn from the constants of the modules that are loaded, too, and which those are would depend on the
    # tests that a worker happened to have before.
    for _module in pkgutil.walk_packages(crucible.__path__, "crucible."):
        if not _module.name.endswith("__main__"):  # that one is the program
            importlib.import_module(_module.name)
settings.register_profile("quick", parent=settings.get_profile("crucible"), max_examples=25)
settings.load_profile("crucible")

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of snapshots and test environments for all tests of a process."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For tests of the overlay sandbox itself; where the kernel allows none they are skipped with the reason."""
    found = probe(tmp_path_factory.getbasetemp())
    if not found.ok:
        pytest.skip(f"no sandbox here: {found.why}")


@pytest.fixture
def bench(tmp_path: Path, cache: Path) -> Path:
    """A new bench folder with the starter scenario `first-bug`."""
    return new_bench(tmp_path / "bench", cache)


@pytest.fixture(scope="module")
def shared_bench(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """One bench for all tests of a module, whose scenario is validated once."""
    return new_bench(tmp_path_factory.mktemp("module") / "bench", cache)


@pytest.fixture(scope="session")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench whose store holds a real rehearsal of the starter scenario: run 1, attempts 1 to 4. To be copied, not used.

    It takes ten seconds, so that one process of a test run makes it and the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    bench, done = common / "rehearsed", common / "rehearsed.done"
    with (common / "rehearsed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(bench, ignore_errors=True)
            _rehearse(new_bench(bench, common / "rehearsed.cache"))
            done.touch()
    return bench


def _rehearse(bench: Path) -> None:
    command = [sys.executable, "-m", "crucible", "run", "first-bug", "--rehearse", "--blocks", "2", "--seed", "7"]
    done = subprocess.run(
        command, cwd=bench, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode in (0, 3), done.stderr


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
            timeout=600,
            check=False,
        )

    return run


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without anybody's keys."""
    return {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_API_BASE"))} | extra
