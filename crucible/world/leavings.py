"""What an arm's own tooling leaves in the workspace is not the agent's change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from crucible.world.types import Change


def without_leavings(change: Change, globs: Sequence[str]) -> Change:
    """The change without the files that `globs` name, which are counted as junk; `*` in a glob crosses folders."""
    left = tuple(file.path for file in change.files if any(fnmatchcase(file.path, glob) for glob in globs))
    if not left:
        return change
    files = tuple(file for file in change.files if file.path not in left)
    return replace(change, files=files, junk=(*change.junk, *left))
