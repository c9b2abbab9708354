"""What the model proxy adds to a request: median through the proxy over median straight to the loopback server.

Both in turn, in one run, over connections that the client keeps open; a small request, one of an agent CLI's size (80 KB),
and the latter streamed. The server's own time is part of both. Beside the wall time stands the CPU that the proxy adds,
which a busy machine does not change as much.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import time

import aiohttp

from crucible.llm.loopback import LoopbackServer, Text
from crucible.llm.proxy import ModelProxy, upstream_of
from crucible.settings import ModelSettings, Settings

REQUESTS = 200
SMALL = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "max_tokens": 100}
LARGE = SMALL | {"system": "word " * 16_000}
CASES = {"1 message": SMALL, "80 KB": LARGE, "80 KB, streamed": LARGE | {"stream": True}}


async def milliseconds(client: aiohttp.ClientSession, root: str, body: dict[str, object]) -> tuple[float, float]:
    """Wall and CPU time of one request, to the end of its reply; client, proxy and server are one process."""
    wall, cpu = time.perf_counter(), time.process_time()
    async with client.post(f"{root}/v1/messages", json=body) as reply:
        assert reply.status == 200
        await reply.read()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


async def measure(server: LoopbackServer) -> None:
    """Print the medians of every case."""
    said = ModelSettings(api_base=server.root_url, input_usd_per_million=1, output_usd_per_million=1)
    upstream = upstream_of("anthropic/tiny", Settings(models={"anthropic/tiny": said}), {})
    listening = socket.create_server(("127.0.0.1", 0))
    roots = (server.root_url, f"http://127.0.0.1:{listening.getsockname()[1]}")
    async with (
        ModelProxy(listening, upstream, admit=lambda _: None, seen=lambda _: None),
        aiohttp.ClientSession() as client,
    ):
        for name, body in CASES.items():
            times: dict[str, list[tuple[float, float]]] = {root: [] for root in roots}
            for number in range(2 * REQUESTS):
                root = roots[number % 2]
                times[root].append(await milliseconds(client, root, body))
            show(name, *([statistics.median(kind) for kind in zip(*times[root], strict=True)] for root in roots))


def show(name: str, direct: list[float], proxied: list[float]) -> None:
    """Print one case; times are (wall, CPU)."""
    wall, cpu = (b - a for a, b in zip(direct, proxied, strict=True))
    print(
        f"{name:<16} {direct[0]:6.2f} ms direct  {proxied[0]:6.2f} ms proxied  {proxied[0] / direct[0]:.2f}x"
        f"  +{wall:.2f} ms, +{cpu:.2f} ms CPU"
    )


def main() -> None:
    """Measure against one server."""
    with LoopbackServer(lambda _: Text("A short reply.")) as server:
        asyncio.run(measure(server))


if __name__ == "__main__":
    main()
