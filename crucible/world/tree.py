"""Reading folder trees as they are: bytes, modes, links, nothing followed, whatever an agent left behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from crucible.world.types import FileState

FILE_MODE, EXECUTABLE_MODE, LINK_MODE = 0o100644, 0o100755, 0o120000
"""The modes git knows."""
JUNK_NAMES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
"""Caches: never part of a fixture, never part of a change."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing found in a tree. `path` is relative and POSIX, undecodable bytes as surrogate escapes."""

    path: str
    full: bytes
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a real folder, not a link to one."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file."""
        return stat.S_ISREG(self.status.st_mode)

    @property
    def mode(self) -> int:
        """The mode as git has it: only the owner's executable bit counts."""
        if self.is_link:
            return LINK_MODE
        return EXECUTABLE_MODE if self.status.st_mode & 0o100 else FILE_MODE


def is_junk(path: str) -> bool:
    """Whether the last name of a path says that it is a cache."""
    name = path.rpartition("/")[2]
    return name in JUNK_NAMES or name.endswith(".pyc")


def entry_at(root: Path, path: str) -> Entry:
    """The entry of one path. Raises OSError."""
    full = os.path.join(os.fsencode(root), to_bytes(path))  # noqa: PTH118 (bytes: names need not be text)
    return Entry(path, full, os.lstat(full))


def to_bytes(path: str) -> bytes:
    """A path as the kernel has it."""
    return path.encode("utf-8", "surrogateescape")


def walk(
    root: Path,
    into: Callable[[Entry], bool] = lambda _: True,
    failed: Callable[[str, OSError], None] | None = None,
    *,
    mend: bool = False,
) -> Iterator[Entry]:
    """Everything below `root`, in order of names, a folder before what is in it.

    A folder is entered when `into` says so. One that cannot be read is told to `failed`, else raised; with `mend`,
    which is for trees that are ours, it is first made readable.
    """
    stack = _below("", os.fsencode(root), failed, mend=mend)
    while stack:
        entry = stack.pop()
        yield entry
        if entry.is_folder and into(entry):
            stack += _below(f"{entry.path}/", entry.full, failed, mend=mend)


def _below(prefix: str, folder: bytes, failed: Callable[[str, OSError], None] | None, *, mend: bool) -> list[Entry]:
    try:
        return _scan(prefix, folder)
    except PermissionError as error:
        if not mend:
            return _refuse(prefix, error, failed)
    except OSError as error:
        return _refuse(prefix, error, failed)
    try:
        os.chmod(folder, 0o700)  # noqa: PTH101 (bytes)
        return _scan(prefix, folder)
    except OSError as error:
        return _refuse(prefix, error, failed)


def _scan(prefix: str, folder: bytes) -> list[Entry]:
    with os.scandir(folder) as found:
        entries = [
            Entry(prefix + e.name.decode("utf-8", "surrogateescape"), e.path, e.stat(follow_symlinks=False))
            for e in found
        ]
    return sorted(entries, key=lambda e: e.path, reverse=True)


def _refuse(prefix: str, error: OSError, failed: Callable[[str, OSError], None] | None) -> list[Entry]:
    if failed is None:
        raise error
    failed(prefix, error)
    return []


def contents(entry: Entry, *, mend: bool = False) -> Iterator[bytes]:
    """A file's bytes in pieces, or a link's target. With `mend` an unreadable file is made readable."""
    if entry.is_link:
        yield os.readlink(entry.full)  # noqa: PTH115 (bytes)
        return
    with os.fdopen(_open(entry, mend=mend), "rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _open(entry: Entry, *, mend: bool) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(entry.full, flags)
    except PermissionError:
        if not mend:
            raise
        os.chmod(entry.full, 0o600 | stat.S_IMODE(entry.status.st_mode))  # noqa: PTH101 (bytes)
        return os.open(entry.full, flags)


def file_hash(entry: Entry, *, mend: bool = False) -> str:
    """SHA-256 of a file's bytes or a link's target."""
    digest = hashlib.sha256()
    for piece in contents(entry, mend=mend):
        digest.update(piece)
    return digest.hexdigest()


def read_state(entry: Entry, most: int, *, mend: bool = False) -> FileState:
    """One file as it is now; its bytes are held when they are at most `most`."""
    digest, held, size = hashlib.sha256(), bytearray(), 0
    for piece in contents(entry, mend=mend):
        digest.update(piece)
        size += len(piece)
        held += piece if size <= most else b""
    data = bytes(held) if size <= most else None
    return FileState("symlink" if entry.is_link else "file", entry.mode, size, digest.hexdigest(), data)


def remove_tree(root: Path) -> None:
    """Delete a tree of our own, whatever modes are in it and however deep it is. What will not go is left."""
    with suppress(RecursionError):  # deeper than Python's stack: rm has no such limit
        shutil.rmtree(root, ignore_errors=True)
    if os.path.lexists(root):
        for _ in walk(root, failed=lambda *_: None, mend=True):
            pass
        subprocess.run(["rm", "-rf", "--", str(root)], check=False, stderr=subprocess.DEVNULL)
