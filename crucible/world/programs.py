"""Programs inside a world, and connections into and out of it, as the harness holds them.

Nothing of this is visible inside: pipes and sockets travel as descriptors over the toolbox's channel.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from signal import SIGKILL
from time import monotonic
from typing import Any, Protocol, TypeVar

from crucible.errors import HarnessError, SandboxError
from crucible.world.client import Frame
from crucible.world.streams import LARGEST_LINE, Streams
from crucible.world.types import Program

T = TypeVar("T")
_SECONDS = 15.0
"""For one request; stopping a program and dialling take a few."""
_AFTER_OUTPUT, _PAUSE = 0.5, 0.01


class Ask(Protocol):
    """How the toolbox is asked. Raises SandboxError when it is gone."""

    async def __call__(self, request: Frame, seconds: float, fds: Sequence[int] = ()) -> Frame: ...


class StartedProgram:
    """A program that was started. Implements Running."""

    def __init__(self, programs: Programs, number: int, name: str, streams: Streams) -> None:
        self._programs = programs
        self._number = number
        self._name = name
        self._streams = streams
        self._exit_code: int | None = None
        self._is_stopped = False

    @property
    def reader(self) -> StreamReader:
        """See Running.reader. A line is at most LARGEST_LINE bytes long."""
        return self._streams.reader

    @property
    def writer(self) -> StreamWriter:
        """See Running.writer. Raises HarnessError when it was started without."""
        if self._streams.writer is None:
            raise HarnessError(f"{self._name} was started without standard input")
        return self._streams.writer

    def said(self) -> str:
        """See Running.said."""
        return self._streams.said()

    async def exit_code(self) -> int | None:
        """See Running.exit_code. Raises SandboxError when the world is gone and nobody knows.

        One that has closed its output is given a moment to end: that is the order in which the kernel ends a process.
        """
        patience = monotonic() + _AFTER_OUTPUT
        while self._exit_code is None:
            answer = await self._programs.ask("exit_code", {"number": self._number})
            self.learn(answer["exit_code"])
            if not self._streams.at_end or monotonic() > patience:
                break
            await asyncio.sleep(_PAUSE)
        return self._exit_code

    async def stop(self) -> None:
        """See Running.stop. Where the world is gone it has ended, or does with the world's end."""
        if not self._is_stopped:
            with suppress(SandboxError):
                answer = await self._programs.ask("stop", {"number": self._number})
                self.learn(answer["exit_code"])
                self._is_stopped = True
        self._streams.close_input()

    def learn(self, exit_code: int | None) -> None:
        """Take note of how it ended; what is known does not change."""
        if self._exit_code is None:
            self._exit_code = exit_code

    async def close(self) -> None:
        """The world has ended, and every program with it that had not before."""
        self.learn(-SIGKILL)
        self._is_stopped = True
        await self._streams.close()


class Programs:
    """What was started and dialled in one world."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._started: list[StartedProgram] = []
        self._dialled: list[StreamWriter] = []
        self._undoing: set[asyncio.Task[None]] = set()

    async def start(self, program: Program) -> StartedProgram:
        """See World.start."""
        _check(program)
        return await self._whole(self._start(program), StartedProgram.stop)

    async def listen(self) -> tuple[socket.socket, int]:
        """See World.listen."""
        return await self._whole(self._listen(), _close_listener)

    async def dial(self, port: int) -> tuple[StreamReader, StreamWriter]:
        """See World.dial."""
        return await self._whole(self._dial(port), _hang_up)

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Frame:
        """One answer of the toolbox; an ask that is cancelled goes on to its end."""
        return await self._whole(self._ask({"operation": operation, "arguments": arguments}, _SECONDS))

    def learn(self, exit_codes: Sequence[int | None]) -> None:
        """Take note of how programs ended, in the order they were started."""
        for started, code in zip(self._started, exit_codes, strict=False):
            started.learn(code)

    async def close(self) -> None:
        """The world has ended: close every pipe and every connection that was dialled. Safe to call again."""
        while self._undoing:
            await asyncio.wait(self._undoing)
        for started in self._started:
            await started.close()
        for dialled in self._dialled:
            dialled.transport.abort()
            with suppress(OSError):
                await dialled.wait_closed()

    async def _start(self, program: Program) -> StartedProgram:
        streams = Streams()
        try:
            await streams.open(stdin=program.stdin)
            number = await self._spawn(program, streams.theirs)
        except OSError as error:
            await streams.close()
            raise HarnessError(f"{program.name} cannot be started: {error}") from error
        except BaseException:  # a cancelled start too: its pipes have no other owner yet
            await streams.close()
            raise
        streams.close_theirs()
        started = StartedProgram(self, number, program.name, streams)
        self._started.append(started)
        return started

    async def _spawn(self, program: Program, fds: Sequence[int]) -> int:
        arguments = {"command": program.command, "env": dict(program.env), "files": dict(program.files)}
        answer = await self._ask({"operation": "start", "arguments": arguments}, _SECONDS, fds)
        if not answer["ok"]:
            raise HarnessError(f"{program.name} cannot be started: {answer['text']}")
        return int(answer["number"])

    async def _listen(self) -> tuple[socket.socket, int]:
        answer = await self._ask({"operation": "listen", "arguments": {}}, _SECONDS)
        if not answer["ok"]:
            raise HarnessError(f"nothing can listen inside: {answer['text']}")
        return socket.socket(fileno=answer["descriptors"][0]), answer["port"]

    async def _dial(self, port: int) -> tuple[StreamReader, StreamWriter]:
        answer = await self._ask({"operation": "dial", "arguments": {"port": port}}, _SECONDS)
        if not answer["ok"]:
            raise HarnessError(answer["text"])
        connection = socket.socket(fileno=answer["descriptors"][0])
        connection.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=connection, limit=LARGEST_LINE)
        self._dialled = [*(other for other in self._dialled if not other.is_closing()), writer]
        return reader, writer

    async def _whole(self, doing: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[None]] | None = None) -> T:
        """Its result. When cancelled it goes on and is undone: the toolbox takes half a request for the world's end."""
        task = asyncio.ensure_future(doing)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            undoing = asyncio.ensure_future(_undo(task, undo))
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undoing.discard)
            raise


async def _undo(task: asyncio.Task[T], undo: Callable[[T], Awaitable[None]] | None) -> None:
    with suppress(HarnessError):
        done = await task
        if undo is not None:
            await undo(done)


async def _close_listener(found: tuple[socket.socket, int]) -> None:
    found[0].close()


async def _hang_up(found: tuple[StreamReader, StreamWriter]) -> None:
    found[1].transport.abort()


def _check(program: Program) -> None:
    """Refuse what no world could start. Raises HarnessError."""
    if not program.command or not program.command[0]:
        raise HarnessError(f"{program.name} has no command")
    for path in map(PurePosixPath, program.files):
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise HarnessError(f"{program.name}: {path} is not below the home folder")
