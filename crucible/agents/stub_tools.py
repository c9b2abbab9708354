"""A fake context with stub tools over it: the world a frozen failure is played in. No files, no processes.

The tools really do what they are said to do, in a copy of the context that is the run's own.
"""

from __future__ import annotations

import json
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from socket import socket
from typing import Any, Literal

from crucible.errors import HarnessError
from crucible.scenario.stubs import NOTHING_GIVEN, Effect, StubTool
from crucible.transcript.messages import ToolSpec
from crucible.world.types import Change, Execution, LimitName, Program, Running, SandboxMode, ToolOutcome

WRITES = frozenset({"adds", "moves", "deletes", "sets"})


def stub_specs(stubs: Iterable[StubTool]) -> tuple[ToolSpec, ...]:
    """The tools as a model is told of them."""
    return tuple(
        ToolSpec(
            stub.name, stub.description, dict(stub.parameters), writes=bool(stub.effect and stub.effect.does in WRITES)
        )
        for stub in stubs
    )


class StubTools:
    """The context of one run and what its tools make of it. `context` is as the calls so far have left it."""

    def __init__(self, context: Any, stubs: Iterable[StubTool]) -> None:
        self.context = deepcopy(context)
        self._stubs = {stub.name: stub for stub in stubs}
        self._calls: Counter[str] = Counter()

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Whether the call succeeded, and what it answers: any JSON value, or a text about what was wrong."""
        stub = self._stubs[name]
        self._calls[name] += 1
        if stub.fails_with is not None and (stub.fails_times is None or self._calls[name] <= stub.fails_times):
            return False, stub.fails_with
        found: Any = None
        if stub.effect is not None:
            found = _apply(stub.effect, self.context, arguments)
            if found is None:
                return False, _no_such(stub.effect, arguments)
        if stub.returns is not NOTHING_GIVEN:
            return True, stub.returns
        return True, found


def _apply(effect: Effect, context: dict[str, Any], arguments: dict[str, Any]) -> list[Any] | None:
    """The items it concerned, as they are afterwards; None where a call is about an item that is not there."""
    items = context.setdefault(effect.within, [])
    if effect.does == "adds":
        items.append(dict(arguments))
        return [dict(arguments)]
    chosen = [item for item in items if _is_meant(item, effect, arguments)]
    if effect.does == "lists":
        return deepcopy(chosen)
    if not chosen:
        return None
    if effect.does == "sets":
        for item in chosen:
            item.update(effect.values)
        return deepcopy(chosen)
    items[:] = [item for item in items if not any(item is one for one in chosen)]
    if effect.does == "moves":
        context.setdefault(effect.to or "", []).extend(chosen)
    return deepcopy(chosen)


def _is_meant(item: Any, effect: Effect, arguments: dict[str, Any]) -> bool:
    """Whether an item has what was asked for; an argument that was left out asks for nothing, but in a list only."""
    wanted = {key: arguments[name] for key, name in effect.where.items() if name in arguments}
    if len(wanted) < len(effect.where) and effect.does != "lists":
        return False
    return isinstance(item, dict) and all(key in item and item[key] == value for key, value in wanted.items())


def _no_such(effect: Effect, arguments: dict[str, Any]) -> str:
    asked = ", ".join(f"{key} {arguments.get(name)!r}" for key, name in effect.where.items())
    return f"nothing in {effect.within} with {asked}"


class StubWorld:
    """Stub tools where the agent loop expects a world. It has no workspace: what is about files is refused."""

    mode: SandboxMode = "copy"
    survivors: tuple[str, ...] = ()
    limits_hit: tuple[LimitName, ...] = ()
    outside: Literal[""] = ""

    def __init__(self, tools: StubTools) -> None:
        self._tools = tools

    async def open(self) -> None:
        """Nothing to reset: the context is a copy already."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run one stub tool."""
        ok, answer = self._tools.call(tool, arguments)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return ToolOutcome(ok=ok, text=text, size=len(text.encode("utf-8", "replace")), seconds=0.0)

    async def start(self, program: Program) -> Running:  # noqa: ARG002 - the protocol's names
        """Refused."""
        raise HarnessError("stub tools start no programs")

    async def listen(self) -> tuple[socket, int]:
        """Refused."""
        raise HarnessError("stub tools have no network")

    async def dial(self, port: int) -> tuple[StreamReader, StreamWriter]:  # noqa: ARG002 - as above
        """Refused."""
        raise HarnessError("stub tools have no network")

    async def resolve(self, path: str) -> str:
        """There are no links to follow."""
        return path

    async def apply(self, change: Change) -> tuple[str, ...]:  # noqa: ARG002 - as above
        """Refused."""
        raise HarnessError("stub tools have no workspace")

    async def execute(self, command: str, *, seconds: float, env: dict[str, str]) -> Execution:  # noqa: ARG002 - as above
        """Refused."""
        raise HarnessError("stub tools run no commands")

    async def read_outside(self, name: str) -> bytes | None:  # noqa: ARG002 - as above
        """There is nothing outside."""
        return None

    async def change(self) -> Change:
        """No files, so no change to any."""
        return Change()

    async def close(self) -> None:
        """Nothing to free."""
