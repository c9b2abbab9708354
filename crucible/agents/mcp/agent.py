"""The built-in agent with tool servers: started in the attempt's world, asked beside the built-in tools, ended with it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from crucible.agents.loop import LoopAgent
from crucible.agents.mcp.naming import Offered, offered, renamed
from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.server import ToolServer
from crucible.agents.spend import Spend
from crucible.agents.types import Ending, Record, Task
from crucible.llm.types import Model
from crucible.redaction import redact
from crucible.scenario.schema import Policy
from crucible.transcript.events import Equipped, Event, Noted, Replied, Started
from crucible.transcript.messages import ToolSpec
from crucible.transcript.opening import INSTRUCTIONS, instructed
from crucible.world.types import ToolOutcome, World


class McpAgent:
    """Drives a model with built-in tools and those of tool servers. Implements Agent."""

    def __init__(self, model: Model, builtin_tools: Sequence[ToolSpec], servers: Mapping[str, ServerPlan]) -> None:
        self.model = model
        self.builtin_tools = tuple(builtin_tools)
        self.servers = dict(servers)

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:
        """Start the servers, work on the task, end the servers.

        Raises HarnessError naming a server that does not start, AttemptError when the provider or the world failed.
        """
        began = monotonic()
        async with _started(self.servers.values(), world) as servers:
            tools = self._offered(servers)
            record(_equipped(servers, tools, monotonic() - began))
            kept = _Record(record, Spend(task.budget))
            equipped = _Equipped(world, servers, tools, kept.spend)
            loop = self._loop(servers, tools)
            # LoopAgent asks a world for its mode, its tools and where links lead; the first and last are the world's own.
            ending = await loop.attempt(_as_seen(task, servers, tools), cast("World", equipped), kept)
            kept.note_noise(servers)
            return ending

    def opening(self, task: Task, servers: Sequence[ToolServer]) -> dict[str, Any]:
        """What an attempt will begin with whose servers list what these did; see LoopAgent.opening."""
        tools = self._offered(servers)
        return self._loop(servers, tools).opening(_as_seen(task, servers, tools))

    def _offered(self, servers: Sequence[ToolServer]) -> list[Offered]:
        return offered([(s.plan, s.listed) for s in servers], taken=[tool.name for tool in self.builtin_tools])

    def _loop(self, servers: Sequence[ToolServer], tools: Sequence[Offered]) -> LoopAgent:
        return LoopAgent(self.model, [*self.builtin_tools, *(tool.spec for tool in tools)], _brought(servers))


@asynccontextmanager
async def _started(plans: Iterable[ServerPlan], world: World) -> AsyncIterator[list[ToolServer]]:
    """All servers, started side by side; the first that fails ends the others. All are closed in the end."""
    servers = [ToolServer(plan, world) for plan in plans]
    try:
        await _all(servers)
        yield servers
    finally:
        await asyncio.gather(*(server.close() for server in servers))


async def _all(servers: Sequence[ToolServer]) -> None:
    starting = [asyncio.create_task(server.start()) for server in servers]
    try:
        done, _ = await asyncio.wait(starting, return_when=asyncio.FIRST_EXCEPTION)
        for task in starting:
            if task in done:
                task.result()
    finally:
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)


class _Equipped:
    """A world whose `call` sends the calls of offered tools to their servers; everything else is the world's own."""

    def __init__(self, world: World, servers: Sequence[ToolServer], tools: Sequence[Offered], spend: Spend) -> None:
        self._world = world
        self._servers = {server.plan.name: server for server in servers}
        self._tools = {tool.spec.name: tool for tool in tools}
        self._spend = spend

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See World.call. A server's failure is an outcome."""
        if tool not in self._tools:
            return await self._world.call(tool, arguments)
        found = self._tools[tool]
        return await self._servers[found.server].call(found.tool, arguments, self._spend.seconds_left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


class _Record:
    """Passes events on, and keeps the attempt's clock by them: what LoopAgent charges is not known to a world."""

    def __init__(self, record: Record, spend: Spend) -> None:
        self.spend = spend
        self._record = record
        self._last: Event | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self.spend.start()
        elif isinstance(event, Replied):
            self.spend.waited += event.waited_seconds
        self._last = event
        self._record(event)

    def note_noise(self, servers: Sequence[ToolServer]) -> None:
        """Record how much of what servers printed was no message."""
        at, turn = (self._last.at, self._last.turn) if self._last else (0.0, 0)
        for server in servers:
            if traffic := server.traffic.noise:
                first = redact(server.traffic.first)
                detail = (
                    f"{server.plan.name}: {traffic} lines of its standard output are no messages, the first: {first!r}"
                )
                self._record(Noted(at=at, turn=turn, what="server_noise", detail=detail))


def _equipped(servers: Sequence[ToolServer], tools: Sequence[Offered], seconds: float) -> Equipped:
    return Equipped(
        at=0.0,
        turn=0,
        servers={server.plan.name: _really(server) for server in servers},
        offered={s.plan.name: tuple(t.spec.name for t in tools if t.server == s.plan.name) for s in servers},
        seconds=round(seconds, 4),
    )


def _really(server: ToolServer) -> str:
    """Which server it is: as it says itself, and as its plan does."""
    said = f"{server.hello.name} {server.hello.version}".strip()
    return redact(said if server.plan.what in (said, server.hello.name) else f"{said} ({server.plan.what})")


def _brought(servers: Sequence[ToolServer]) -> dict[str, Any]:
    """What the servers bring to an attempt, for its opening. The values of `env_from` are nowhere in it."""
    return {"servers": {server.plan.name: _of_plan(server) for server in servers}}


def _of_plan(server: ToolServer) -> dict[str, Any]:
    plan, hello = server.plan, server.hello
    said: dict[str, Any] = {
        "what": plan.what,
        "command": list(plan.command) if plan.command else None,
        "url": plan.url and _address(plan.url),
        "port": plan.port,
        "prepare": [list(command) for command in plan.prepare],
        "env": {name: redact(value) for name, value in sorted(plan.env.items())},
        "env_from": sorted(plan.env_from),
        "files": sorted(plan.files),
        "protocol": hello.protocol,
        "server": {"name": hello.name, "version": hello.version},
        INSTRUCTIONS: redact(hello.instructions),
    }
    return {key: value for key, value in said.items() if value not in (None, "", [], {})}


def _address(url: str) -> str:
    """An address without what may be a key: no user, and of its query only whether it is the same."""
    parts = urlsplit(url)
    query = parts.query and f"sha256-{hashlib.sha256(parts.query.encode()).hexdigest()[:16]}"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


def _as_seen(task: Task, servers: Sequence[ToolServer], tools: Sequence[Offered]) -> Task:
    """The task with what servers want models to know, and with policies that name tools as the model does."""
    names = renamed(tools)
    policies = tuple(_renaming(policy, names) for policy in task.policies) if names else task.policies
    told = {server.plan.name: redact(server.hello.instructions) for server in servers}
    return replace(task, system_prompt=instructed(task.system_prompt, told), policies=policies)


def _renaming(policy: Policy, names: Mapping[str, tuple[str, ...]]) -> Policy:
    matchers = tuple(
        matcher.model_copy(update={"tool": name})
        for matcher in policy.matchers
        for name in names.get(matcher.tool, (matcher.tool,))
    )
    return policy.model_copy(update={"matchers": matchers})
