"""Messages of the Agent Client Protocol over a program's streams: JSON objects, one a line."""

from __future__ import annotations

import json
from typing import Any

from crucible.agents.external.running import MOST_OUTPUT
from crucible.world.types import Running

SAID = 1200
"""Characters of what an agent printed that are told of."""
_CHUNK = 64 * 1024


class Lines:
    """JSON objects, one a line, over a program's streams. Lines that are none are left out; `noise` is the first of them."""

    def __init__(self, running: Running) -> None:
        self.noise = ""
        self.full = False
        self._running = running
        self._buffer = bytearray()
        self._taken = 0

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        self._running.writer.write(json.dumps(message).encode() + b"\n")
        await self._running.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when there will be none."""
        while (line := await self._line()) is not None:
            try:
                message = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            self.noise = self.noise or line[:SAID].decode("utf-8", "replace").strip()
        return None

    async def close(self) -> None:
        """Nothing: the program is ended by its world."""

    async def _line(self) -> bytes | None:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            try:
                chunk = b"" if self.full else await self._running.reader.read(_CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                return None
            self._taken += len(chunk)
            self.full = self._taken > MOST_OUTPUT
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line
