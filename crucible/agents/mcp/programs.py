"""Where a command really lives on this machine, and what of the machine a sandbox must show for it to run inside.

As little as can be: a virtual environment with its interpreter, a folder of node modules, else the one file. Never a
folder such as ~/.local/bin as a whole, in whose neighbourhood private things lie.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crucible.world.python_env import user_python
from crucible.world.sandbox import IN_MEMORY, WORKSPACE, is_in_system

OF_THE_SANDBOX = ("python", "python3", "sh", "bash")
"""Commands that mean the sandbox's own program, not the user's."""
FETCHERS = ("npx", "uvx", "pipx", "bunx", "pnpx")
"""Commands that fetch the program they start."""
_MODULES = "node_modules"


@dataclass(frozen=True, slots=True)
class Found:
    """A command that is there: the words that start it inside, and the host paths they need to be visible."""

    command: tuple[str, ...]
    shown: tuple[Path, ...] = ()


def find(command: str) -> Found | None:
    """A command by name, as the user's shell would find it, or by absolute path; None when there is none."""
    if command in OF_THE_SANDBOX or command.startswith(f"{WORKSPACE}/"):
        return Found((command,))
    named = shutil.which(Path(command).expanduser())
    return None if named is None else _inside(Path(named).absolute())


def unseen(words: Iterable[str], seen: Iterable[Path]) -> Path | None:
    """The first absolute path among the words of commands that is there, and not in a sandbox that shows `seen`."""
    shown = [*seen, *map(Path, (WORKSPACE, "/dev", "/proc"))]
    paths = (Path(word) for word in words if word.startswith("/") and word not in IN_MEMORY)
    here = (path for path in paths if path.exists() and not is_in_system(path))
    return next((path for path in here if not any(path.is_relative_to(one) for one in shown)), None)


def _inside(program: Path) -> Found:
    real = Path(os.path.realpath(program))
    for path in (program, real):
        if (home := _environment_of(path)) is not None:
            return _shown((str(path),), home, *user_python(home).base)
    if _MODULES in real.parts:
        modules = Path(*real.parts[: real.parts.index(_MODULES) + 1])
        return _interpreted(real, modules)
    # A program may look at the name it was called by, so a link is not followed.
    return _interpreted(real if is_in_system(program) else program, real if is_in_system(program) else program)


def _interpreted(script: Path, *shown: Path) -> Found:
    """With its interpreter in front where that is not in the system, so not on the sandbox's PATH."""
    named = _interpreter(script)
    found = shutil.which(named) if named and named not in OF_THE_SANDBOX else None
    real = Path(os.path.realpath(found)) if found else None
    if (
        real is None or is_in_system(real) or _interpreter(real) is not None
    ):  # a script itself: a version manager's shim
        return _shown((str(script),), *shown)
    prefix = real.parents[1] if real.name.startswith("python") else real
    return _shown((str(real), str(script)), prefix, *shown)


def _shown(command: tuple[str, ...], *paths: Path) -> Found:
    return Found(command, tuple(dict.fromkeys(path for path in paths if not is_in_system(path))))


def _environment_of(program: Path) -> Path | None:
    """The virtual environment a program lies in."""
    home = program.parent.parent
    return home if (home / "pyvenv.cfg").is_file() and (home / "bin" / "python3").exists() else None


def _interpreter(script: Path) -> str | None:
    """What the first line of a script names, by path or, through env, by name; None for a binary."""
    with script.open("rb") as file:
        first = file.readline(512)
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
