"""Our ends of a program's standard streams: pipes, since there are programs that treat a socket otherwise."""

from __future__ import annotations

import asyncio
import os
from asyncio import BaseTransport, StreamReader, StreamWriter
from contextlib import suppress

from crucible.redaction import redact
from crucible.world.toolbox.text import decode

LARGEST_LINE = 16 * 1024 * 1024
"""Bytes of the longest line a reader takes. Twice as much is held at most; then the program waits to print more."""
SAID_CHARACTERS = 4000
_CHUNK = 1 << 16
_KEPT = 1 << 17
"""Bytes: enough for SAID_CHARACTERS when keys in it have become marks."""
_CUT = 4096
"""Characters at the start of what was kept that may be the rest of a key, which nobody would know for one."""


class Streams:
    """Input, output and errors of one program. `theirs` are its ends, in that order, to be closed once it has them."""

    def __init__(self) -> None:
        self.reader = StreamReader(limit=LARGEST_LINE)
        self.writer: StreamWriter | None = None
        self.theirs: list[int] = []
        self._errors: Tail | None = None
        self._open: list[tuple[BaseTransport, _Ear]] = []

    async def open(self, *, stdin: bool) -> None:
        """Make the pipes; without `stdin`, two of them. Raises OSError, and is to be closed then too."""
        if stdin:
            await self._open_input()
        await self._open_output()
        read, write = os.pipe()
        self.theirs.append(write)
        self._errors = Tail(read)

    @property
    def at_end(self) -> bool:
        """Whether nothing more comes out."""
        return self._open[-1][1].closed.done()

    def said(self) -> str:
        """The end of what came on the error stream, without keys."""
        return self._errors.text() if self._errors is not None else ""

    def close_theirs(self) -> None:
        """Close the program's ends. What has the program's streams from then on is the program."""
        while self.theirs:
            os.close(self.theirs.pop())

    def close_input(self) -> None:
        """Close the input whatever still waits to be written to it. Safe to call again, which abort alone is not."""
        if self.writer is not None:
            pipe = self.writer.transport
            if not pipe.is_closing() or pipe.get_write_buffer_size():
                pipe.abort()

    async def close(self) -> None:
        """Close everything; a reader that waits is at its end. Safe to call again."""
        self.close_theirs()
        self.close_input()
        for transport, _ in self._open:
            transport.close()
        if self._open:
            await asyncio.wait([ear.closed for _, ear in self._open])
        if self._errors is not None:
            self._errors.close()

    async def _open_input(self) -> None:
        loop = asyncio.get_running_loop()
        read, write = os.pipe()
        self.theirs.append(read)
        ear = _Ear(StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: ear, os.fdopen(write, "wb", 0))
        self._open.append((transport, ear))
        self.writer = StreamWriter(transport, ear, None, loop)

    async def _open_output(self) -> None:
        read, write = os.pipe()
        self.theirs.append(write)
        ear = _Ear(self.reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: ear, os.fdopen(read, "rb", 0))
        self._open.append((transport, ear))


class _Ear(asyncio.StreamReaderProtocol):
    """Tells when its pipe is closed."""

    def __init__(self, reader: StreamReader) -> None:
        super().__init__(reader)
        self.closed = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.closed.set_result(None)


class Tail:
    """Reads a pipe to its end, as it comes, and keeps the last of it."""

    def __init__(self, fd: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd: int | None = fd
        self._kept = bytearray()
        self._is_cut = False
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._take)

    def text(self) -> str:
        """The last of what is there now, without keys, up to SAID_CHARACTERS."""
        for _ in range(_KEPT // _CHUNK + 2):  # a pipe full; with what is printed meanwhile there may be no end to it
            if not self._take():
                break
        text = redact(decode(bytes(self._kept)))
        return (text[_CUT:] if self._is_cut else text)[-SAID_CHARACTERS:]

    def close(self) -> None:
        """Stop reading. Safe to call again."""
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None

    def _take(self) -> bool:
        """Read once; whether there was anything."""
        data = b""
        if self._fd is not None:
            with suppress(BlockingIOError):
                data = os.read(self._fd, _CHUNK)
                if not data:
                    self.close()
        self._kept += data
        self._is_cut = self._is_cut or len(self._kept) > _KEPT
        del self._kept[:-_KEPT]
        return bool(data)
