"""A program in a world, watched to its end: by itself, by the clock, or because it printed or asked too much."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from crucible.agents.types import Ending
from crucible.errors import Cause
from crucible.world.types import Running

MOST_OUTPUT = 64 * 1024 * 1024
"""Bytes that an agent may print before it is ended."""
REFUSED_SECONDS = 10.0
"""How long an agent may go on after a model call of it was refused for the budget."""
_POLL_SECONDS = 0.1
_DRAIN_SECONDS = 1.0
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program printed, and how it ended. `exit_code` is None when we ended it, `stopped` is then why.

    `said`: the end of its standard error. `seconds`: from its start to its end.
    """

    output: bytes
    exit_code: int | None
    said: str
    seconds: float
    stopped: Ending | None = None


class Output:
    """Takes what a program prints, as much as is allowed. `full`: there was more."""

    def __init__(self, reader: StreamReader, most: int = MOST_OUTPUT) -> None:
        self.data = bytearray()
        self.full = False
        self._most = most
        self._task = asyncio.create_task(self._take(reader))

    async def _take(self, reader: StreamReader) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                self.data += chunk[: self._most - len(self.data)]
                if len(self.data) >= self._most:
                    self.full = True
                    return

    async def rest(self, seconds: float) -> None:
        """Wait for the end of what it prints, for so long at most."""
        await asyncio.wait([self._task], timeout=seconds)

    async def close(self) -> None:
        """Take no more."""
        self._task.cancel()
        await asyncio.wait([self._task])


async def watch(
    running: Running, seconds_left: Callable[[], float], refused: Callable[[], Ending | None] = lambda: None
) -> Finished:
    """Wait for a program's end, and end it when its time is up. All that is in its session ends with it.

    Children that it left behind may hold its output open: that is not waited for.
    """
    output, began = Output(running.reader), monotonic()
    stopped, refused_at = None, None
    try:
        while (code := await running.exit_code()) is None:
            if refused() is not None and refused_at is None:
                refused_at = monotonic()
            stopped = _why_stop(output, seconds_left(), refused(), refused_at)
            if stopped is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        seconds = monotonic() - began
        if code is not None:
            await output.rest(_DRAIN_SECONDS)
        await running.stop()
        await output.rest(_DRAIN_SECONDS)
        return Finished(bytes(output.data), code, running.said(), seconds, stopped)
    finally:
        await output.close()
        await running.stop()


def _why_stop(output: Output, left: float, refused: Ending | None, refused_at: float | None) -> Ending | None:
    if output.full:
        return Ending("output_limit", Cause.AGENT, f"it printed more than {MOST_OUTPUT // 1024**2} MiB")
    if refused is not None and refused_at is not None and monotonic() - refused_at > REFUSED_SECONDS:
        return refused
    if left <= 0:
        return Ending("budget_time", Cause.BUDGET, "its time was up")
    return None
