"""Sending a change into a workspace, in pieces the pipe takes well."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from crucible.errors import SandboxError
from crucible.world.client import Frame
from crucible.world.tree import EXECUTABLE_MODE, FILE_MODE, LINK_MODE
from crucible.world.types import Change, FileChange, FileState

PIECE_BYTES = 8 * 1024 * 1024
PIECE_FILES = 1000
SECONDS = 120.0
"""For one piece."""

Operate = Callable[[str, dict[str, Any], float], Awaitable[Frame]]


async def apply_change(operate: Operate, change: Change) -> tuple[str, ...]:
    """Make every file of a change as it was after; returns the paths whose bytes are not held. Raises SandboxError."""
    known = [file for file in change.files if file.after is None or file.after.data is not None]
    for paths in _removals(known):
        await _do(operate, "remove", {"paths": paths})
    for files in _pieces(known):
        await _do(operate, "put", {"files": files})
    return tuple(sorted(file.path for file in set(change.files) - set(known)))


async def _do(operate: Operate, operation: str, arguments: dict[str, Any]) -> None:
    answer = await operate(operation, arguments, SECONDS)
    if not answer["ok"]:
        raise SandboxError(f"the change cannot be applied: {answer['text']}")


def _removals(files: list[FileChange]) -> Iterator[list[str]]:
    gone = [file.path for file in files if file.after is None]
    gone += [file.old_path for file in files if file.after is not None and file.old_path is not None]
    for start in range(0, len(gone), PIECE_FILES):
        yield gone[start : start + PIECE_FILES]


def _pieces(files: list[FileChange]) -> Iterator[list[dict[str, Any]]]:
    piece: list[dict[str, Any]] = []
    room = PIECE_BYTES
    for file in files:
        if file.after is None or file.after.data is None:
            continue
        piece.append({"path": file.path, "mode": _mode(file.after), "data": b64encode(file.after.data).decode()})
        room -= len(file.after.data)
        if room <= 0 or len(piece) >= PIECE_FILES:
            yield piece
            piece, room = [], PIECE_BYTES
    if piece:
        yield piece


def _mode(state: FileState) -> int:
    if state.kind == "symlink":
        return LINK_MODE
    return EXECUTABLE_MODE if state.mode & 0o100 else FILE_MODE
