"""One conversation with a tool server in MCP: shake hands, list its tools, call them.

The SDK does the protocol. What a server lists and returns is taken as it comes, not by the SDK's models: one odd
tool or content block must not cost the others.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crucible import __version__
from crucible.transcript.events import cap_text

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

UNREACHED = -32050
"""The JSON-RPC code of an answer that is ours, in place of a server that cannot be reached."""
CUT_OFF = (UNREACHED, -32000)
"""Codes of answers in place of a server's: ours, and the SDK's for a connection that was closed."""
_LEAVE_SECONDS = 2.0
_NAME = 100
MOST_INSTRUCTIONS = 20_000
"""Characters of a server's instructions that its model is shown."""
_METHOD_NOT_FOUND = -32601


class AnsweredError(Exception):
    """A request was answered with an error, by the server or because it is not there; `code` is JSON-RPC's or 0."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Hello:
    """Who a server says it is, the protocol version agreed on, and what it wants models to know; empty when nothing."""

    name: str
    version: str
    protocol: str
    instructions: str = ""


class Session:
    """A conversation over the streams of a transport. `open` once, then the rest in any order, then `close`.

    Its streams live in a task of their own: the SDK's must be left by the task that entered them.
    """

    def __init__(self, transport: AbstractAsyncContextManager[TransportStreams]) -> None:
        self._transport = transport
        self._leave = asyncio.Event()
        self._opened: asyncio.Future[tuple[ClientSession, JSONRPCDispatcher]] = asyncio.Future()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Enter the transport's streams. Raises AnsweredError."""
        self._keeper = asyncio.create_task(self._keep())
        waited: list[asyncio.Future[Any]] = [self._keeper, self._opened]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done():
            raise AnsweredError(0, self.why_lost or "no connection")

    async def shake_hands(self) -> Hello:
        """Initialize. Raises AnsweredError, and waits for as long as it is let."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        session, _ = self._opened.result()
        try:
            said = await session.initialize()
        except MCPError as error:
            raise AnsweredError(error.error.code, error.error.message) from error
        except ValidationError as error:
            raise AnsweredError(0, f"its answer to initialize is not what MCP says: {error.errors()[0]}") from error
        except RuntimeError as error:
            raise AnsweredError(0, str(error)) from error
        server = said.server_info
        told = _as_text(said.instructions or "").strip()
        return Hello(server.name[:_NAME], server.version[:_NAME], said.protocol_version, told)

    async def list_tools(self) -> list[dict[str, Any]]:
        """All pages of its tools, as they came. Raises AnsweredError."""
        tools: list[dict[str, Any]] = []
        cursors: list[object] = [None]
        while True:
            page = await self._page(cursors[-1])
            listed = page.get("tools")
            if not isinstance(listed, list) or not all(_is_tool(tool) for tool in listed):
                raise AnsweredError(0, f"its answer to tools/list is not what MCP says: {json.dumps(page)[:200]}")
            tools += listed
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools
            if cursor in cursors:
                raise AnsweredError(0, f"its pages of tools go round: {json.dumps(cursor)[:200]} came twice")
            cursors.append(cursor)

    async def _page(self, cursor: object) -> dict[str, Any]:
        try:
            return await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
        except AnsweredError as error:
            if error.code == _METHOD_NOT_FOUND and cursor is None:
                return {"tools": []}  # a server of resources or prompts only
            raise

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a tool returned, as it came. Raises AnsweredError."""
        return await self._ask("tools/call", {"name": tool, "arguments": _as_json(arguments)})

    @property
    def why_lost(self) -> str | None:
        """What ended the connection; None while it may still be there."""
        if self._keeper is None or not self._keeper.done() or self._keeper.cancelled():
            return None
        error = self._keeper.exception()
        return "closed" if error is None else _innermost(error)

    async def close(self) -> None:
        """Leave the streams. Safe to call again."""
        if self._keeper is None:
            return
        self._leave.set()
        await asyncio.wait({self._keeper}, timeout=_LEAVE_SECONDS)
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        if not self._keeper.cancelled():
            self._keeper.exception()  # seen, so that asyncio does not report it

    async def _keep(self) -> None:
        from mcp.client.session import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp_types import Implementation

        async with self._transport as (reading, writing):
            dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(reading, writing)
            us = Implementation(name="crucible", version=__version__)
            async with ClientSession(dispatcher=dispatcher, client_info=us) as session:
                self._opened.set_result((session, dispatcher))
                await self._leave.wait()

    async def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        from mcp.shared.exceptions import MCPError

        _, dispatcher = self._opened.result()
        try:
            return await dispatcher.send_raw_request(method, parameters)
        except MCPError as error:
            raise AnsweredError(error.error.code, error.error.message) from error


def load() -> None:
    """Import the SDK, which takes a second the first time: outside any server's deadline."""
    import mcp.client.session
    import mcp.client.streamable_http  # noqa: F401 - loaded, not used

    # What the SDK logs of a server's faults we tell in our own words; nothing of it belongs on a terminal.
    for name in ("mcp", "client"):
        if not (logger := logging.getLogger(name)).handlers:
            logger.addHandler(logging.NullHandler())


def _as_text(said: str) -> str:
    """Without halves of surrogate pairs, which no request could carry, and not too long."""
    return cap_text(said.encode("utf-8", "replace").decode(), MOST_INSTRUCTIONS)


def _is_tool(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"] != ""


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__} {error}".strip()


def _as_json(value: dict[str, Any]) -> Any:
    """As every JSON parser takes it: no half of a surrogate pair, no NaN, which a model's arguments may hold."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text, parse_constant=lambda _: None)
