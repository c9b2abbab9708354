"""The world of an attempt: what it is made of, what it can do, what came out of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

ChangeStatus = Literal["add", "delete", "modify", "rename"]
FileKind = Literal["file", "symlink"]
SandboxMode = Literal["overlay", "copy"]


@dataclass(frozen=True, slots=True)
class FileState:
    """One file at one moment. `data` is its bytes (a link's target for a symlink), or None when larger than the cap."""

    kind: FileKind
    mode: int
    size: int
    sha256: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs. Paths are POSIX, relative to the workspace, undecodable bytes as surrogate escapes."""

    path: str
    status: ChangeStatus
    before: FileState | None
    after: FileState | None
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between the world before and after. `junk` names what is never part of a change (caches)."""

    files: tuple[FileChange, ...] = ()
    junk: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Every path touched, old names of renames included."""
        return frozenset(p for f in self.files for p in (f.path, f.old_path) if p is not None)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a built-in tool returned. `size` is the true number of bytes before head and tail were cut out of it."""

    ok: bool
    text: str
    size: int
    seconds: float
    exit_code: int | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """A command run to its end for grading. `exit_code` is negative for a signal, None when it was stopped at the time-out."""

    exit_code: int | None
    output: str
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What one world may use. Sizes in bytes, times in seconds."""

    call_seconds: float = 120.0
    output_bytes: int = 32 * 1024
    drain_bytes: int = 64 * 1024 * 1024
    file_data_bytes: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fixture frozen for a run: a private read-only tree with one root commit of ours in its .git.

    `digest` names its content; `files` are its paths without .git, sorted.
    """

    root: Path
    digest: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """How to make a world. `protected` are existing fixture paths (files or folders) that nothing inside can write."""

    snapshot: Snapshot
    protected: tuple[str, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    toolchain: tuple[Path, ...] = ()
    python: Path | None = None


class World(Protocol):
    """One freshly reset workspace. `open` once, then any calls, then `change`, then `close`; `close` is always safe."""

    mode: SandboxMode

    async def open(self) -> None:
        """Reset the workspace and start the toolbox. Raises SandboxError."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run one built-in tool. A tool's own failure is an outcome; SandboxError means the world itself is gone."""

    async def apply(self, change: Change) -> None:
        """Make the workspace look as after `change`; for a grading copy."""

    async def execute(self, command: str, *, seconds: float, env: dict[str, str]) -> Execution:
        """Run a shell command for grading, with extra environment variables."""

    async def read_outside(self, name: str) -> bytes | None:
        """A file the command wrote to the report folder (`outside`), or None."""

    @property
    def outside(self) -> str:
        """Path, as seen inside, of a fresh writable folder that is not in the workspace. Its name cannot be guessed."""

    async def change(self) -> Change:
        """The difference to the fixture, taken by us from outside."""

    async def close(self) -> None:
        """End every process of this world and free what it used."""
