"""Tool servers as real processes, and two places to run them: this host, and the sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

import pytest

from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.server import ToolServer
from crucible.errors import HarnessError
from crucible.world import make_world
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Program, Running, SandboxMode, Snapshot, ToolOutcome, World, WorldSpec

T = TypeVar("T")
SERVERS = Path(__file__).parent / "servers"


def standin(*behaviour: str, name: str = "demo", python: str = sys.executable, **plan: Any) -> ServerPlan:
    """The plan of a stand-in server."""
    command = (python, "-I", "-S", str(SERVERS / "standin.py"), *behaviour)
    return ServerPlan(name, "stand-in", command, **plan)


@dataclass
class HostProgram:
    """A program on this host. Implements Running."""

    process: Process
    errors: IO[bytes]

    @property
    def reader(self) -> StreamReader:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def writer(self) -> StreamWriter:
        assert self.process.stdin is not None
        return self.process.stdin

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read()[-4000:].decode()

    async def exit_code(self) -> int | None:
        return self.process.returncode

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        # Closing asks for the process itself and would take its exit code away from the watcher that waits for it.
        while self.process.returncode is None:  # noqa: ASYNC110 - asyncio tells of it only once the pipes are closed too
            await asyncio.sleep(0.005)
        # Output that nobody reads would be waited for.
        self.process._transport.close()  # type: ignore[attr-defined]  # asyncio has no other way
        await self.process.wait()


@dataclass
class HostWorld:
    """As much of a world as a tool server asks for, without a sandbox: programs of this host in a folder."""

    folder: Path
    programs: list[HostProgram] = field(default_factory=list)
    mode: SandboxMode = "copy"

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome(ok=True, text=f"{tool} of the world with {arguments}", size=0, seconds=0.0)

    async def resolve(self, path: str) -> str:
        return path

    async def start(self, program: Program) -> Running:
        errors = TemporaryFile()  # noqa: SIM115 - read until the world is closed
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                stdin=PIPE if program.stdin else asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=errors,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **program.env},
            )
        except FileNotFoundError:
            errors.close()
            raise HarnessError(f"there is no command {program.command[0]!r} inside") from None
        except BaseException:  # a start that is cancelled too
            errors.close()
            raise
        for path, text in program.files.items():
            (self.folder / path).write_text(text)
        self.programs.append(HostProgram(process, errors))
        return self.programs[-1]

    async def dial(self, port: int) -> tuple[StreamReader, StreamWriter]:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            raise HarnessError(f"nothing listens on port {port}: {error}") from error

    async def close(self) -> None:
        for program in self.programs:
            await program.stop()
            program.errors.close()


@dataclass(frozen=True)
class Host:
    """Runs a body with one started server."""

    folder: Path

    def run(self, plan: ServerPlan, body: Callable[[ToolServer], Awaitable[T]], **environment: str) -> T:
        """What `body` returns of the started server."""
        return asyncio.run(self._run(plan, body, environment))

    async def _run(
        self, plan: ServerPlan, body: Callable[[ToolServer], Awaitable[T]], environment: dict[str, str]
    ) -> T:
        world = HostWorld(self.folder)
        server = ToolServer(plan, world, environment)  # type: ignore[arg-type]  # what it asks of a world is there
        try:
            await server.start()
            return await body(server)
        finally:
            await server.close()
            await world.close()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A folder of this host to run servers in."""
    return Host(tmp_path)


@pytest.fixture
def free_port() -> int:
    """A port of this host that nothing listens on."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass(frozen=True)
class Sandboxes:
    """Where sandboxed worlds come from."""

    snapshot: Snapshot
    scratch: Path

    def run(self, body: Callable[[World], Awaitable[T]], mode: SandboxMode = "overlay") -> T:
        """What `body` returns of a fresh world that shows the stand-in servers."""
        return asyncio.run(self._run(body, mode))

    async def _run(self, body: Callable[[World], Awaitable[T]], mode: SandboxMode) -> T:
        world = make_world(WorldSpec(self.snapshot, shown=(SERVERS,)), mode, self.scratch)
        try:
            await world.open()
            return await body(world)
        finally:
            await world.close()


@pytest.fixture
def sandboxes(tmp_path: Path, cache: Path, sandbox: None) -> Sandboxes:
    """Sandboxes over a small fixture; elsewhere the test is skipped with the reason."""
    folder = tmp_path / "fixture"
    folder.mkdir()
    (folder / "price.py").write_text("def price(n):\n    return n * 2\n")
    return Sandboxes(take_snapshot(folder, cache), tmp_path / "scratch")
