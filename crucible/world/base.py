"""What the worlds have in common: a folder of their own, a toolbox, and a change at the end."""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import Any

from crucible.errors import FixtureError, SandboxError
from crucible.world.applying import apply_change
from crucible.world.client import Frame, ToolboxClient
from crucible.world.disk import Disk
from crucible.world.programs import Programs
from crucible.world.reports import Reports
from crucible.world.sandbox import WORKSPACE
from crucible.world.scratch import WorldFolder
from crucible.world.tree import entry_at
from crucible.world.types import Change, Execution, LimitName, Program, Running, SandboxMode, ToolOutcome, WorldSpec

MOST_SURVIVORS = 10


class ToolboxWorld(ABC):
    """A world whose tools are served by a toolbox process. Implements World; the two sandboxes are its subclasses."""

    mode: SandboxMode

    def __init__(self, spec: WorldSpec, base: Path) -> None:
        check_protected(spec)
        self.spec = spec
        self._base = base
        self._folder: WorldFolder | None = None
        self._toolbox: ToolboxClient | None = None
        self._token = secrets.token_hex(8)
        self._report_folder = Reports()
        self._programs = Programs(self._ask)
        self._disk: Disk | None = None
        self._disk_watch: asyncio.Task[None] | None = None
        self._survivors: tuple[str, ...] = ()
        self._limits_hit: dict[LimitName, None] = {}

    @abstractmethod
    async def _start(self, folder: Path) -> ToolboxClient:
        """Reset the workspace in `folder` and start the toolbox."""

    @abstractmethod
    def _written(self, folder: Path) -> tuple[Path, ...]:
        """The folders in which everything lies that the world's processes write to disk."""

    @abstractmethod
    def _say_full(self) -> None:
        """Send the toolbox SIGUSR1: the disk is full, and everything running has to end."""

    @abstractmethod
    def _read_change(self, folder: Path) -> Change:
        """The difference to the fixture; nothing runs any more."""

    @property
    @abstractmethod
    def _reports(self) -> str:
        """The folder of report folders, as seen inside."""

    @property
    def folder(self) -> Path:
        """Where this world lies on the host. Raises SandboxError unless it is open."""
        if self._folder is None:
            raise SandboxError("the world is not open")
        return self._folder.path

    @property
    def outside(self) -> str:
        """See World.outside."""
        return f"{self._reports}/{self._token}"

    async def open(self) -> None:
        """See World.open."""
        if self._folder is not None:
            raise SandboxError("a world is opened once")
        try:
            self._folder = WorldFolder(self._base)
            (self.folder / "reports").mkdir()
            self._toolbox = await self._start(self.folder)
            self._disk = await asyncio.to_thread(Disk, self._written(self.folder), self.spec.limits.disk_bytes)
            self._disk_watch = asyncio.create_task(self._disk.watch(self._say_full))
        except OSError as error:
            await self.close()
            raise SandboxError(f"the world cannot be made in {self._base}: {error}") from error
        except BaseException:  # a cancelled opening too: nothing of it may be left
            await self.close()
            raise

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See World.call."""
        answer = await self._ask({"tool": tool, "arguments": arguments}, self.spec.limits.call_seconds)
        outcome = _outcome(answer)
        if self._is_full:
            note = f"[full: {self.spec.limits.disk_bytes} bytes on disk; nothing can be written until some are deleted]"
            return replace(outcome, text=f"{outcome.text}\n{note}")
        return outcome

    async def start(self, program: Program) -> Running:
        """See World.start."""
        return await self._programs.start(program)

    async def listen(self) -> tuple[socket, int]:
        """See World.listen."""
        return await self._programs.listen()

    async def dial(self, port: int) -> tuple[StreamReader, StreamWriter]:
        """See World.dial."""
        return await self._programs.dial(port)

    async def resolve(self, path: str) -> str:
        """See World.resolve."""
        answer = await self._operate("resolve", {"path": path}, self.spec.limits.call_seconds)
        if not answer["ok"]:
            return path
        inside = answer["inside"]
        if inside is None:
            return str(answer["text"])
        return WORKSPACE if inside == "." else f"{WORKSPACE}/{inside}"

    async def apply(self, change: Change) -> tuple[str, ...]:
        """See World.apply."""
        return await apply_change(self._operate, change)

    async def execute(self, command: str, *, seconds: float, env: dict[str, str]) -> Execution:
        """See World.execute."""
        self._report_folder.make(self.folder / "reports" / self._token)
        answer = await self._operate("execute", {"command": command, "seconds": seconds, "env": env}, seconds)
        if not answer["ok"]:
            raise SandboxError(f"the command could not be started: {answer['text']}")
        return Execution(answer["exit_code"], answer["text"], answer["size"], answer["seconds"], answer["limit"])

    async def read_outside(self, name: str) -> bytes | None:
        """See World.read_outside."""
        return self._report_folder.read(name)

    @property
    def survivors(self) -> tuple[str, ...]:
        """See World.survivors."""
        return self._survivors

    @property
    def limits_hit(self) -> tuple[LimitName, ...]:
        """See World.limits_hit."""
        return tuple(self._limits_hit)

    async def change(self) -> Change:
        """See World.change."""
        folder = self.folder
        if self._toolbox is not None:
            await self._look_once_more(self._toolbox)
            await self._end(self._toolbox)
        try:
            return await asyncio.to_thread(self._read_change, folder)
        except OSError as error:
            raise SandboxError(f"the change cannot be read: {error}") from error

    async def close(self) -> None:
        """See World.close."""
        if self._toolbox is not None:
            await self._end(self._toolbox)
            self._toolbox = None
        self._report_folder.close()
        if self._folder is not None:
            folder, self._folder = self._folder, None
            await asyncio.to_thread(folder.remove)

    async def _operate(self, operation: str, arguments: dict[str, Any], seconds: float) -> Frame:
        return await self._ask({"operation": operation, "arguments": arguments}, seconds)

    async def _ask(self, request: Frame, seconds: float, fds: Sequence[int] = ()) -> Frame:
        """One answer, with the limit that it has to name: what stopped it, else what came before, else a full disk."""
        if self._toolbox is None or self._disk is None:
            raise SandboxError("the world is not open")
        answer = await self._toolbox.ask({**request, "full": await self._disk.look()}, seconds, fds=fds)
        full: list[LimitName] = ["disk"] if await self._disk.look() else []
        self._limits_hit.update(dict.fromkeys([*answer["limits"], *full]))
        limit = (answer["limits"] or full or [None])[-1]
        return {**answer, "limit": limit}

    async def _look_once_more(self, toolbox: ToolboxClient) -> None:
        """Who is still alive, and what was exceeded since the last call. A toolbox that is gone has nothing to tell.

        One that is there may be busy for seconds: ending what was too much takes as long as freeing its memory.
        """
        with suppress(SandboxError):
            request = {"operation": "processes", "arguments": {"most": MOST_SURVIVORS}}
            answer = await toolbox.ask(request, 0)
            self._survivors = tuple(answer["names"])
            self._programs.learn(answer["exit_codes"])
            self._limits_hit.update(dict.fromkeys(answer["limits"]))
        if self._disk is not None:
            with suppress(SandboxError):  # the change is worth more than the measure
                await self._disk.measure()
            self._limits_hit.update({"disk": None} if self._disk.is_full else {})

    async def _end(self, toolbox: ToolboxClient) -> None:
        if self._disk_watch is not None:
            self._disk_watch.cancel()
            await asyncio.wait([self._disk_watch])
            self._disk_watch = None
        await toolbox.end()
        await self._programs.close()

    @property
    def _is_full(self) -> bool:
        return self._disk is not None and self._disk.is_full


def check_protected(spec: WorldSpec) -> None:
    """Refuse what cannot be enforced. Raises FixtureError."""
    for path in spec.protected:
        if not path or next(spec.snapshot.at_or_below(path), None) is None:
            raise FixtureError(f"protected path {path!r} is not in the fixture")
        if entry_at(spec.snapshot.root, path).is_link:
            raise FixtureError(f"protected path {path!r} is a link, which cannot be made read-only; protect its folder")


def _outcome(answer: Frame) -> ToolOutcome:
    text = answer["text"]
    return ToolOutcome(
        ok=answer["ok"],
        text=text,
        size=answer.get("size", len(text.encode("utf-8", "replace"))),
        seconds=answer["seconds"],
        exit_code=answer.get("exit_code"),
        timed_out=answer.get("timed_out", False),
        limit=answer["limit"],
    )
