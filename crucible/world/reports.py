"""The report folder: where a graded command writes what is read of it, outside the workspace and under a chance name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

LARGEST_REPORT = 64 * 1024 * 1024
"""Bytes of the largest file that is read from outside."""


class Reports:
    """One folder, made when it is first needed and held open: whatever takes its place later, this one is read."""

    def __init__(self) -> None:
        self._fd: int | None = None

    def make(self, place: Path) -> None:
        """Make the folder unless it is there already. Raises OSError."""
        if self._fd is None:
            place.mkdir()
            self._fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def read(self, name: str) -> bytes | None:
        """A plain file in it of at most LARGEST_REPORT bytes; else None."""
        return None if self._fd is None or "/" in name else _read_plain(name, self._fd)

    def close(self) -> None:
        """Let go of the folder. Safe to call again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _read_plain(name: str, folder: int) -> bytes | None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_REPORT:
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(LARGEST_REPORT)
    finally:
        os.close(fd)
