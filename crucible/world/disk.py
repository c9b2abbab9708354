"""How much a world has on disk, seen from outside while its processes go on writing."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

from crucible.errors import SandboxError

PERIOD = 0.1
"""Seconds between two looks. One costs microseconds as long as the file system as a whole has not grown by much."""
_SPARING, _ANYWAY = 4, 20
"""Measuring takes at most a fifth of the time, and a twentieth when nothing hints at growth."""
_ANYWAY_SECONDS = 1.0
_NEARLY = 0.9
"""Of what is left, the part by which the file system has to grow for a closer look."""
_SLACK = 1 << 20
"""Bytes a world that is full may add, as deleting does at times, before everything in it is ended once more."""
_SMALLEST = 4096


class Disk:
    """The folders a world writes, and how much may be added to what is in them now.

    Where some of it cannot be looked into, what the file system lost meanwhile is taken for what is there.
    """

    def __init__(self, folders: Sequence[Path], limit: int) -> None:
        self._folders = folders
        self._turn = asyncio.Lock()
        self._limit = self._allowed = limit
        self._free = _free(folders[0])
        self._seen, self._hidden = 0, 0
        self._before = 0
        self._is_settling = False
        self._took = 0.0
        self._measured = monotonic()
        self._measure()
        self._before = self._seen

    @property
    def is_full(self) -> bool:
        """Whether there was too much when last measured."""
        return self._left <= 0

    @property
    def _used(self) -> int:
        return self._seen + self._hidden - self._before

    @property
    def _left(self) -> int:
        return self._limit - self._used

    async def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` whenever too much was added, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            with suppress(SandboxError):  # the next call will say so
                if self._is_due():
                    await self.measure()
                if self._used >= self._allowed:
                    stop()
                    await self._settle()

    async def look(self) -> bool:
        """`is_full`, measured again where that may have changed; between two calls. Raises SandboxError."""
        if self.is_full or self._lost() > self._left * _NEARLY:
            await self.measure()
        if self.is_full and (self._is_settling or self._allowed == self._limit):
            self._allow_what_is_there()
        return self.is_full

    async def measure(self) -> None:
        """Measure in a thread. Raises SandboxError when that cannot be done."""
        try:
            async with self._turn:
                await asyncio.to_thread(self._measure)
        except OSError as error:
            raise SandboxError(f"what the world has on disk cannot be measured: {error}") from error

    async def _settle(self) -> None:
        """Allow what was written until everything had ended, but nothing of a call that began since: see `look`."""
        self._is_settling = True
        await asyncio.sleep(PERIOD)
        if self._is_settling:
            await self.measure()
            if self._is_settling:  # else a call began meanwhile, and may have written what was measured
                self._allow_what_is_there()

    def _allow_what_is_there(self) -> None:
        """Nothing has to be ended for it again."""
        self._allowed = max(self._limit, self._used + _SLACK)
        self._is_settling = False

    def _measure(self) -> None:
        started = monotonic()
        lost, self._free = self._lost(), _free(self._folders[0])
        before = self._seen
        sizes, are_complete = zip(*map(_size, self._folders), strict=True)
        self._seen = sum(sizes)
        self._hidden = 0 if all(are_complete) else self._hidden + max(lost - (self._seen - before), 0)
        if not self.is_full:
            self._allowed = self._limit
        self._measured = monotonic()
        self._took = self._measured - started

    def _is_due(self) -> bool:
        since = monotonic() - self._measured
        if since > max(_ANYWAY_SECONDS, _ANYWAY * self._took):
            return True
        return since > _SPARING * self._took and (self.is_full or self._lost() > self._left * _NEARLY)

    def _lost(self) -> int:
        """Bytes the file system has less since last measured; others write there too."""
        return self._free - _free(self._folders[0])


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bfree * found.f_frsize


def _size(folder: Path) -> tuple[int, bool]:
    """Bytes of all that is below a folder, each file once whatever its names, and whether all could be seen."""
    sizes: dict[int, int] = {}
    refused: list[bytes] = []
    try:
        for status in _below(os.fsencode(folder), refused):
            sizes[status.st_ino] = _bytes(status)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _size_by_du(folder)
    return sum(sizes.values()), not refused


def _bytes(status: os.stat_result) -> int:
    if stat.S_ISCHR(status.st_mode):
        return 0  # a whiteout: deleting must not make it worse
    return max(status.st_size, status.st_blocks * 512, _SMALLEST)


def _below(root: bytes, refused: list[bytes]) -> Iterator[os.stat_result]:
    """Everything below a folder. One that was swapped for another, or a link, since it was listed is not entered."""
    waiting = [(root, os.lstat(root))]
    while waiting:
        folder, listed = waiting.pop()
        try:
            found = _scan(folder, listed)
        except PermissionError:
            refused.append(folder)
            continue
        for name, status in found:
            yield status
            if stat.S_ISDIR(status.st_mode):
                waiting.append((folder + b"/" + name, status))


def _scan(folder: bytes, listed: os.stat_result) -> list[tuple[bytes, os.stat_result]]:
    found: list[tuple[bytes, os.stat_result]] = []
    with suppress(FileNotFoundError, NotADirectoryError):  # gone meanwhile
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.path.samestat(os.fstat(fd), listed):
                found += _entries(fd)
        finally:
            os.close(fd)
    return found


def _entries(fd: int) -> Iterator[tuple[bytes, os.stat_result]]:
    with os.scandir(fd) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                yield os.fsencode(entry.name), entry.stat(follow_symlinks=False)


def _size_by_du(folder: Path) -> tuple[int, bool]:
    """The same for trees deeper than a path can be long."""
    done = subprocess.run(["du", "-sk", "--", str(folder)], check=False, capture_output=True)
    return int(done.stdout.split()[0]) * 1024, not done.returncode
