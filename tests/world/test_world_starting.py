"""Whoever is cancelled while a process starts leaves none behind."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process

import pytest

from crucible.world.starting import started


@pytest.mark.parametrize("turns", range(1, 8))
def test_a_start_that_is_cancelled_at_any_moment_ends_what_it_started(turns: int) -> None:
    ended: list[Process] = []

    async def end(process: Process) -> None:
        process.kill()
        await process.wait()
        ended.append(process)

    async def body() -> bool:
        starting = asyncio.create_subprocess_exec("sleep", "600", stdin=PIPE, stdout=PIPE, stderr=PIPE)
        task = asyncio.ensure_future(started(starting, end))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert asyncio.run(body())
    assert [-9] == [process.returncode for process in ended]


def test_a_program_that_is_not_there_is_said_as_ever() -> None:
    async def never(process: Process) -> None:
        raise AssertionError(process)

    with pytest.raises(FileNotFoundError):
        asyncio.run(started(asyncio.create_subprocess_exec("no-such-program"), never))
