"""Starting a process so that nothing is left when whoever starts it is cancelled."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any


async def started(starting: Coroutine[Any, Any, Process], end: Callable[[Process], Awaitable[object]]) -> Process:
    """What `starting` starts. Cancelled meanwhile, the process is first started, then ended by `end`.

    asyncio can wait for ever when cancelled half-way through starting a process with pipes: it then waits for pipes that
    were never connected.
    """
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await end(await task)
        raise
