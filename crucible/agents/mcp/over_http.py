"""Streamable HTTP to a server outside, or to one that listens inside an attempt's sandbox.

What goes wrong with one request is the answer to that request: the session stays, and a later request may get through.
Imported where it is used: httpx2 takes its time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from crucible.agents.mcp.dialling import DiallingTransport
from crucible.agents.mcp.session import UNREACHED
from crucible.agents.mcp.transport import LONGEST_MESSAGE
from crucible.world.types import World

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 10.0


@asynccontextmanager
async def http_streams(url: str, seconds: float, inside: World | None = None) -> AsyncIterator[TransportStreams]:
    """The streams of a session with the server at `url`, reached from outside or, with `inside`, within that world.

    `seconds`: longest a request may go without a byte.
    """
    from mcp.client.streamable_http import streamable_http_client

    transport = None if inside is None else DiallingTransport(inside)
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=seconds)
    async with (
        _Client(transport=transport, timeout=timeout) as client,
        streamable_http_client(
            url, http_client=client, terminate_on_close=inside is None, max_sse_event_size=LONGEST_MESSAGE
        ) as streams,
    ):
        yield streams


class _Client(httpx2.AsyncClient):
    """Answers for a server that does not: the SDK would give up the session."""

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **how)
        except httpx2.TransportError as error:
            return _no_answer(request, error)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            streamed = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Steady(response.stream, most=None if streamed else LONGEST_MESSAGE)
        return response


def _no_answer(request: httpx2.Request, why: Exception) -> httpx2.Response:
    where = request.url.copy_with(userinfo=b"", query=None)
    error = {"code": UNREACHED, "message": f"cannot be reached at {where}: {type(why).__name__} {why}".strip()}
    return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


class _Steady(httpx2.AsyncByteStream):
    """A stream that ends in the one kind of error that the SDK takes for the failure of one request only."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int | None) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for data in self._stream:
                size += len(data)
                if self._most is not None and size > self._most:
                    raise httpx2.StreamError(f"a message of more than {self._most:,} bytes")
                yield data
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"{type(error).__name__} {error}".strip()) from error

    async def aclose(self) -> None:
        await self._stream.aclose()
