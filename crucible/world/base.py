"""What the worlds have in common: a folder of their own, a toolbox, and a change at the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from crucible.errors import FixtureError, SandboxError
from crucible.world.applying import apply_change
from crucible.world.client import Frame, ToolboxClient
from crucible.world.sandbox import WORKSPACE
from crucible.world.scratch import WorldFolder
from crucible.world.tree import entry_at
from crucible.world.types import Change, Execution, SandboxMode, ToolOutcome, WorldSpec

LARGEST_REPORT = 64 * 1024 * 1024
"""Bytes of the largest file that is read from outside."""


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
        self._report_fd: int | None = None

    @abstractmethod
    async def _start(self, folder: Path) -> ToolboxClient:
        """Reset the workspace in `folder` and start the toolbox."""

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
        except OSError as error:
            await self.close()
            raise SandboxError(f"the world cannot be made in {self._base}: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See World.call."""
        answer = await self._ask({"tool": tool, "arguments": arguments}, self.spec.limits.call_seconds)
        return _outcome(answer)

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
        self._make_report_folder()
        answer = await self._operate("execute", {"command": command, "seconds": seconds, "env": env}, seconds)
        if not answer["ok"]:
            raise SandboxError(f"the command could not be started: {answer['text']}")
        return Execution(answer["exit_code"], answer["text"], answer["size"], answer["seconds"])

    async def read_outside(self, name: str) -> bytes | None:
        """See World.read_outside."""
        if self._report_fd is None or "/" in name:
            return None
        return _read_plain(name, self._report_fd)

    async def change(self) -> Change:
        """See World.change."""
        folder = self.folder
        if self._toolbox is not None:
            await self._toolbox.end()
        try:
            return await asyncio.to_thread(self._read_change, folder)
        except OSError as error:
            raise SandboxError(f"the change cannot be read: {error}") from error

    async def close(self) -> None:
        """See World.close."""
        if self._toolbox is not None:
            await self._toolbox.end()
            self._toolbox = None
        if self._report_fd is not None:
            os.close(self._report_fd)
            self._report_fd = None
        if self._folder is not None:
            folder, self._folder = self._folder, None
            await asyncio.to_thread(folder.remove)

    async def _operate(self, operation: str, arguments: dict[str, Any], seconds: float) -> Frame:
        return await self._ask({"operation": operation, "arguments": arguments}, seconds)

    async def _ask(self, request: Frame, seconds: float) -> Frame:
        if self._toolbox is None:
            raise SandboxError("the world is not open")
        return await self._toolbox.ask(request, seconds)

    def _make_report_folder(self) -> None:
        """Held open: whatever is put in its place later, this folder is the one that is read."""
        if self._report_fd is None:
            place = self.folder / "reports" / self._token
            place.mkdir()
            self._report_fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def check_protected(spec: WorldSpec) -> None:
    """Refuse what cannot be enforced. Raises FixtureError."""
    for path in spec.protected:
        if not path or next(spec.snapshot.at_or_below(path), None) is None:
            raise FixtureError(f"protected path {path!r} is not in the fixture")
        if entry_at(spec.snapshot.root, path).is_link:
            raise FixtureError(f"protected path {path!r} is a link, which cannot be made read-only; protect its folder")


def _read_plain(name: str, folder: int) -> bytes | None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_REPORT:
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(LARGEST_REPORT)
    finally:
        os.close(fd)


def _outcome(answer: Frame) -> ToolOutcome:
    text = answer["text"]
    return ToolOutcome(
        ok=answer["ok"],
        text=text,
        size=answer.get("size", len(text.encode("utf-8", "replace"))),
        seconds=answer["seconds"],
        exit_code=answer.get("exit_code"),
        timed_out=answer.get("timed_out", False),
    )
