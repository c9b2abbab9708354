"""`crucible tools install`: an existing tool server in an environment of its own, from a lock that Crucible ships.

The environment lies in the cache. What makes it whole is a marker written last: without it, it is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crucible.errors import CrucibleError
from crucible.redaction import redact
from crucible.world.python_env import base_interpreter
from crucible.world.tree import remove_tree

INSTALLABLE = ("code-graph",)
"""What Crucible can install; everything else its maker distributes."""
PACKAGE = "codenav-mcp"
LOCK = Path(__file__).with_name("code-graph.lock")
MARKER = "crucible-installed.json"
_LAST_LINES = 30
_LONGEST_REASON = 400

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that is there and whole."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def script(self) -> Path:
        """What starts the server, for that interpreter."""
        return self.folder / "bin" / PACKAGE


def locked_version() -> str:
    """The version of the server that the lock names."""
    found = re.search(rf"^{PACKAGE}==(\S+)", LOCK.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise CrucibleError(f"{LOCK} does not name {PACKAGE}", hint="install Crucible again")
    return found[1]


def installed(cache: Path) -> Installed | None:
    """The environment of code-graph; None when it is not there, not whole, or made for another lock or interpreter."""
    folder = _place(cache)
    return Installed(folder) if (folder / MARKER).is_file() and (folder / "bin" / "python").exists() else None


def install(cache: Path, say: Say) -> Installed:
    """Install code-graph unless it is there. Raises CrucibleError when it cannot be, leaving nothing behind."""
    folder = _place(cache)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(".lock"), say):
        if (there := installed(cache)) is not None:
            say(f"code-graph ({PACKAGE} {locked_version()}) is there already: {folder}")
            return there
        remove_tree(folder)
        say(f"installing code-graph ({PACKAGE} {locked_version()}) in {folder}")
        try:
            for command in _commands(folder):
                _run(command, folder.parent, say)
            (folder / MARKER).write_text(json.dumps({PACKAGE: locked_version(), "lock": _digest()}) + "\n")
        finally:
            if installed(cache) is None:
                remove_tree(folder)
    return Installed(folder)


def _place(cache: Path) -> Path:
    text = "\0".join([_digest(), sys.version, str(base_interpreter())])
    return cache.absolute() / "servers" / f"code-graph-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


@contextmanager
def _alone(lock: Path, say: Say) -> Iterator[None]:
    """One installation at a time; the lock goes with the process, however it ends."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is installing it; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _commands(folder: Path) -> list[list[str]]:
    """Make the environment, then fill it with what the lock names and nothing else. Nothing is built from source.

    Compiled here: in a sandbox the folder cannot be written, and each start would compile everything again.
    """
    python, lock = str(folder / "bin" / "python"), str(LOCK)
    if (uv := _uv()) is not None:
        return [
            [uv, "venv", "--quiet", "--no-project", "--python", str(base_interpreter()), str(folder)],
            [uv, "pip", "sync", "--require-hashes", "--no-build", "--compile-bytecode", "--python", python, lock],
        ]
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return [
        [str(base_interpreter()), "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", *quiet, "--require-hashes", "--only-binary", ":all:", "-r", lock],
    ]


def _uv() -> str | None:
    """uv, where there is one that runs: a version manager may have left a name behind."""
    uv = shutil.which("uv")
    works = uv is not None and subprocess.run([uv, "--version"], capture_output=True, check=False).returncode == 0
    return uv if works else None


def _run(command: Sequence[str], where: Path, say: Say) -> None:
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(
        command, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            last.append(redact(line.rstrip()))
            say(f"  {last[-1]}")
    if process.returncode:
        raise CrucibleError(
            f"code-graph could not be installed: {_reason(last) or f'exit code {process.returncode}'}",
            hint="it comes from a Python package index, as uv or pip are set up here; then once more: crucible tools install",
        )


def _reason(lines: Sequence[str]) -> str:
    """What says why, among the last lines printed: the first that calls itself an error and the next, else the last."""
    said = [line.strip() for line in lines if line.strip()]
    first = next((n for n, line in enumerate(said) if re.match(r"error\b|fatal\b", line, re.IGNORECASE)), len(said) - 1)
    return " ".join(said[max(0, first) : first + 2])[:_LONGEST_REASON]
