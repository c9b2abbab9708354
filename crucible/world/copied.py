"""The world where the kernel allows no sandbox: a plain copy, guarded by checks after each call. Results are marked."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import Process
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from crucible.world.base import ToolboxWorld
from crucible.world.change import read_copy
from crucible.world.client import ToolboxClient, toolbox_command, toolbox_package
from crucible.world.guard import restore
from crucible.world.processes import MARK, end_all
from crucible.world.python_env import base_interpreter, own_python, user_python
from crucible.world.sandbox import environment
from crucible.world.types import Change, SandboxMode, ToolOutcome


class CopyWorld(ToolboxWorld):
    """A world that is a folder. Protected paths are put back after each call.

    There are no walls: what runs in it can do to the machine whatever the user can, signals to every process included.
    """

    mode: SandboxMode = "copy"

    @property
    def _reports(self) -> str:
        return str(self.folder / "reports")

    @property
    def _root(self) -> Path:
        return self.folder / "workspace"

    async def _start(self, folder: Path) -> ToolboxClient:
        await asyncio.to_thread(shutil.copytree, self.spec.snapshot.root, self._root, symlinks=True)
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        package, limits = str(toolbox_package().parent), self.spec.limits
        return await ToolboxClient.start(
            partial(toolbox_command, base_interpreter(), package, str(self._root), limits, None),
            folder / "stderr",
            self._kill,
            env=self._environment(folder),
        )

    def _environment(self, folder: Path) -> dict[str, str]:
        python = user_python(self.spec.python) if self.spec.python else own_python(self.spec.snapshot.cache)
        path = [str(python.folder / "bin"), *map(str, self.spec.toolchain), *_host_path()]
        return {
            **environment(path, home=str(folder / "home"), temporary=str(folder / "tmp")),
            MARK: self._token,
        }

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See World.call. What the call changed of protected paths is put back, and the outcome says so."""
        outcome = await super().call(tool, arguments)
        found = await asyncio.to_thread(restore, self.spec.snapshot, self._root, self.spec.protected)
        if not found:
            return outcome
        note = f"[protected, changed by this call and put back: {', '.join(found)}]"
        return replace(outcome, text=f"{outcome.text}\n{note}", restored=found)

    async def _kill(self, process: Process) -> None:
        root = process.pid if process.returncode is None else None
        await asyncio.to_thread(end_all, root, self._token)
        await process.wait()

    def _say_full(self) -> None:
        if self._toolbox is not None:
            self._toolbox.signal(signal.SIGUSR1)

    def _written(self, folder: Path) -> tuple[Path, ...]:
        return (folder,)

    def _read_change(self, folder: Path) -> Change:
        return read_copy(self.spec.snapshot, folder / "workspace", self.spec.limits)


def _host_path() -> list[str]:
    """The user's PATH without Crucible's own environment."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in folders if folder and not Path(folder).is_relative_to(sys.prefix)]
