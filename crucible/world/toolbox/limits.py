"""What the world may use, as far as the kernel holds processes to it by itself, and how an excess is told."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

THREADS_EACH = 16
"""Threads that are allowed for each process that is."""
_COUNTS_BY_NAMESPACE = (5, 14)
"""The Linux that counts a user's processes in each user namespace apart; before, one world would use up another's."""
_OOM_SCORE = b"500"
"""When the machine runs out of memory, the kernel ends what is inside a world before what is outside."""


class Limits:
    """The options the harness gives, by the names of its own Limits."""

    def __init__(self, *, sandboxed: bool, tmpfs: list[str], **limits: float) -> None:
        self.sandboxed = sandboxed
        self.tmpfs = tmpfs
        self.call_seconds = limits["call_seconds"]
        self.output_bytes = int(limits["output_bytes"])
        self.drain_bytes = int(limits["drain_bytes"])
        self.total_output_bytes = int(limits["total_output_bytes"])
        self.memory_bytes = int(limits["memory_bytes"])
        self.processes = int(limits["processes"])
        self.disk_bytes = int(limits["disk_bytes"])
        self.file_bytes = int(limits["file_bytes"])
        self.open_files = int(limits["open_files"])

    def why(self, limit: str) -> str:
        """What was exceeded, in words."""
        return {
            "memory": f"more than {self.memory_bytes} bytes of memory, files in /tmp, ~ and /dev/shm included",
            "processes": f"more than {self.processes} processes, or {THREADS_EACH} times as many threads",
            "disk": f"more than {self.disk_bytes} bytes on disk",
            "output": f"it wrote more than {self.drain_bytes} bytes",
            "total_output": f"all commands together wrote more than {self.total_output_bytes} bytes",
        }[limit]

    def impose(self) -> None:
        """Set what this process and all that it starts are held to."""
        _limit(resource.RLIMIT_FSIZE, self.file_bytes)
        _limit(resource.RLIMIT_NOFILE, self.open_files)
        _limit(resource.RLIMIT_CORE, 0)
        if self.sandboxed and _kernel() >= _COUNTS_BY_NAMESPACE:
            # twice as many, so that what is watched for is seen and named before this stops it
            _limit(resource.RLIMIT_NPROC, 2 * self.processes * THREADS_EACH)
        with suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:  # noqa: PTH123 (slow to import)
            file.write(_OOM_SCORE)

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """Commands started meanwhile can read and delete, and add to no file."""
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal())
