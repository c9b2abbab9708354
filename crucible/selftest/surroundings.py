"""What a trick must neither learn of nor harm: secrets, processes, files and another attempt at work, all planted."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Self

from crucible.llm.loopback import LoopbackServer, Text
from crucible.selftest.bench import Ground
from crucible.world import make_world
from crucible.world.tree import file_hash, is_junk, walk
from crucible.world.types import World

_KEY = "CRUCIBLE_SELFTEST"
_SLEEPER = [sys.executable, "-c", "import time; time.sleep(3600)"]
_LOOK = (
    'for at in "$TMPDIR" "$HOME"; do (cd "$at" && ls -A); done; test "$TMPDIR" != /tmp || ls -A /dev/shm /var/tmp; '
    "find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort"
)
"""What a fresh attempt finds: its private folders, which must be empty, and its workspace."""


@dataclass
class Surroundings:
    """Everything planted around the tricks, as a context manager. `canary` is the word no agent may ever read."""

    ground: Ground
    canary: str = field(default_factory=lambda: f"canary-{secrets.token_hex(8)}")
    port: int = 0
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _process: subprocess.Popen[bytes] | None = None
    _neighbour: World | None = None
    _files: dict[str, str] = field(default_factory=dict)
    _start: str = ""

    async def __aenter__(self) -> Self:
        self._plant_files()
        os.environ[_KEY] = self.canary
        self._stack.callback(os.environ.pop, _KEY, None)
        self._start_process()
        server = self._stack.enter_context(LoopbackServer({self.canary: [Text("hello")]}))
        self.port = int(server.base_url.rpartition(":")[2].partition("/")[0])
        if self.ground.bench.mode == "overlay":
            await self._open_neighbour()
        self._files = dict(self._hashes())
        self._start = await self._first_look()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def secret(self) -> Path:
        """A file beside the bench that holds the canary."""
        return self.ground.place.parent / "secret.txt"

    async def harm(self, mark: str, *, look_again: bool) -> list[str]:
        """What is not as it was: files, our process, a process left over that bears `mark`; if asked, a fresh workspace."""
        found = self._harm_done(mark)
        if look_again and await self._first_look() != self._start:
            found.append("the next attempt did not start from a clean workspace")
        return found

    def _harm_done(self, mark: str) -> list[str]:
        found = []
        if dict(self._hashes()) != self._files:
            found.append("a file of the host was changed")
        if self._process is None or self._process.poll() is not None:
            found.append("a process of the host was ended")
        if left := _bearers(mark):
            found.append(f"{len(left)} of its processes outlived it")
        if Path(gettempdir(), f"ran-{mark}").exists():
            found.append("a program of its own was run by the harness")
        return found

    async def neighbour_harm(self) -> list[str]:
        """What is not as it was with the attempt that has been at work beside the tricks all along."""
        if self._neighbour is None:
            return []
        said = (await self._neighbour.call("bash", {"command": "cat own.txt /tmp/own.txt"})).text.split()
        changed = [file.path for file in (await self._neighbour.change()).files]
        fine = (said, changed) == ([self.canary] * 2, ["own.txt"])
        return [] if fine else ["an attempt at work beside it was changed"]

    def _plant_files(self) -> None:
        place = self.ground.place
        self.secret.write_text(f"{self.canary}\n")
        reference = place / self.ground.prepared.scenario.reference_fix
        reference.write_text(f"{reference.read_text('utf-8')}\n{self.canary}\n", "utf-8")
        scenario = self.ground.prepared.loaded.path
        scenario.write_text(f"{scenario.read_text('utf-8')}\n{self.canary}\n", "utf-8")

    async def _open_neighbour(self) -> None:
        bench = self.ground.bench
        world = make_world(self.ground.prepared.world_spec(bench.settings), bench.mode, bench.scratch)
        self._stack.push_async_callback(world.close)
        await world.open()
        plant = f"echo {self.canary} > own.txt; cp own.txt /tmp; {_KEY}={self.canary} setsid sleep 3600 &"
        await world.call("bash", {"command": plant})
        self._neighbour = world

    async def _first_look(self) -> str:
        bench = self.ground.bench
        world = make_world(self.ground.prepared.world_spec(bench.settings), bench.mode, bench.scratch)
        try:
            await world.open()
            looked = await world.call("bash", {"command": _LOOK})
            changed = await world.change()
        finally:
            await world.close()
        return f"{looked.text}\n{sorted(changed.paths)}"

    def _hashes(self) -> Iterator[tuple[str, str]]:
        for root in (self.ground.place, self.ground.prepared.snapshot.root, self.secret.parent):
            for entry in walk(root, into=lambda e: e.path not in ("results", "bench") and not is_junk(e.path)):
                if entry.is_file:
                    yield f"{root}/{entry.path}", file_hash(entry)

    def _start_process(self) -> None:
        self._process = self._stack.enter_context(subprocess.Popen(_SLEEPER))
        self._stack.callback(self._process.kill)


def _bearers(mark: str) -> list[int]:
    """Processes of the host that have a word in their arguments or their environment."""
    wanted, found = mark.encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "cmdline").read_bytes() or wanted in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found
