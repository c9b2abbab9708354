"""Ending every process of a world that has no namespace to end: by descent, and by a mark in the environment."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

MARK = "CRUCIBLE_WORLD"
_ROUNDS = 50
_PROC = Path("/proc")


def end_all(root: int | None, mark: str) -> None:
    """Kill the descendants of process `root` and whatever carries `mark`, until none is left, then `root` itself.

    `root` has to be a subreaper, so that an orphan stays its descendant; None when it has ended already. Where there
    is no /proc, only `root` is ended.
    """
    for _ in range(_ROUNDS if _PROC.is_dir() else 0):
        found = _living(root, mark)
        for pid in found:
            _kill(pid)
        if not found:
            break
        time.sleep(0.01)
    if root is not None:
        _kill(root)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _living(root: int | None, mark: str) -> set[int]:
    parents = _parents()
    wanted = f"{MARK}={mark}".encode()
    below = {pid for pid in parents if root is not None and _descends(pid, root, parents)}
    return below | {pid for pid in parents if pid != root and _carries(pid, wanted)}


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == root:
            return True
    return False


def _parents() -> dict[int, int]:
    """Parent of every living process; zombies are no longer living."""
    found = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # the name in the middle may hold anything, parentheses too
                state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    found[int(folder.name)] = int(parent)
    return found


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
