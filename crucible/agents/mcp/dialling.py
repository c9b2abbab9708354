"""HTTP over connections that a world dials: to what listens inside an attempt's sandbox.

Imported where it is used: httpx2 takes its time.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

from crucible.errors import HarnessError
from crucible.world.types import World

_READ_BYTES = 64 * 1024


class DiallingTransport(httpx2.AsyncBaseTransport):
    """Sends requests to ports of 127.0.0.1 inside a world, whatever host they name."""

    def __init__(self, world: World) -> None:
        self._pool = httpcore2.AsyncConnectionPool(network_backend=_Backend(world))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises httpx2.NetworkError."""
        sent = httpcore2.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_network_errors():
            got = await self._pool.handle_async_request(sent)
        return httpx2.Response(got.status, headers=got.headers, stream=_Body(got), extensions=got.extensions)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_network_errors():
            async for data in self._response.aiter_stream():
                yield data

    async def aclose(self) -> None:
        with _as_network_errors():
            await self._response.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, world: World) -> None:
        self._world = world

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - httpcore2's signature, as are the rest
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                return _Stream(*await self._world.dial(port))
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"not connected within {timeout:g} seconds") from None
        except HarnessError as error:
            raise httpcore2.ConnectError(error.message) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore2's
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(min(max_bytes, _READ_BYTES))
        except TimeoutError:
            raise httpcore2.ReadTimeout(f"nothing for {timeout:g} seconds") from None
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore2's
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError:
            raise httpcore2.WriteTimeout(f"not taken for {timeout:g} seconds") from None
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.close()

    def get_extra_info(self, info: str) -> Any:
        """Whether it can be read, which of a connection at rest says that the other side closed it."""
        return self._reader.at_eof() if info == "is_readable" else None


@contextmanager
def _as_network_errors() -> Iterator[None]:
    try:
        yield
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise httpx2.NetworkError(f"{type(error).__name__} {error}".strip()) from error
