"""Real agent CLIs, installed by the ordinary clients into a folder that is kept between test sessions."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "crucible-tests"
_SECONDS = 600
_NO_SUCH = ("E404", "404 Not Found", "No matching distribution", "was not found in the package registry")
"""How npm, pip and uv say that a registry does not have a package."""


@cache
def from_npm(folder: str, package: str) -> Path:
    """The folder of a package and its programs' links; the test is skipped when the registry does not have it."""
    root = KEPT / folder
    programs = root / "node_modules" / ".bin"
    with _alone(folder):
        if not programs.is_dir():
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("no npm here")
            _install(
                package, [npm, "install", "--prefix", str(root), "--no-audit", "--no-fund", "--loglevel=error", package]
            )
    return programs


@cache
def from_pypi(folder: str, package: str) -> Path:
    """The programs of a package in a virtual environment of its own; the test is skipped when the registry lacks it."""
    root = KEPT / folder
    with _alone(folder):
        if not (root / "bin" / "python").exists():
            _fill(root, package)
    return root / "bin"


def _fill(root: Path, package: str) -> None:
    uv = shutil.which("uv")
    python = str(root / "bin" / "python")
    fill = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install", "-q"]
    try:
        _install(package, [uv, "venv", str(root)] if uv else [sys.executable, "-m", "venv", str(root)])
        _install(package, [*fill, package])
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """One test process at a time: they share the folders."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(package: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        if any(word in said for word in _NO_SUCH):
            pytest.skip(f"the registry has no {package}: {said}")
        pytest.fail(f"{package} could not be installed: {said}")
