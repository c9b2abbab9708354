"""Files that steer a test runner beside other things: which they are, and the part of them that does."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from pathlib import PurePosixPath
from typing import Any

from crucible.world.types import FileState

_SHARED = {"pyproject.toml", "setup.cfg", "tox.ini"}
_NODE = {"npm", "npx", "pnpm", "yarn", "bun", "node", "jest", "vitest", "mocha", "ava"}
_NODE_PARTS = ("scripts", "jest", "mocha", "ava", "vitest", "c8", "nyc")
_STEERED = (
    ({"make", "gmake"}, re.compile(r"(^|/)((gnu)?makefile|[^/]*\.mk)$", re.IGNORECASE)),
    ({"nox"}, re.compile(r"(^|/)noxfile\.py$", re.IGNORECASE)),
    ({"tox"}, re.compile(r"(^|/)tox\.(ini|toml)$", re.IGNORECASE)),
    ({"invoke", "inv"}, re.compile(r"(^|/)tasks\.py$", re.IGNORECASE)),
    ({"just"}, re.compile(r"(^|/)\.?justfile$", re.IGNORECASE)),
    ({"task"}, re.compile(r"(^|/)taskfile\.ya?ml$", re.IGNORECASE)),
    ({"cargo"}, re.compile(r"(^|/)\.cargo/", re.IGNORECASE)),
    (
        _NODE,
        re.compile(
            r"(^|/)(\.npmrc|\.yarnrc[^/]*|\.mocharc[^/]*|[^/]*(jest|vitest|vite|ava)\.config\.[a-z]+)$", re.IGNORECASE
        ),
    ),
)
_SCRIPTS = {"", ".sh", ".bash"}


def steered_by(command: str, path: str) -> bool:
    """Whether a file steers the command: a script it names, or the file its runner reads what to do from."""
    words = _words(command)
    return (path in words and _is_script(path)) or any(words & names and what.search(path) for names, what in _STEERED)


def is_settings(path: str, command: str) -> bool:
    """Whether a file holds settings of a test runner among others."""
    name = path.rpartition("/")[2].lower()
    return name in _SHARED or (name == "package.json" and not _NODE.isdisjoint(_words(command)))


def runner_settings(path: str, state: FileState | None) -> Any:
    """The part of a settings file that steers a test runner; None when there is none. A link is no other's equal."""
    if state is None or not state.data:
        return None
    if state.kind == "symlink":
        return "link", state.data
    text = state.data.decode("utf-8", "replace")
    name = path.rpartition("/")[2].lower()
    try:
        return (
            _of_toml(text) if name == "pyproject.toml" else _of_json(text) if name == "package.json" else _of_ini(text)
        )
    except (ValueError, configparser.Error, AttributeError, TypeError):
        return text  # unreadable settings are equal to nothing else


def _of_toml(text: str) -> Any:
    tools = tomllib.loads(text).get("tool", {})
    return {name: tools[name] for name in ("pytest", "coverage", "tox") if name in tools} or None


def _of_json(text: str) -> Any:
    whole = json.loads(text)
    return {name: whole[name] for name in _NODE_PARTS if name in whole} or None


def _of_ini(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {s: dict(parser[s]) for s in parser.sections() if "pytest" in s or s.startswith("coverage")} or None


def _words(command: str) -> set[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return {word.strip(";&|()") for word in words} | {word.removeprefix("./").strip(";&|()") for word in words}


def _is_script(path: str) -> bool:
    place = PurePosixPath(path)
    return place.suffix in _SCRIPTS or "test" in place.stem
