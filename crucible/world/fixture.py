"""What a fixture holds: the files of a folder, or of one commit of a git repository, ready to be frozen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crucible.errors import FixtureError, HarnessError
from crucible.world.tree import Entry, contents, is_junk, walk

FOLDER_MODE = 0o040000
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
"""No configuration but the repository's own, nothing fetched, nothing asked, nothing written."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file, link or empty folder of a fixture, with its git mode and a way to read it."""

    path: str
    mode: int
    read: Callable[[], Iterator[bytes]]


def folder_sources(fixture: Path) -> list[Source]:
    """The files of a folder as they lie, without any .git and without caches. Raises FixtureError."""
    sources: list[Source] = []
    try:
        entries = list(walk(fixture, into=lambda e: not _left_out(e.path)))
    except OSError as error:
        raise FixtureError(f"{error.filename!r}: cannot be read: {error.strerror}") from None
    full = {entry.path.rpartition("/")[0] for entry in entries if not _left_out(entry.path)}
    for entry in entries:
        if _left_out(entry.path) or (entry.is_folder and entry.path in full):
            continue
        if not (entry.is_file or entry.is_link or entry.is_folder):
            raise FixtureError(f"{fixture / entry.path}: neither a file, a folder nor a link; fixtures hold no others")
        mode = FOLDER_MODE if entry.is_folder else entry.mode
        sources.append(Source(entry.path, mode, _reader(entry)))
    return sources


def _left_out(path: str) -> bool:
    """Repositories are left out at any depth: their history may hold the fix."""
    return path.rpartition("/")[2].lower() == ".git" or is_junk(path)


def _reader(entry: Entry) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(()) if entry.is_folder else contents(entry)


@contextmanager
def commit_sources(fixture: Path, ref: str) -> Iterator[list[Source]]:
    """The files of one commit of a fixture that is a git repository, readable until the block ends.

    Submodules are left out, as a plain clone leaves them empty. Raises FixtureError.
    """
    git = _gitpython()
    try:
        with git.Repo(fixture, search_parent_directories=False) as repo:
            repo.git.update_environment(**_environment(repo))
            blobs = [item for item in repo.commit(ref).tree.traverse() if item.type == "blob"]
            yield [Source(b.path, b.mode, _blob_reader(b)) for b in blobs if not _is_below_left_out(b.path)]
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise FixtureError(f"{fixture}: fixture_ref needs a fixture that is a git repository of its own") from None
    except (git.GitError, git.ODBError, ValueError, IndexError) as error:
        what = str(error).strip().splitlines() or [type(error).__name__]
        raise FixtureError(f"{fixture}: fixture_ref {ref!r} cannot be read: {what[0]}") from None


def _gitpython() -> Any:
    try:
        import git
    except ImportError:  # GitPython's own answer to a machine without git
        raise HarnessError("git is not on PATH", hint="install git with your system's package manager") from None
    return git


def _environment(repo: Any) -> dict[str, str]:
    objects = Path(repo.common_dir) / "objects"
    return {**GIT_ENVIRONMENT, "GIT_DIR": str(repo.git_dir), "GIT_OBJECT_DIRECTORY": str(objects)}


def _blob_reader(blob: Any) -> Callable[[], Iterator[bytes]]:
    return lambda: iter([blob.data_stream.read()])


def _is_below_left_out(path: str) -> bool:
    parts = path.split("/")
    return any(map(_left_out, parts))
