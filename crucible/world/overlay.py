"""The sandboxed world: the fixture as a read-only layer, all that is written in a layer of its own, in namespaces."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from functools import partial
from pathlib import Path

from crucible.world.base import ToolboxWorld
from crucible.world.change import read_overlay
from crucible.world.client import ToolboxClient, toolbox_command, toolbox_package
from crucible.world.python_env import PythonHome, base_folders, base_interpreter, own_python, user_python
from crucible.world.sandbox import IN_MEMORY, OURS, WORKSPACE, Sandbox, descriptor_of, shown_at_their_own
from crucible.world.types import Change, SandboxMode, WorldSpec

END_SECONDS = 10.0


class OverlayWorld(ToolboxWorld):
    """A world in bubblewrap. `base` must take an overlay's upper layer."""

    mode: SandboxMode = "overlay"

    def __init__(self, spec: WorldSpec, base: Path, bwrap: Path) -> None:
        super().__init__(spec, base)
        self._bwrap = bwrap
        self._first: int | None = None

    @property
    def _reports(self) -> str:
        return f"{OURS}/reports"

    async def _start(self, folder: Path) -> ToolboxClient:
        sandbox = self._sandbox(folder)
        sandbox.prepare()
        info = os.open(folder / "info", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        arguments = descriptor_of([*sandbox.arguments(), "--info-fd", str(info)])
        toolbox = partial(toolbox_command, base_interpreter(), OURS, WORKSPACE, self.spec.limits, IN_MEMORY)
        try:
            client = await ToolboxClient.start(
                lambda channel: [str(self._bwrap), "--args", str(arguments), "--", *toolbox(channel)],
                folder / "stderr",
                self._kill,
                env={},  # bwrap's own environment could be read from inside
                pass_fds=(arguments, info),
            )
            self._first = os.pidfd_open(_child_pid(info))
            return client
        finally:
            os.close(arguments)
            os.close(info)

    def _sandbox(self, folder: Path) -> Sandbox:
        home, seen_as = self._python()
        return Sandbox(
            lower=self.spec.snapshot.root,
            upper=folder / "upper",
            work=folder / "work",
            etc=folder / "etc",
            protected=self.spec.protected,
            read_only=(
                *shown_at_their_own([*base_folders(), *home.base, *self.spec.toolchain, *self.spec.shown]),
                (home.folder, seen_as),
                (toolbox_package(), f"{OURS}/toolbox"),
            ),
            writable=((folder / "reports", self._reports),),
            path=(f"{seen_as}/bin", *map(_programs, self.spec.toolchain)),
            network=self.spec.network,
            memory_bytes=self.spec.limits.memory_bytes,
        )

    def _python(self) -> tuple[PythonHome, str]:
        if self.spec.python is not None:
            home = user_python(self.spec.python)
            return home, str(home.folder)
        return own_python(self.spec.snapshot.cache), f"{OURS}/python"

    async def _kill(self, process: Process) -> None:
        """End process 1 of the sandbox: the kernel ends all others, and bwrap exits when none is left."""
        first, self._first = self._first, None
        if first is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
            os.close(first)
        elif process.returncode is None:
            # Not known to have started: the group is bwrap and its child, which may not yet die with its parent.
            _kill_group(process)
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            _kill_group(process)
            await process.wait()

    def _say_full(self) -> None:
        if self._first is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGUSR1)

    def _written(self, folder: Path) -> tuple[Path, ...]:
        return (folder / "upper", folder / "reports")

    def _read_change(self, folder: Path) -> Change:
        return read_overlay(self.spec.snapshot, folder / "upper", self.spec.limits)


def _kill_group(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _child_pid(info: int) -> int:
    """Process 1 of the sandbox as the host numbers it."""
    return int(json.loads(os.pread(info, 4096, 0))["child-pid"])


def _programs(toolchain: Path) -> str:
    return str(toolchain / "bin" if (toolchain / "bin").is_dir() else toolchain)
