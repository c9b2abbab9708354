"""What a tool server adds to an attempt: start, list and ten calls through Crucible, beside the bare protocol.

Both ask the same server in the same sandbox, in turn; the bare one writes its lines by hand and checks nothing.
Prints medians of wall time and of this process's CPU, and their ratio in this run.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter, process_time

from crucible.agents.mcp.naming import offered
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.server import ToolServer
from crucible.agents.mcp.session import load
from crucible.world import make_world
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Program, World, WorldSpec

ROUNDS = 30
CALLS = 10
SERVERS = Path(__file__).parents[1] / "tests" / "mcp" / "servers"
COMMAND = ("/usr/bin/python3", "-I", "-S", str(SERVERS / "standin.py"))
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bare", "version": "0"},
}


async def bare(world: World) -> None:
    """The protocol by hand."""
    running = await world.start(Program("bare", COMMAND))
    number = 0

    async def ask(method: str, params: dict[str, object]) -> dict[str, object]:
        nonlocal number
        number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        running.writer.write(line.encode() + b"\n")
        await running.writer.drain()
        answer: dict[str, object] = json.loads(await running.reader.readline())
        return answer

    await ask("initialize", HELLO)
    running.writer.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    await ask("tools/list", {})
    for n in range(CALLS):
        await ask("tools/call", {"name": "echo", "arguments": {"text": str(n)}})
    await running.stop()


async def ours(world: World) -> None:
    """The same as an attempt does it."""
    server = ToolServer(ServerPlan("demo", "stand-in", COMMAND), world)
    await server.start()
    assert offered([(server.plan, server.listed)], [])
    for n in range(CALLS):
        assert (await server.call("echo", {"text": str(n)}, 60)).ok
    await server.close()


async def timed(doing: Callable[[World], Awaitable[None]], world: World) -> tuple[float, float]:
    """Wall and own CPU, in milliseconds."""
    before, began = process_time(), perf_counter()
    await doing(world)
    return (perf_counter() - began) * 1000, (process_time() - before) * 1000


async def measure(folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Times of each way, one after the other."""
    fixture = folder / "fixture"
    fixture.mkdir()
    (fixture / "a.py").write_text("A = 1\n")
    spec = WorldSpec(take_snapshot(fixture, folder / "cache"), shown=(SERVERS,))
    world = make_world(spec, "overlay", folder / "scratch")
    times: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    await world.open()
    try:
        load()
        for _ in range(ROUNDS):
            for name, doing in (("bare", bare), ("ours", ours)):
                times[name].append(await timed(doing, world))
    finally:
        await world.close()
    return times


def main() -> None:
    """Print medians and ratios."""
    began = perf_counter()
    load()
    print(f"import of the SDK, once per process: {(perf_counter() - began) * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        times = asyncio.run(measure(Path(folder)))
    medians = {name: [statistics.median(t[n] for t in found[2:]) for n in (0, 1)] for name, found in times.items()}
    for name, (wall, own) in medians.items():
        print(f"{name}: start, list and {CALLS} calls in {wall:6.1f} ms wall, {own:5.1f} ms own CPU")
    (bare_wall, bare_own), (wall, own) = medians["bare"], medians["ours"]
    print(f"added: {wall - bare_wall:.1f} ms wall ({wall / bare_wall:.2f}x), {own - bare_own:.1f} ms own CPU")


if __name__ == "__main__":
    main()
