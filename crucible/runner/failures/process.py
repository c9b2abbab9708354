"""One process of somebody else's, to its end or to ours: bounded in time and output, and nothing of it left behind.

It prints into files that have no name, not into pipes: what it leaves running holds nothing up by holding one open.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Final, Literal

from crucible.errors import UsageError

MOST_OUTPUT: Final = 16 * 2**20
"""Bytes of output, stdout or stderr, after which a process is stopped."""
KEPT_ERRORS: Final = 8 * 2**10
_LOOK: Final = 0.1
"""Seconds between two looks at how much it has printed."""

Stopped = Literal["time", "output"]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process printed, the end of its stderr, its exit code, and why it was stopped, if it was."""

    output: bytes
    errors: bytes
    exit_code: int | None
    seconds: float
    stopped: Stopped | None = None


async def run_process(arguments: Sequence[str], folder: Path, seconds: float) -> Finished:
    """Run a program in a folder, in a session of its own, with this environment and no input.

    Raises UsageError when it cannot be started. Cancelled, it is killed with everything in its session.
    """
    began = monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = await _start(arguments, folder, out, err)
        try:
            stopped = await _watch(process, (out, err), began + seconds)
        finally:
            _kill(process)
            await process.wait()
        output, errors = _kept(out, 0), _kept(err, max(0, _size(err) - KEPT_ERRORS))
    return Finished(output, errors, None if stopped else process.returncode, monotonic() - began, stopped)


async def _start(arguments: Sequence[str], folder: Path, out: IO[bytes], err: IO[bytes]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *arguments, stdin=DEVNULL, stdout=out, stderr=err, cwd=folder, start_new_session=True
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        long = isinstance(error, OSError) and error.errno == errno.E2BIG
        hint = "what {context} stands for is too much for one argument: freeze a smaller world" if long else None
        raise UsageError(f"{arguments[0]}: cannot be started: {why}", hint=hint) from None


async def _watch(process: Process, printed: Sequence[IO[bytes]], deadline: float) -> Stopped | None:
    """Until it has ended; or why it has to be."""
    ended = asyncio.create_task(process.wait())
    try:
        while not ended.done():
            await asyncio.wait([ended], timeout=max(0.0, min(_LOOK, deadline - monotonic())))
            if any(_size(file) > MOST_OUTPUT for file in printed):
                return "output"
            if not ended.done() and monotonic() >= deadline:
                return "time"
    finally:
        ended.cancel()
    return None


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _kept(file: IO[bytes], start: int) -> bytes:
    file.seek(start)
    return file.read(MOST_OUTPUT)


def _kill(process: Process) -> None:
    # The group outlives its leader while anything in it runs; until then its number is not given to others.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
