"""Our end of the toolbox's pipe: one request at a time, and a hard deadline on each."""

from __future__ import annotations

import asyncio
import compileall
import json
import os
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from crucible.errors import SandboxError
from crucible.world import toolbox
from crucible.world.starting import started
from crucible.world.toolbox import READY, frames
from crucible.world.types import Limits

Frame = dict[str, Any]
GRACE_SECONDS = 15.0
"""Beyond a call's own limit, after which the toolbox is taken for dead."""
START_SECONDS = 30.0
_STDERR_TAIL = 2000
_BOOT = (
    "import sys; sys.path.insert(0, {folder!r}); import toolbox; sys.path.pop(0); "
    "from toolbox.serve import main; main()"
)
"""The folder is on the path only while the package is found: its neighbours must not be taken for modules."""


class ToolboxClient:
    """A running toolbox. After an error, an interrupted call or `end`, every call raises SandboxError."""

    def __init__(
        self, process: Process, errors: Path, kill: Callable[[Process], Awaitable[None]], channel: socket.socket
    ) -> None:
        self._process = process
        self._channel = channel
        self._errors = errors
        self._kill = kill
        self._turn = asyncio.Lock()
        self._gone: str | None = None

    @classmethod
    async def start(
        cls,
        command: Callable[[int], Sequence[str]],
        errors: Path,
        kill: Callable[[Process], Awaitable[None]],
        *,
        env: Mapping[str, str],
        pass_fds: Sequence[int] = (),
    ) -> ToolboxClient:
        """Start a process that becomes a toolbox and wait until it says so. Its stderr goes to the file `errors`.

        `command` is told the descriptor of the toolbox's end of the channel, over which descriptors travel.
        """
        with errors.open("wb") as stderr:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                starting = asyncio.create_subprocess_exec(
                    *command(theirs.fileno()),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=stderr,
                    env=dict(env),
                    pass_fds=(*pass_fds, theirs.fileno()),
                    start_new_session=True,
                )
                try:
                    process = await started(starting, lambda process: cls(process, errors, kill, ours).end())
                except OSError:
                    ours.close()
                    raise
        client = cls(process, errors, kill, ours)
        try:
            await client._expect_ready()
        except BaseException:  # a cancelled start too: nothing of it may be left
            await client.end()
            raise
        return client

    async def ask(
        self, request: Frame, seconds: float, grace: float = GRACE_SECONDS, *, fds: Sequence[int] = ()
    ) -> Frame:
        """The result of one request, within `seconds` and a grace. Raises SandboxError when there is none.

        `fds` go with the request. Those that came with the result are its `descriptors`, and the caller's to close.
        """
        async with self._turn:
            if self._gone is not None:
                raise SandboxError(f"the world has ended: {self._gone}")
            what = str(request.get("tool") or request.get("operation"))
            self._gone = f"{what} was interrupted"  # until it is known to be otherwise
            try:
                async with asyncio.timeout(seconds + grace):
                    answer = await self._exchange(frames.pack(request), fds)
            except TimeoutError:
                self._gone = f"{what} did not answer within {seconds + grace:g} seconds"
            except (OSError, EOFError, ValueError) as error:
                self._gone = f"the toolbox died during {what}: {self._said() or error}"
            else:
                self._gone = None
                return answer
            raise SandboxError(self._gone)

    def signal(self, number: int) -> None:
        """Send the process a signal; nothing when it has ended."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def end(self) -> None:
        """End the toolbox and everything it started. Safe to call again."""
        self._gone = self._gone or "it was closed"
        self._channel.close()
        await self._kill(self._process)
        if self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(OSError):
                await self._process.stdin.wait_closed()

    async def _exchange(self, data: bytes, fds: Sequence[int]) -> Frame:
        writer, reader = self._process.stdin, self._process.stdout
        if writer is None or reader is None:
            raise EOFError("no pipe")
        if fds:
            socket.send_fds(self._channel, [b"\0"], fds)
        writer.write(data)
        await writer.drain()
        size = frames.length(await reader.readexactly(frames.HEADER_BYTES))
        answer = frames.unpack(await reader.readexactly(size))
        return {**answer, "descriptors": self._receive(answer.get("descriptors", 0))}

    def _receive(self, count: int) -> list[int]:
        """Descriptors that were given before the answer was; what is waited for is there."""
        if not count:
            return []
        _, fds, _, _ = socket.recv_fds(self._channel, 1, count, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        for fd in fds:
            os.set_inheritable(fd, False)
        return fds

    async def _expect_ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                said = await self._process.stdout.readexactly(len(READY)) if self._process.stdout else b""
        except TimeoutError:
            raise SandboxError(f"the sandbox did not start within {START_SECONDS:g} seconds") from None
        except EOFError:
            raise SandboxError(f"the sandbox did not start: {self._said() or 'it said nothing'}") from None
        if said != READY:
            raise SandboxError(f"the toolbox began with {said!r}")

    def _said(self) -> str:
        return self._errors.read_bytes()[-_STDERR_TAIL:].decode("utf-8", "replace").strip()


@cache
def toolbox_package() -> Path:
    """The toolbox's folder, its modules compiled as far as it can be written: inside it is seen read-only."""
    package = Path(toolbox.__file__).parent
    compileall.compile_dir(package, quiet=2)
    return package


def toolbox_command(
    python: Path, folder: str, root: str, limits: Limits, tmpfs: Sequence[str] | None, channel: int
) -> list[str]:
    """How the toolbox is started: isolated, from the package in `folder`, for the workspace at `root`.

    `tmpfs`: the folders of a sandbox that lie in memory; None says that there is no sandbox. `channel`: the descriptor
    over which it is given and gives descriptors.
    """
    options = {
        "root": root,
        "channel": channel,
        "sandboxed": tmpfs is not None,
        "tmpfs": list(tmpfs or ()),
        **asdict(limits),
    }
    return [str(python), *("-I", "-S", "-B", "-c"), _BOOT.format(folder=folder), json.dumps(options)]
