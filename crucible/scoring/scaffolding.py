"""What of an agent's change is left out of grading: protected paths, the suite, what steers the test runner."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from crucible.scoring.runner_settings import is_settings, runner_settings, steered_by
from crucible.world.types import Change, FileChange, FileState

_TEST_FILE = re.compile(r"(^|/)(tests?|__tests__|spec)/|(^|/)(test_[^/]*|[^/]*_test)\.[a-z]+$|\.(test|spec)\.[a-z]+$")
_RUNNER_FILE = re.compile(
    r"(^|/)(conftest\.py|\.?pytest\.ini|\.?pytest\.toml|(site|user)customize(\.[^/]*)?|[^/]*\.pth|[^/]*\.egg-link"
    r"|[^/]*\.(dist|egg)-info|pyvenv\.cfg|\.coveragerc)(/|$)",
    re.IGNORECASE,  # so does a file system that ignores case, and importlib.metadata everywhere
)
_RUNNER_MODULES = {
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "xdist",
    "execnet",
    "py",
    "coverage",
    "hypothesis",
} | {*("exceptiongroup", "tomli", "colorama", "attr", "attrs")}
_SOURCE_ROOTS = ("src/", "lib/")
_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh")


@dataclass(frozen=True, slots=True)
class Filtered:
    """The part of a change that is graded, and why each other path is not."""

    graded: Change
    left_out: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Rules:
    protected_by: Callable[[str], str | None]
    exempt: Collection[str]
    command: str
    tops: Collection[str]


def filter_change(
    change: Change,
    protected_by: Callable[[str], str | None],
    exempt: Collection[str] = frozenset(),
    *,
    command: str = "",
    files: Iterable[str] = (),
) -> Filtered:
    """Split a change for grading. `exempt` are paths the reference itself changes: they are never left out as test files.

    `command` is what runs the suite, `files` are the fixture's: a new file in an old package shadows nothing.
    """
    rules = _Rules(protected_by, exempt, command, {_top(path) for path in files})
    judged = [(file, [(half, _why(half, rules)) for half in _halves(file)]) for file in change.files]
    refused = {half.path: reason for _, halves in judged for half, reason in halves if reason}
    folders = {folder for path in refused for folder in _folders(path)}
    left_out: dict[str, str] = {}
    kept: list[FileChange] = []
    for file, halves in judged:
        reasons = [reason for _, reason in halves if reason]
        parts = [half for half, reason in halves if not reason] if reasons else [file]
        usurpers = [part for part in parts if part.path in folders or not _folders(part.path).isdisjoint(refused)]
        kept += [part for part in parts if part not in usurpers]
        if usurpers or reasons:
            left_out[file.path] = (reasons or ["stands in the place of what is left out"])[0]
    return Filtered(replace(change, files=tuple(kept)), left_out)


def grades(path: str) -> bool:
    """Whether a fixture's file is code that grades: a test, or what steers the test runner. Data of tests is not."""
    return bool(_RUNNER_FILE.search(path)) or (bool(_TEST_FILE.search(path)) and path.endswith(_CODE))


def _halves(file: FileChange) -> Iterator[FileChange]:
    """A rename is a file added and a file deleted; each is judged by itself."""
    if file.status == "rename" and file.old_path is not None:
        yield FileChange(file.path, "add", None, file.after)
        yield FileChange(file.old_path, "delete", file.before, None)
    else:
        yield file


def _folders(path: str) -> set[str]:
    """The folders a path lies in. A link or file at one of them, or a folder at a file, would take the old one away."""
    return {str(folder) for folder in PurePosixPath(path).parents}


def _why(file: FileChange, rules: _Rules) -> str | None:
    path = file.path
    if (policy := rules.protected_by(path)) is not None:
        return f"protected by {policy}"
    if file.after is not None and file.after.data is None:
        return f"too large to be graded ({file.after.size:,} bytes)"
    if path in rules.exempt:
        return None
    if _RUNNER_FILE.search(path):
        return "steers the test runner"
    if _TEST_FILE.search(path):
        return "the suite is the fixture's own"
    if steered_by(rules.command, path):
        return "steers the command that runs the suite"
    if file.before is None and _shadows(path) and _top(path) not in rules.tops:
        return "would be imported instead of the test runner or the standard library"
    if is_settings(path, rules.command) and _differ(path, file.before, file.after):
        return "changes settings of the test runner"
    return None


def _top(path: str) -> str:
    """The name under which a file's outermost package or module is imported."""
    for root in _SOURCE_ROOTS:
        path = path.removeprefix(root)
    return path.split("/", 1)[0].partition(".")[0]


def _shadows(path: str) -> bool:
    """Whether the test process would find a new module before the real one."""
    top = _top(path)
    named = top in _RUNNER_MODULES or top in sys.stdlib_module_names or top.startswith(("pytest", "_pytest"))
    return named and path.endswith((".py", ".so", ".pyc"))


def _differ(path: str, before: FileState | None, after: FileState | None) -> bool:
    return bool(runner_settings(path, before) != runner_settings(path, after))
