"""Real agent CLIs, installed by the ordinary clients into a folder that is kept between test sessions."""

from __future__ import annotations

import fcntl
import json
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
_SECONDS = 1800
"""Some of them are hundreds of megabytes."""
_VERSIONS = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.171.0",
    "aider-chat": "0.86.2",
    "mini-swe-agent": "2.4.6",
    "opencode-ai": "1.18.33",
}
"""What is tested is Crucible, not what somebody published this morning."""
_NO_SUCH = ("E404", "ETARGET", "404 Not Found", "No matching distribution", "was not found in the package registry")
"""How npm, pip and uv say that a registry does not have a package, or not this version."""


@cache
def from_npm(folder: str, package: str) -> Path:
    """The folder of a package and its programs' links; the test is skipped when the registry does not have it."""
    root = KEPT / folder
    here, version = root / "node_modules", _VERSIONS[package]
    with _alone(folder):
        said = here / package / "package.json"
        if not said.exists() or version != json.loads(said.read_text("utf-8"))["version"]:
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("no npm here")
            quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
            _install(package, [npm, "install", "--prefix", str(root), *quiet, f"{package}@{version}"])
    return here / ".bin"


@cache
def from_pypi(folder: str, package: str) -> Path:
    """The programs of a package in a virtual environment of its own; the test is skipped when the registry lacks it."""
    root = KEPT / folder
    with _alone(folder):
        if not any(root.glob(f"lib/*/site-packages/{package.replace('-', '_')}-{_VERSIONS[package]}.dist-info")):
            shutil.rmtree(root, ignore_errors=True)
            _fill(root, package)
    return root / "bin"


def _fill(root: Path, package: str) -> None:
    uv = shutil.which("uv")
    python = str(root / "bin" / "python")
    fill = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install", "-q"]
    try:
        _install(package, [uv, "venv", str(root)] if uv else [sys.executable, "-m", "venv", str(root)])
        _install(package, [*fill, f"{package}=={_VERSIONS[package]}"])
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
