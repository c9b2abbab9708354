"""JSON-RPC over a server's standard streams, one message a line, as the SDK's session wants it.

Lines that are no message (logs, banners) are counted and passed over. A line without an end is not waited for.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from mcp.client._transport import TransportStreams
    from mcp_types import JSONRPCMessage

LONGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message; a server that sends a longer one is not read any further."""
_CHUNK = 256 * 1024
_SHOWN = 200


@dataclass
class Traffic:
    """What a server's standard output was beside messages.

    `noise`: lines that were no message, the first of which is `first`. `ended`: nothing more comes, or can be
    sent. `broken`: why it is
    not read any further although more may come.
    """

    noise: int = 0
    first: str = ""
    ended: bool = False
    broken: str | None = None


@asynccontextmanager
async def stdio_streams(
    reader: StreamReader, writer: StreamWriter, traffic: Traffic
) -> AsyncIterator[TransportStreams]:
    """The streams of a session with a server that writes to `reader` and reads from `writer`."""
    import anyio
    from mcp.shared.message import SessionMessage

    gone = (anyio.BrokenResourceError, anyio.ClosedResourceError)
    arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    # Without bound, so that a server that does not read cannot hold up whoever asks it: deadlines are theirs.
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](math.inf)

    async def read() -> None:
        async with arrived:
            with suppress(*gone):
                async for line in _lines(reader, traffic):
                    for message in _take(line, traffic):
                        await arrived.send(SessionMessage(message))
            traffic.ended = True

    async def write() -> None:
        async with to_send:
            with suppress(OSError):
                async for sent in to_send:
                    writer.write(_as_line(sent.message))
                    await writer.drain()
                return
        traffic.ended = True
        await arrived.aclose()  # it cannot be written to: whoever waits for an answer must not wait on

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            for stream in (arrived, incoming, outgoing, to_send):
                stream.close()


async def _lines(reader: StreamReader, traffic: Traffic) -> AsyncIterator[bytearray]:
    kept = bytearray()
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            *whole, rest = data.split(b"\n")
            for end in whole:
                line, kept = kept, bytearray()
                line += end
                yield line
            kept += rest
            if len(kept) > LONGEST_MESSAGE:
                traffic.broken = f"sent a message of more than {LONGEST_MESSAGE:,} bytes"
                return
    if kept:
        yield kept


def _take(line: bytearray, traffic: Traffic) -> Iterator[JSONRPCMessage]:
    text = line.decode("utf-8", "replace")
    line.clear()  # tens of megabytes, perhaps, that nobody needs while they are read
    if not text or text.isspace():
        return
    messages = messages_of(text)
    if not messages:
        traffic.noise += 1
        traffic.first = traffic.first or text[:_SHOWN].strip()
    yield from messages


def messages_of(text: str) -> list[JSONRPCMessage]:
    """The messages in a line: one, several of a batch, or none.

    Half a surrogate pair is let through, as bytes that are no UTF-8 were: a tool's output is not the server's doing, and
    its answer must not be lost for it.
    """
    from mcp_types import jsonrpc_message_adapter

    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return []
    found: list[JSONRPCMessage] = []
    for item in loaded if isinstance(loaded, list) else [loaded]:
        with suppress(ValueError):
            found.append(jsonrpc_message_adapter.validate_python(item, by_name=False))
    return found


def _as_line(message: Any) -> bytes:
    """In ASCII: what a model wrote may hold half a surrogate pair, which has no bytes."""
    return json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode() + b"\n"
