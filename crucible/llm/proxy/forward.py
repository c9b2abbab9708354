"""Forwarding: an agent's request to the provider, the provider's answer back as it comes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from crucible.llm.dialects import Dialect, Route, error_body
from crucible.llm.proxy.call import Call
from crucible.llm.proxy.headers import query, to_agent, to_provider
from crucible.llm.proxy.upstream import Upstream
from crucible.redaction import redact_bytes

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, web
    from aiohttp.client import _RequestContextManager

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 4.0
"""Connections to the provider are kept that long: shorter than servers do, which would close one as it is used again."""


class HungUpError(Exception):
    """The agent no longer listens."""


class TooLargeError(Exception):
    """The provider's answer is larger than allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the reply is larger than {most:,} bytes")


class Forward:
    """The way to one provider."""

    def __init__(self, upstream: Upstream, silence: float, body_bytes: int) -> None:
        self._upstream, self._silence, self._body_bytes = upstream, silence, body_bytes
        self._session: ClientSession | None = None

    def open(self) -> None:
        """Make the connections possible; none is made yet."""
        import aiohttp
        import httpx

        secure = urlsplit(self._upstream.base).scheme == "https"
        # The certificates that litellm trusts, which a machine without its own has too.
        trusted = httpx.create_ssl_context() if secure else True
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=trusted),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._silence),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_way_out(self._upstream.base),
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def plain(self, request: web.Request, found: Route, raw: bytes) -> web.StreamResponse:
        """Pass a request that is no model call."""
        import aiohttp
        from aiohttp import web

        try:
            async with self._send(request, found, raw) as reply:
                body = await self._read(reply)
        except (aiohttp.ClientError, TimeoutError, TooLargeError) as failure:
            return own_error(found.dialect, *_status_and_words(failure))
        return web.Response(status=reply.status, body=redact_bytes(body), headers=to_agent(reply.headers))

    async def call(self, request: web.Request, found: Route, raw: bytes, call: Call) -> web.StreamResponse:
        """Pass a model call, and account it in `call`. Raises HungUpError when the agent stops listening."""
        import aiohttp
        from aiohttp import web

        sent = call.sent()
        try:
            async with self._send(request, found, raw if sent is None else json.dumps(sent).encode()) as reply:
                call.status = reply.status
                if reply.status < 300 and reply.content_type == "text/event-stream":
                    return await self._stream(request, reply, call)
                body = await self._read(reply)
        except (aiohttp.ClientError, TimeoutError, TooLargeError) as failure:
            call.broke(failure)
            call.end()
            return own_error(found.dialect, *_status_and_words(failure))
        passed = call.whole(body, reply.headers)
        return web.Response(status=reply.status, body=passed, headers=to_agent(reply.headers))

    async def _stream(self, request: web.Request, reply: ClientResponse, call: Call) -> web.StreamResponse:
        import aiohttp
        from aiohttp import web

        answer = web.StreamResponse(status=reply.status, headers=to_agent(reply.headers))
        await _to_agent(answer.prepare(request))
        async with aclosing(self._chunks(reply)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except (aiohttp.ClientError, TimeoutError, TooLargeError) as failure:
                    call.broke(failure)
                    call.end()
                    return _cut(request, answer)
                await _to_agent(answer.write(call.rest() if chunk is None else call.take(chunk)))
                if chunk is None:
                    return answer

    def _send(self, request: web.Request, found: Route, raw: bytes) -> _RequestContextManager:
        from yarl import URL

        assert self._session is not None  # noqa: S101 - open() comes first
        url = URL(self._upstream.url(found.dialect, found.path), encoded=True)
        return self._session.request(
            request.method,
            url.update_query(query(request.query.items())),
            data=raw or None,
            headers=to_provider(request.headers, self._upstream.credentials(found.dialect)),
            allow_redirects=False,
        )

    async def _read(self, reply: ClientResponse) -> bytes:
        return b"".join([chunk async for chunk in self._chunks(reply)])

    async def _chunks(self, reply: ClientResponse) -> AsyncGenerator[bytes]:
        size = 0
        async for chunk in reply.content.iter_any():
            size += len(chunk)
            if size > self._body_bytes:
                raise TooLargeError(self._body_bytes)
            yield chunk


async def _to_agent(sending: Awaitable[object]) -> None:
    try:
        await sending
    except ConnectionError as gone:
        raise HungUpError from gone


def own_error(dialect: Dialect, status: int, message: str) -> web.Response:
    """An error of ours, in the dialect's shape."""
    from aiohttp import web

    # Asked for by both big client libraries: an answer of 4xx of ours will be the same the next time.
    headers = {"x-should-retry": "false"} if status < 500 else {}
    return web.json_response(error_body(dialect, status, message), status=status, headers=headers)


def _cut(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    # Without the mark of the end that a whole body has, so that the agent sees that there was more to come.
    if request.transport is not None:
        request.transport.close()
    return answer


def _status_and_words(failure: Exception) -> tuple[int, str]:
    if isinstance(failure, TooLargeError):
        return 413, str(failure)
    if isinstance(failure, TimeoutError):
        return 504, "the provider did not answer in time"
    return 502, "the provider could not be reached, or broke off"


def _way_out(base: str) -> str | None:
    """The proxy that the environment names for an address, as httpx takes it."""
    parts = urlsplit(base)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    found = getproxies()
    return found.get(parts.scheme) or found.get("all")
