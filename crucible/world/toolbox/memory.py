"""How much memory the processes of a world hold together, and what stays in memory without them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from .limits import Limits
from .others import Process, processes

_SPARING = 4
"""Counting shared pages right means to look at every page: it takes at most a fifth of the time."""
_CERTAIN = 3
"""Excesses in a row that are believed while processes come and go, which makes shared pages hard to count."""
_INODE_BYTES = 1024
"""What an empty file in a tmpfs takes, about."""


class Memory:
    """Counts in two ways: what each process has, which is quick and too much when pages are shared, and its share."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._standing = 0
        self._excesses = 0
        self._quick = self._right = 0
        self._not_before = 0.0

    def is_exceeded(self, found: Sequence[Process], held: int) -> bool:
        """Whether it is too much. `held`: bytes of files in memory that have no name and no folder."""
        kept = held + self._kept()
        # what outlasts the processes is no reason to end the next ones, who may be there to delete it
        most = max(self._limits.memory_bytes, self._standing + self._limits.memory_bytes // 4)
        quick = _sum([(process.private, process.shared) for process in found], kept)
        if quick <= most:
            self._excesses = 0
        elif time.monotonic() > self._not_before or quick - self._quick > most - self._right:
            self._count(found, kept)
            self._quick = quick
            self._suspect(found, is_excess=self._right > most)
        return self._excesses >= _CERTAIN

    def settle(self) -> None:
        """Every process was ended: what is there now is allowed to be there."""
        self._excesses, self._standing = 0, self._kept()

    def _count(self, found: Sequence[Process], kept: int) -> None:
        started = time.monotonic()
        self._right = _sum([process.share() for process in found], kept)
        now = time.monotonic()
        self._not_before = now + _SPARING * (now - started)

    def _suspect(self, found: Sequence[Process], *, is_excess: bool) -> None:
        """A page whose owners end one by one while they are counted is counted whole more than once."""
        before = [process.pid for process in found if process.has_memory]
        after = [process.pid for process in processes(before) if process.has_memory]
        self._excesses = (self._excesses + (_CERTAIN if before == after else 1)) if is_excess else 0

    def _kept(self) -> int:
        """Bytes that this world keeps without a process; outside a sandbox that cannot be told."""
        found = [os.statvfs(folder) for folder in self._limits.tmpfs]
        files = sum((f.f_blocks - f.f_bfree) * f.f_frsize + (f.f_files - f.f_ffree) * _INODE_BYTES for f in found)
        return files + (_in_system_v() if self._limits.sandboxed else 0)


def _sum(parts: list[tuple[int, int]], kept: int) -> int:
    """What processes have for themselves, and the larger of what they share and what is kept: mostly the same."""
    return sum(private for private, _ in parts) + max(sum(shared for _, shared in parts), kept)


def _in_system_v() -> int:
    """Bytes of System V shared memory, which nobody has to map."""
    try:
        with open("/proc/sysvipc/shm", "rb") as file:  # noqa: PTH123 (slow to import)
            names, *rows = (line.split() for line in file)
    except (OSError, ValueError):
        return 0
    return sum(int(value) for row in rows for name, value in zip(names, row, strict=True) if name in (b"rss", b"swap"))
