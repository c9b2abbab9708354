"""An interpreter with pytest and nothing else: what `python3 -m pytest` finds inside. Our own environment stays unseen.

A folder that looks like a virtual environment, built once per set of versions and kept in the cache.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from crucible.errors import SandboxError
from crucible.world.tree import remove_tree

_ROOT = "pytest"
_VERSION = 1
_SCRIPT = """#!/bin/sh
'''exec' "$(dirname -- "$0")/python3" "$0" "$@"
' '''
import sys

from {module} import {attr}

sys.exit({attr}())
"""
"""Finds its interpreter beside itself, wherever the folder is seen from."""


@dataclass(frozen=True, slots=True)
class PythonHome:
    """Where Python is. `folder` holds bin/python3; `base` are the other host folders it is made of, as spelled."""

    folder: Path
    base: tuple[Path, ...]


def base_interpreter() -> Path:
    """The real interpreter that Crucible runs on, outside any virtual environment."""
    named = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return Path(os.path.realpath(named if named.exists() else sys.executable))


def base_folders() -> tuple[Path, ...]:
    """Host folders the base interpreter is made of."""
    return (Path(os.path.realpath(sys.base_prefix)),)


def user_python(python: Path) -> PythonHome:
    """A user's virtual environment or prefix. Raises SandboxError when it holds no python3."""
    python = python.absolute()
    interpreter = python / "bin" / "python3"
    if not interpreter.exists():
        raise SandboxError(
            f"{python}: no bin/python3 there", hint="point `python` at a virtual environment or a prefix"
        )
    homes = [Path(home).parent for home in _configured_homes(python)]
    real = Path(os.path.realpath(interpreter)).parents[1]
    return PythonHome(python, tuple(dict.fromkeys([*homes, real])))


def _configured_homes(python: Path) -> list[str]:
    """`home` of a pyvenv.cfg; it may be spelled through links, and is then needed under both names."""
    config = python / "pyvenv.cfg"
    lines = config.read_text("utf-8", "replace").splitlines() if config.exists() else []
    pairs = [line.partition("=") for line in lines]
    return [value.strip() for key, _, value in pairs if key.strip() == "home"]


def own_python(cache: Path) -> PythonHome:
    """The cached small environment, built when it is not there. Raises SandboxError when pytest is not installed."""
    place = cache.absolute() / "python" / _key()
    if not place.exists():
        _build(place, _closure())
    return PythonHome(place, base_folders())


@cache
def _closure() -> tuple[Distribution, ...]:
    """pytest and everything it needs here, by name. Raises SandboxError."""
    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    wanted = [_ROOT]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _installed(name)
            needs = map(Requirement, found[name].requires or [])
            wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return tuple(found[name] for name in sorted(found))


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise SandboxError(f"{name} is not installed, and tests need it", hint=f"pip install {name}") from None


@cache
def _key() -> str:
    names = [f"{part.name}=={part.version}" for part in _closure()]
    text = "\n".join([str(_VERSION), sys.version, str(base_interpreter()), *names])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _build(place: Path, parts: Sequence[Distribution]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    try:
        _fill(aside, parts)
        aside.chmod(0o755)
        aside.rename(place)
    except OSError as error:
        if not place.exists():  # else another process was first
            raise SandboxError(f"{place}: the test environment cannot be built: {error}") from error
    finally:
        remove_tree(aside)


def _fill(folder: Path, parts: Sequence[Distribution]) -> None:
    interpreter = base_interpreter()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / f"python{version}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in ("python", "python3", f"python{version}"):
        (folder / "bin" / name).symlink_to(interpreter)
    (folder / "pyvenv.cfg").write_text(
        f"home = {interpreter.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    )
    for part in parts:
        _copy(part, packages)
        for entry in part.entry_points.select(group="console_scripts", name=_ROOT):
            script = folder / "bin" / entry.name
            script.write_text(_SCRIPT.format(module=entry.module, attr=entry.attr))
            script.chmod(0o755)
    # It is seen read-only, so its modules must come compiled; unchecked, since nobody can change them.
    compileall.compile_dir(packages, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def _copy(part: Distribution, packages: Path) -> None:
    """Copy what a distribution installed in site-packages; not its scripts, not compiled files."""
    for file in part.files or []:
        if file.parts[0] != ".." and file.suffix != ".pyc" and not file.is_absolute():
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)
