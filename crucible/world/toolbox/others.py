"""The other processes of this world: who they are, what they hold, and their end."""

from __future__ import annotations

import os
import re
import signal
import stat
import time
from collections.abc import Iterable, Iterator

END_SECONDS = 5.0
"""How long ended processes may take to be gone; freeing gigabytes takes a while."""
_STATUS = re.compile(rb"^(Name|State|Threads|RssAnon|RssShmem|VmSwap):\s*(.*)$", re.MULTILINE)
_ROLLUP = re.compile(rb"^(Pss_Anon|Pss_Shmem|SwapPss):\s*(\d+)", re.MULTILINE)
_DELETED = b" (deleted)"


class Process:
    """One process as the kernel describes it. `private` and `shared` are bytes of memory, files mapped not counted."""

    def __init__(self, pid: int, fields: dict[bytes, bytes]) -> None:
        self.pid = pid
        self.name = fields[b"Name"].decode("utf-8", "replace")
        self.is_alive = fields[b"State"][:1] not in (b"Z", b"X")
        self.has_memory = b"RssAnon" in fields  # one that is ending gives it back before it is a zombie
        self.threads = int(fields[b"Threads"])
        self.private = _bytes(fields, b"RssAnon") + _bytes(fields, b"VmSwap")
        self.shared = _bytes(fields, b"RssShmem")

    def share(self) -> tuple[int, int]:
        """`private` and `shared` with each page divided by those who have it; slow, so only for those in doubt."""
        fields = dict(_ROLLUP.findall(_read(f"/proc/{self.pid}/smaps_rollup")))
        if not fields:  # not to be looked into, or ending
            now = next(processes([self.pid]), None)
            return (now.private, now.shared) if now else (0, 0)
        return _bytes(fields, b"Pss_Anon") + _bytes(fields, b"SwapPss"), _bytes(fields, b"Pss_Shmem")


class Others:
    """All processes but this one: in a sandbox, where this is process 1, all there are; elsewhere its descendants."""

    def __init__(self, *, sandboxed: bool) -> None:
        self._all = sandboxed and os.getpid() == 1

    def pids(self) -> list[int]:
        """Their numbers. Zombies have one too."""
        if self._all:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208 (slow to import)
        return list(descendants(os.getpid()))

    def in_session(self, leader: int) -> list[int]:
        """Those in the session that a process began, whether or not it is there itself. Zombies have one too."""
        return [pid for pid in self.pids() if _session(pid) == leader]

    def end(self) -> None:
        """Kill every one. In a sandbox that is one act of the kernel, which nothing that forks can outrun."""
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline:
            self._kill()
            if not any(process.is_alive for process in processes(self.pids())):
                return
            time.sleep(0.005)

    def _kill(self) -> None:
        for pid in [-1] if self._all else self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue


def processes(pids: Iterable[int]) -> Iterator[Process]:
    """Those that are still there, described."""
    for pid in pids:
        fields = dict(_STATUS.findall(_read(f"/proc/{pid}/status")))
        if fields:
            yield Process(pid, fields)


def held_deleted(pids: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Files without a name that processes hold open, each once: the name it had and the bytes it takes."""
    seen: set[tuple[int, int]] = set()
    for pid in pids:
        for link, status in _open_files(os.fsencode(f"/proc/{pid}/fd")):
            if link.endswith(_DELETED) and stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield os.fsdecode(link), status.st_blocks * 512


def _open_files(folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    for number in _names(folder):
        path = folder + b"/" + number
        try:
            yield os.readlink(path), os.stat(path)  # noqa: PTH115, PTH116 (slow to import)
        except OSError:
            continue  # closed meanwhile


def descendants(root: int) -> Iterator[int]:
    """The processes below one, zombies too."""
    waiting = [root]
    while waiting:
        tasks = b"/proc/%d/task" % waiting.pop()
        for task in _names(tasks):
            children = [int(pid) for pid in _read(os.fsdecode(b"%b/%b/children" % (tasks, task))).split()]
            yield from children
            waiting += children


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None  # ended meanwhile


def _names(folder: bytes) -> list[bytes]:
    try:
        return os.listdir(folder)  # noqa: PTH208 (slow to import)
    except OSError:
        return []  # ended meanwhile, or not to be looked into


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _bytes(fields: dict[bytes, bytes], name: bytes) -> int:
    return int(fields.get(name, b"0").split()[0]) * 1024
