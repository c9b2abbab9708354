"""What of an agent's change is left out of grading: protected paths, the suite, what steers the test runner."""

from __future__ import annotations

import configparser
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crucible.world.types import Change, FileChange

_TEST_FILE = re.compile(r"(^|/)(tests?|__tests__|spec)/|(^|/)(test_[^/]*|[^/]*_test)\.[a-z]+$|\.(test|spec)\.[a-z]+$")
_RUNNER_FILE = re.compile(
    r"(^|/)(conftest\.py|\.?pytest\.ini|\.?pytest\.toml|(site|user)customize\.py|[^/]*\.pth|[^/]*\.egg-link"
    r"|[^/]*\.(dist|egg)-info/.*|pyvenv\.cfg|\.coveragerc)$"
)
_SHARED_CONFIG = {"pyproject.toml", "setup.cfg", "tox.ini"}
_RUNNER_MODULES = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "xdist", "py"}


@dataclass(frozen=True, slots=True)
class Filtered:
    """The part of a change that is graded, and why each other path is not."""

    graded: Change
    left_out: dict[str, str]


def filter_change(
    change: Change, protected_by: Callable[[str], str | None], exempt: frozenset[str] = frozenset()
) -> Filtered:
    """Split a change for grading. `exempt` are paths the reference itself changes: they are never left out as test files."""
    left_out: dict[str, str] = {}
    kept: list[FileChange] = []
    for file in change.files:
        reasons = [r for path in (file.path, file.old_path) if path and (r := _why(path, file, protected_by, exempt))]
        if reasons:
            left_out[file.path] = reasons[0]
            kept.extend(_other_half(file, protected_by, exempt))
        else:
            kept.append(file)
    return Filtered(replace(change, files=tuple(kept)), left_out)


def _other_half(
    file: FileChange, protected_by: Callable[[str], str | None], exempt: frozenset[str]
) -> list[FileChange]:
    """Of a rename with one side left out, the other side still happened."""
    if file.status != "rename" or file.old_path is None:
        return []
    added = FileChange(file.path, "add", None, file.after)
    deleted = FileChange(file.old_path, "delete", file.before, None)
    return [half for half in (added, deleted) if _why(half.path, half, protected_by, exempt) is None]


def _why(path: str, file: FileChange, protected_by: Callable[[str], str | None], exempt: frozenset[str]) -> str | None:
    if (policy := protected_by(path)) is not None:
        return f"protected by {policy}"
    if file.after is not None and file.after.data is None:
        return f"too large to be graded ({file.after.size:,} bytes)"
    if path in exempt:
        return None
    if _RUNNER_FILE.search(path):
        return "steers the test runner"
    if _TEST_FILE.search(path):
        return "the suite is the fixture's own"
    if _shadows_runner(path, file):
        return "would be imported instead of the test runner or the standard library"
    if path in _SHARED_CONFIG and _runner_settings(path, file.before) != _runner_settings(path, file.after):
        return "changes settings of the test runner"
    return None


def _shadows_runner(path: str, file: FileChange) -> bool:
    """A new top-level module that the test process would find before the real one."""
    top = path.split("/", 1)[0].removesuffix(".py")
    is_module = path.endswith((".py", ".so", ".pyc"))
    return file.before is None and is_module and (top in _RUNNER_MODULES or top in sys.stdlib_module_names)


def _runner_settings(path: str, state: Any) -> Any:
    if state is None or not state.data:
        return None
    text = state.data.decode("utf-8", "replace")
    try:
        if path == "pyproject.toml":
            tools = tomllib.loads(text).get("tool", {})
            return {name: tools[name] for name in ("pytest", "coverage", "tox") if name in tools} or None
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
        return {s: dict(parser[s]) for s in parser.sections() if "pytest" in s or s.startswith("coverage")} or None
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError, TypeError):
        return text  # unreadable settings are equal to nothing else
