"""What the tests of the proxy share: a proxy on a real socket, and providers that do exactly what a test says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from crucible.errors import CrucibleError
from crucible.llm.proxy import Exchange, ModelProxy, Upstream, upstream_of
from crucible.settings import ModelSettings, Settings

KEY = "sk-real-0123456789abcdef"
PRICED = {"input_usd_per_million": 1.0, "cached_usd_per_million": 0.1, "output_usd_per_million": 10.0}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("/v1/messages", {"model": "tiny", "messages": [], "max_tokens": 10}),
    "chat": ("/v1/chat/completions", {"model": "tiny", "messages": []}),
    "responses": ("/v1/responses", {"model": "tiny", "input": []}),
    "gemini": ("/v1beta/models/tiny:generateContent", {"contents": []}),
}
DIALECTS = list(REQUESTS)


def streamed(dialect: str) -> tuple[str, dict[str, Any]]:
    """The same request, asking for a stream."""
    path, body = REQUESTS[dialect]
    if dialect == "gemini":
        return f"{path.replace(':generate', ':streamGenerate')}?alt=sse", body
    return path, body | {"stream": True}


def upstream_at(base: str, model: str = "openai/tiny", key: str | None = KEY) -> Upstream:
    """A provider at an address, whose model has a price of its own, so that no price list is loaded."""
    said = ModelSettings(api_base=base, api_key_env="SOME_KEY" if key else None, **PRICED)
    return upstream_of(model, Settings(models={model: said}), {"SOME_KEY": key} if key else {})


@dataclass
class Agent:
    """An agent's side of a proxy, and what the proxy told of it."""

    proxy: ModelProxy
    client: httpx.AsyncClient
    upstream: Upstream
    seen: list[Exchange] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    refusal: str | None = None
    broken: CrucibleError | None = None

    @property
    def root(self) -> str:
        """The proxy's address, for other clients."""
        return str(self.client.base_url).rstrip("/")

    def tell(self, exchange: Exchange) -> None:
        self.seen.append(exchange)
        if self.broken is not None:
            raise self.broken

    def admit(self, tokens: int) -> str | None:
        self.asked.append(tokens)
        return self.refusal

    async def post(self, dialect: str, *, stream: bool = False, **more: Any) -> httpx.Response:
        path, body = streamed(dialect) if stream else REQUESTS[dialect]
        return await self.client.post(path, json=body | more)


@asynccontextmanager
async def agent_at(
    base: str, model: str = "openai/tiny", key: str | None = KEY, *, in_company: bool = False, **options: Any
) -> AsyncIterator[Agent]:
    """An agent whose proxy forwards to `base`. Nothing of the proxy is left afterwards.

    `in_company` of a library that keeps tasks of its own, only ours are looked for.
    """
    before = asyncio.all_tasks()
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    upstream = upstream_at(base, model, key)
    agent: Agent
    async with (
        ModelProxy(
            listening, upstream, admit=lambda n: agent.admit(n), seen=lambda one: agent.tell(one), **options
        ) as proxy,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            timeout=120,
            verify=False,  # noqa: S501 - plain HTTP here, and loading certificates is most of a test's time
        ) as client,
    ):
        agent = Agent(proxy, client, upstream)
        yield agent
    await asyncio.sleep(0)
    left = [repr(task) for task in asyncio.all_tasks() - before]
    ours = [task for task in left if not in_company or "aiohttp" in task or "crucible" in task]
    assert [] == [task for task in ours if provider.__name__ not in task]  # who may still be learning of the end
    assert -1 == listening.fileno()


Provider = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def provider(serve: Provider) -> AsyncIterator[str]:
    """A provider that does what `serve` does with each connection, once it has read a request; its base URL.

    Whoever asked is to be gone before the context is left: each connection is served to its end.
    """
    serving: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        with suppress(ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            await reader.readexactly(length)
            await serve(reader, writer)
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await server.wait_closed()
        if serving:
            await asyncio.wait(serving)


SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP answer of JSON."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
