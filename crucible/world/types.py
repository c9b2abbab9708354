"""The world of an attempt: what it is made of, what it can do, what came out of it."""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Any, Literal, Protocol

ChangeStatus = Literal["add", "delete", "modify", "rename"]
FileKind = Literal["file", "symlink"]
SandboxMode = Literal["overlay", "copy"]
LimitName = Literal["memory", "processes", "disk", "output", "total_output"]
"""What a world can use too much of; see Limits for how much that is."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file at one moment. `data` is its bytes (a link's target for a symlink), or None when larger than the cap.

    `mode` is git's: 0o100644, 0o100755 or 0o120000.
    """

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
    """What a built-in tool returned. `size` is the true number of bytes before head and tail were cut out of it.

    `ok` says the tool did what it does: a command that ended by itself is ok whatever its `exit_code` (negative
    for a signal). `restored` names protected paths that were found changed and put back (copy sandbox only).
    `limit`: what of Limits was exceeded, by this call or in the background since the last one, so that everything
    running was ended; "disk" also for as long as too much is still there.
    """

    ok: bool
    text: str
    size: int
    seconds: float
    exit_code: int | None = None
    timed_out: bool = False
    restored: tuple[str, ...] = ()
    limit: LimitName | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """A command run to its end for grading. `exit_code` is negative for a signal, None when it was stopped by us.

    `limit` is that of ToolOutcome.
    """

    exit_code: int | None
    output: str
    size: int
    seconds: float
    limit: LimitName | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one world may use. Sizes in bytes, times in seconds.

    `call_seconds`: one tool call. `output_bytes`: what is kept of one output. `drain_bytes`: a command that writes
    more is ended. `total_output_bytes`: the same for all commands of a world together; each later one may still write
    `output_bytes`. `file_data_bytes`: a larger file
    is in a change by hash only. `change_data_bytes`: bytes a whole change holds; modified files come first, then small
    ones.

    For all processes of a world together, watched while they run; more ends every one of them: `memory_bytes`, which
    what lies in /tmp, the home folder and /dev/shm counts towards (each of them takes a quarter); `processes`, and
    sixteen times as many threads; `disk_bytes`, what the world adds to its workspace, counted as the larger of a file's
    length and its blocks, at least 4 KiB each. Refused by the kernel, so that the program sees it: `file_bytes`, the
    largest file anything inside can make; `open_files`, of one process.
    """

    call_seconds: float = 120.0
    output_bytes: int = 32 * 1024
    drain_bytes: int = 64 * 1024 * 1024
    total_output_bytes: int = 256 * 1024 * 1024
    file_data_bytes: int = 4 * 1024 * 1024
    change_data_bytes: int = 256 * 1024 * 1024
    memory_bytes: int = 4 * 1024 * 1024 * 1024
    processes: int = 512
    disk_bytes: int = 2 * 1024 * 1024 * 1024
    file_bytes: int = 2 * 1024 * 1024 * 1024
    open_files: int = 4096


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fixture frozen for a run: a private tree nobody writes, with one root commit of ours in its .git.

    `digest` names its content; `files` are its paths without .git, sorted. `root` is <cache>/snapshots/<digest>/tree.
    """

    root: Path
    digest: str
    files: tuple[str, ...]

    @property
    def cache(self) -> Path:
        """The cache folder the snapshot lies in."""
        return self.root.parents[2]

    def at_or_below(self, path: str) -> Iterator[str]:
        """The files that are `path` or lie below it."""
        files, prefix = self.files, f"{path}/"
        at = bisect_left(files, path)
        if files[at : at + 1] == (path,):
            yield path
        at = bisect_left(files, prefix)
        while at < len(files) and files[at].startswith(prefix):
            yield files[at]
            at += 1


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs beside the tools for as long as the world lives: a tool server, an agent.

    It starts in the workspace with the world's environment and `env` on top. `files` are written before that, by their
    path below the home folder. `stdin`: whether it gets one; else it reads the end of file at once.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = True


class Running(Protocol):
    """A program that was started in a world. It ends with the world, whatever it does."""

    @property
    def reader(self) -> StreamReader:
        """What it prints on standard output; at its end when the program and all that hold its output have ended."""

    @property
    def writer(self) -> StreamWriter:
        """Its standard input."""

    def said(self) -> str:
        """The end of what it printed on standard error, up to 4,000 characters, without keys."""

    async def exit_code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""

    async def stop(self) -> None:
        """End it and what is in its session. Safe to call again."""


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """How to make a world. `protected` are existing fixture paths (files or folders) that nothing inside can write.

    `toolchain`: extra host folders, visible read-only at their own path, their programs on PATH; `shown`: the same
    without PATH. `python`: a virtual environment or prefix that takes the place of Crucible's own small one (an
    interpreter and pytest).
    """

    snapshot: Snapshot
    protected: tuple[str, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    toolchain: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    python: Path | None = None


class World(Protocol):
    """One freshly reset workspace. `open` once, then any calls, then `change`, then `close`; `close` is always safe."""

    mode: SandboxMode

    async def open(self) -> None:
        """Reset the workspace and start the toolbox. Raises SandboxError."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Run one built-in tool. A tool's own failure is an outcome; SandboxError means the world itself is gone."""

    async def start(self, program: Program) -> Running:
        """Start a program inside. Raises HarnessError when there is no such command, SandboxError when the world is gone.

        It counts towards the world's limits, and is no survivor.
        """

    async def listen(self) -> tuple[socket, int]:
        """A listening socket outside, and the port of 127.0.0.1 inside whose connections arrive at it.

        The caller serves the socket and closes it.
        """

    async def dial(self, port: int) -> tuple[StreamReader, StreamWriter]:
        """Connect to a port of 127.0.0.1 inside. Raises HarnessError when nothing listens there."""

    async def resolve(self, path: str) -> str:
        """The path with links followed as the kernel would, absolute, the workspace being /workspace in every mode.

        A path that does not exist yet resolves by its parents; one that no file can have comes back as it is.
        """

    async def apply(self, change: Change) -> tuple[str, ...]:
        """Make the workspace look as after `change`; for a grading copy.

        Returns the paths left as they were because their bytes are not held (see Limits.file_data_bytes).
        Raises SandboxError naming the path that could not be made, such as a protected one.
        """

    async def execute(self, command: str, *, seconds: float, env: dict[str, str]) -> Execution:
        """Run a shell command for grading, with extra environment variables."""

    async def read_outside(self, name: str) -> bytes | None:
        """A file the command wrote to the report folder (`outside`); None when it is missing, not a plain file, or
        larger than 64 MiB."""

    @property
    def outside(self) -> str:
        """Path, as seen inside, of a writable folder that is not in the workspace.

        Its name cannot be guessed, and it comes into being with the first `execute`.
        """

    async def change(self) -> Change:
        """The difference to the fixture, taken by us from outside. Ends every process first: no call works after it."""

    @property
    def survivors(self) -> tuple[str, ...]:
        """Names of processes that were still alive when `change` ended them, up to ten; none before that.

        None either where the world was gone already: it takes its processes with it.
        """

    @property
    def limits_hit(self) -> tuple[LimitName, ...]:
        """Every limit that was exceeded in the life of this world, in order, each once; complete after `change`."""

    async def close(self) -> None:
        """End every process of this world and free what it used."""
