"""Where an agent CLI of the user's is: in the folders given, on PATH, or among npm's global packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from crucible.agents.mcp.programs import OF_THE_SANDBOX, Found, find

_SECONDS = 20
_BELOW = ("", "bin", "node_modules/.bin", ".bin")


def locate(program: str, folders: Sequence[str] = ()) -> Found | None:
    """A program by its name or path, with all that must be visible for it to run; None when it is not found.

    `folders` may be an installation's root, its `bin` or its `node_modules`. All of them are made visible.
    """
    given = tuple(Path(folder).expanduser().absolute() for folder in folders)
    for place in (*_within(program, given), *_elsewhere(program)):
        if place in OF_THE_SANDBOX or _is_program(Path(place)):
            found = find(place)
            return None if found is None else Found(found.command, tuple(dict.fromkeys((*found.shown, *given))))
    return None


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _within(program: str, folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        yield from (str(folder / below / program) for below in _BELOW)


def _elsewhere(program: str) -> Iterator[str]:
    if "/" in program or program in OF_THE_SANDBOX:
        yield str(Path(program).expanduser())
        return
    if (on_path := shutil.which(program)) is not None:
        yield on_path
    if (root := _npm_root()) is not None:
        yield str(root / ".bin" / program)
        yield str(root.parent.parent / "bin" / program)


@cache
def _npm_root() -> Path | None:
    """Where npm keeps global packages; that its `bin` beside is not on PATH is common."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    asked = [npm, "root", "-g"]
    try:
        said = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    line = said.stdout.strip()
    return Path(line) if said.returncode == 0 and line.startswith("/") else None
