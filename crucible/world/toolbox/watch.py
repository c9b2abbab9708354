"""Looking after what the kernel does not hold a world to as a whole: memory, processes, files without a name.

Cgroups would, but most users are given none to use. A timer signal makes this process look every twentieth of a second
whatever it is doing then: a call, a regular expression that explodes, or waiting for the next call. What lies between two
looks, and what only the kernel knows of (buffers of sockets, shared pages that nobody maps), is not seen: should the
machine run out of memory for it, the kernel ends a world first (see limits).
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager

from . import shell
from .limits import THREADS_EACH, Limits
from .memory import Memory
from .others import Others, held_deleted, processes

PERIOD = 0.05
"""Seconds between two looks, as long as looking takes at most a fifth of the time; else more, up to half a second."""
_SPARING, _LONGEST = 4, 0.5
_HELD_EVERY = 8
"""Open files are looked at in one look out of so many."""


class LateError(Exception):
    """What was being done took too long."""

    def __str__(self) -> str:
        return "stopped: took too long"


class Watch:
    """Ends all other processes when together they exceed a limit, and keeps its name until it is taken."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._others = Others(sandboxed=limits.sandboxed)
        self._memory = Memory(limits)
        self._hit: str | None = None
        self._is_in_call = self._is_looking = False
        self._deadline, self._due = math.inf, 0.0
        self._looks = 0
        self._held = 0

    def start(self) -> None:
        """Begin. SIGUSR1 is how the harness, which sees the disk, says that it is too full."""
        signal.signal(signal.SIGALRM, self._on_alarm)
        # sent from inside it ends the sender, which harms nobody else
        signal.signal(signal.SIGUSR1, lambda *_: self._stop("disk"))

    def take(self) -> str | None:
        """The limit that was exceeded since this was last asked."""
        hit, self._hit = self._hit, None
        return hit

    def end(self) -> None:
        """End everything there is."""
        self._others.end()

    def survivors(self, most: int, but: Container[int] = ()) -> list[str]:
        """Names of up to `most` processes that are alive, but for some."""
        pids = [pid for pid in self._others.pids() if pid not in but]
        alive = (process.name for process in processes(pids) if process.is_alive)
        return [name for name, _ in zip(alive, range(most), strict=False)]

    @contextmanager
    def call(self) -> Iterator[None]:
        """Look from now on; after the call only until nobody is there."""
        self._is_in_call = True
        self._arm(PERIOD)
        try:
            yield
        finally:
            self._is_in_call = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Bound what only reads; LateError past it, in the middle of a regular expression too."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = math.inf

    def _arm(self, seconds: float) -> None:
        self._due = time.monotonic() + seconds / 2  # an alarm before that is not ours
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def _on_alarm(self, *_: object) -> None:
        started = time.monotonic()
        if self._is_looking or started < self._due:
            return
        self._is_looking = True
        try:
            is_anyone_there = self._look()
        finally:
            self._is_looking = False
        now = time.monotonic()
        if self._is_in_call or is_anyone_there:
            self._arm(min(max(PERIOD, _SPARING * (now - started)), _LONGEST))
        if now > self._deadline:
            raise LateError

    def _look(self) -> bool:
        """Look once; whether there is anyone to look at."""
        shell.reap_strays()
        pids = self._others.pids()
        exceeded = self._exceeded(pids)
        if exceeded:
            self._stop(exceeded)
        return bool(pids)

    def _stop(self, limit: str) -> None:
        self._hit = self._hit or limit
        self._others.end()
        self._held = 0
        self._memory.settle()

    def _exceeded(self, pids: list[int]) -> str | None:
        if len(pids) > self._limits.processes:
            return "processes"  # at once: describing them all could take longer than making more
        found = list(processes(pids))
        if sum(process.threads for process in found) > self._limits.processes * THREADS_EACH:
            return "processes"
        self._looks += 1
        if self._looks % _HELD_EVERY == 0 and self._look_at_held(pids) > self._limits.disk_bytes:
            return "disk"
        return "memory" if self._memory.is_exceeded(found, self._held) else None

    def _look_at_held(self, pids: list[int]) -> int:
        """Bytes on disk of files that have no name any more; those in memory are remembered."""
        on_disk = self._held = 0
        for name, size in held_deleted(pids):
            if name.startswith("/memfd:"):
                self._held += size
            elif not name.startswith(tuple(f"{folder}/" for folder in self._limits.tmpfs)):
                on_disk += size
        return on_disk
