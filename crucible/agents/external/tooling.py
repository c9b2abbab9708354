"""The tool servers of an agent CLI: tried before it starts, so that it is known what it is offered, then its own to run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from crucible.agents.external.connections import Connection, connect
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.server import ToolServer
from crucible.redaction import redact
from crucible.servers import SEPARATOR
from crucible.world.types import World


@dataclass(frozen=True, slots=True)
class Tooling:
    """What an agent gets: each server's connection, which server it really is, and what it brings to an opening."""

    connections: tuple[Connection, ...] = ()
    really: Mapping[str, str] = field(default_factory=dict)
    brought: Mapping[str, Any] = field(default_factory=dict)

    @property
    def offered(self) -> dict[str, tuple[str, ...]]:
        """The tools offered, by server, with the names our events have for them."""
        return {one.name: tuple(f"{one.name}{SEPARATOR}{tool}" for tool in one.offered) for one in self.connections}


@asynccontextmanager
async def tooling(servers: Mapping[str, ServerPlan], world: World) -> AsyncIterator[Tooling]:
    """Prepare and start every server once. One that speaks HTTP inside goes on running; the agent starts the others itself.

    Raises HarnessError that names a server which does not start, shake hands or list its tools.
    """
    async with AsyncExitStack() as kept:
        connections, really, brought = [], {}, {}
        for name, plan in servers.items():
            server = ToolServer(plan, world)
            kept.push_async_callback(server.close)
            await server.start()
            connections.append(connect(plan, server.listed))
            really[name] = _really(server)
            brought[name] = _brought(server)
            if plan.port is None:
                await server.close()
        yield Tooling(tuple(connections), really, brought)


def _really(server: ToolServer) -> str:
    """Which server it is: as it says itself, and as its plan does."""
    said = f"{server.hello.name} {server.hello.version}".strip()
    return redact(said if server.plan.what in (said, server.hello.name) else f"{said} ({server.plan.what})")


def _brought(server: ToolServer) -> dict[str, Any]:
    """A server in an opening: names of variables, never what `env_from` takes from the user's environment."""
    plan = server.plan
    said: dict[str, Any] = {
        "what": plan.what,
        "command": list(plan.command) if plan.command else None,
        "url": plan.url,
        "port": plan.port,
        "prepare": [list(command) for command in plan.prepare],
        "env": {name: redact(value) for name, value in sorted(plan.env.items())},
        "env_from": sorted(plan.env_from),
        "server": {"name": server.hello.name, "version": server.hello.version},
    }
    return {key: value for key, value in said.items() if value not in (None, [], {})}
