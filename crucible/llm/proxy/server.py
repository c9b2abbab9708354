"""The proxy's server: which request is what, forwarding, and the end of everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil
from socket import socket
from typing import TYPE_CHECKING, Self

from crucible.llm.dialects import Route, refused_status, route
from crucible.llm.estimate import BYTES_PER_TOKEN
from crucible.llm.proxy.call import Call
from crucible.llm.proxy.exchange import HUNG_UP, Asked, Exchange, Trouble
from crucible.llm.proxy.forward import Forward, HungUpError, own_error
from crucible.llm.proxy.hosted import without_hosted
from crucible.llm.proxy.ledger import Ledger
from crucible.llm.proxy.stream import parse_object
from crucible.llm.proxy.upstream import Upstream

if TYPE_CHECKING:
    from aiohttp import web


class ModelProxy:
    """Serves an agent's model calls on a listening socket, as an async context manager.

    Spoken: Anthropic Messages, OpenAI chat completions, OpenAI Responses, Gemini; streamed or not. Each call goes to the
    provider with the real key in place of the agent's, and the reply comes back as it is, event by event. Token counts
    and lists of models are passed without being told of; everything else is answered with 404 (see `strays`).

    `admit(input_tokens)` is asked before each model call with an upper guess of its input (a third of its bytes): a text
    refuses it, and the agent gets an error in its dialect's shape that it will not retry. `seen(exchange)` is told of
    every model call once its outcome is certain, also of refused ones, always before the agent could make its next: the
    end of a reply is not sent before `seen` has returned. A CrucibleError of either refuses every later call and is
    raised when the context is left, unless something else is.

    Without `network` the tools that the provider runs itself (see proxy.hosted) are taken out of each request.

    A provider's errors reach the agent as they came, without keys; retrying is its business. `silence` is the seconds
    after which a provider that says nothing is given up (504). Bodies above `body_bytes` are refused with 413.
    """

    def __init__(
        self,
        listening: socket,
        upstream: Upstream,
        *,
        admit: Callable[[int], str | None],
        seen: Callable[[Exchange], None],
        network: bool = True,
        silence: float = 600.0,
        body_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._listening = listening
        self._upstream = upstream
        self._ledger = Ledger(admit, seen)
        self._network, self._body_bytes = network, body_bytes
        self._forward = Forward(upstream, silence, body_bytes)
        self._runner: web.AppRunner | None = None
        self._busy: set[asyncio.Task[object]] = set()
        self._priced: set[str] = set()

    async def __aenter__(self) -> Self:
        """Serve from now on. Loads the price list first where it is needed (seconds, once a process)."""
        from aiohttp import web

        await self._know_price(self._upstream.wire_model)
        self._forward.open()
        app = web.Application(client_max_size=self._body_bytes)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # An agent that hangs up cancels its call, which nobody is to pay for any longer.
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0, access_log=None)
        await self._runner.setup()
        await web.SockSite(self._runner, self._listening).start()
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End every call, connection and task; the socket is closed."""
        for task in self._busy:
            task.cancel()
        if self._busy:
            await asyncio.wait(self._busy)
        if self._runner is not None:
            await self._runner.cleanup()
        await self._forward.close()
        if self._ledger.failure is not None and error is None:
            raise self._ledger.failure

    @property
    def first_request(self) -> Asked | None:
        """The first model request that offers tools; the first of all while there is none such. None before any.

        Agents make side calls (a title, a topic, a check of the quota) before their real first one; those offer no tools.
        """
        return self._ledger.first

    @property
    def strays(self) -> tuple[str, ...]:
        """Method, path and our status of what was asked and not passed on, each once, up to 100."""
        return tuple(self._ledger.strays)

    def trouble(self) -> Trouble | None:
        """The provider's failures so far; None when it has not failed."""
        return self._ledger.trouble()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler is one
        self._busy.add(task)
        try:
            return await self._answer(request)
        finally:
            self._busy.discard(task)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        found = route(request.method, request.rel_url.raw_path, request.headers)
        if found is None:
            return self._turned_away(request, None, 404, "only model calls are passed on here")
        if found.kind == "hello":
            return web.Response()
        raw = await self._body(request)
        if raw is None:
            return self._turned_away(request, found, 413, f"the request is larger than {self._body_bytes:,} bytes")
        if found.kind != "call":
            return await self._forward.plain(request, found, raw)
        return await self._call(request, found, raw)

    async def _body(self, request: web.Request) -> bytes | None:
        from aiohttp import web

        if (request.content_length or 0) > self._body_bytes:
            return None
        try:
            return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return None

    async def _call(self, request: web.Request, found: Route, raw: bytes) -> web.StreamResponse:
        body = parse_object(raw)
        if body is None:
            return self._turned_away(request, found, 400, "the body is not a JSON object")
        body, taken = (body, ()) if self._network else without_hosted(found.dialect, body)
        asked = self._ledger.asked(found, body)
        await self._know_price(asked.model)
        why = self._ledger.refusal(asked, ceil(len(raw) / BYTES_PER_TOKEN))
        if why is not None:
            return own_error(found.dialect, refused_status(found.dialect), why)
        call = Call(asked, self._upstream, self._ledger, taken)
        try:
            return await self._forward.call(request, found, raw, call)
        except HungUpError:
            return own_error(found.dialect, 499, HUNG_UP)  # for nobody
        finally:
            call.end(HUNG_UP)  # what was admitted is told of, however it ended; only the first time counts

    async def _know_price(self, model: str) -> None:
        # The price list takes seconds to load, which the event loop does not have.
        if model not in self._priced:
            await asyncio.to_thread(self._upstream.price, model, None)
            self._priced.add(model)

    def _turned_away(self, request: web.Request, found: Route | None, status: int, why: str) -> web.Response:
        self._ledger.turned_away(request.method, request.path, status)
        answer = own_error(found.dialect if found else "chat", status, why)
        answer.force_close()
        return answer
