"""Tool servers as an agent's own configuration says them, and the names their tools come back by."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crucible.agents.mcp.naming import chosen_of
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.server import HTTP_PATH
from crucible.servers import SEPARATOR, safe_name, starts_by_agents


@dataclass(frozen=True, slots=True)
class Connection:
    """One tool server. Exactly one of `command` and `url`. `offered` are the tools the arm may see, `hidden` the others."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    offered: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    start_seconds: float = 60.0
    call_seconds: float = 60.0

    @property
    def safe_name(self) -> str:
        """The name in letters that every agent takes."""
        return safe_name(self.name)


def connect(
    server: ServerPlan, listed: list[dict[str, Any]], environment: Mapping[str, str] = os.environ
) -> Connection:
    """A server as an agent is told of it, `listed` being its tools as they came. Raises HarnessError; see chosen_of."""
    chosen = [str(tool["name"]) for tool in chosen_of(server, listed)]
    passed = {name: environment[name] for name in server.env_from if name in environment}
    return Connection(
        name=server.name,
        command=() if server.port is not None else (server.command or ()),
        url=server.url if server.port is None else f"http://127.0.0.1:{server.port}{HTTP_PATH}",
        env={**server.env, **passed},
        offered=tuple(chosen),
        hidden=tuple(sorted({str(tool["name"]) for tool in listed} - set(chosen))),
        start_seconds=server.start_seconds,
        call_seconds=server.call_seconds,
    )


def mcp_json(connections: Iterable[Connection]) -> dict[str, Any]:
    """The `mcpServers` object that many agents read."""
    return {one.safe_name: _entry(one) for one in connections}


def _entry(one: Connection) -> dict[str, Any]:
    if one.url is not None:
        return {"type": "http", "url": one.url}
    return {"type": "stdio", "command": one.command[0], "args": list(one.command[1:]), "env": dict(one.env)}


def our_name(tool: str, servers: Iterable[str]) -> str:
    """`<server>__<tool>` for a tool of one of the servers, by whatever name an agent calls it; others as they are."""
    for server in sorted(servers, key=len, reverse=True):
        for prefix in starts_by_agents(server):
            if tool.startswith(prefix) and len(tool) > len(prefix):
                return f"{server}{SEPARATOR}{tool[len(prefix) :]}"
    return tool
