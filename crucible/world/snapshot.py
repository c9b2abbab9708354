"""Freezing a fixture: a private copy named by its content, kept in the cache, never written again.

Nothing is written inside the fixture. A snapshot is built aside and renamed when whole; one found in the cache is
compared with its manifest (names, sizes, modes, times), and built anew when it does not hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crucible.errors import FixtureError, HarnessError
from crucible.world.fixture import FOLDER_MODE, Source, commit_sources, folder_sources
from crucible.world.repository import MOMENT, make_repository
from crucible.world.tree import EXECUTABLE_MODE, LINK_MODE, Entry, remove_tree, to_bytes, walk
from crucible.world.types import Snapshot

_TREE, _MANIFEST = "tree", "manifest.json"
_BUILDING = ".building-"
_STALE_SECONDS = 86400
_VERSION = b"crucible snapshot 1\n"
"""Part of every digest: a change of what a snapshot is makes other snapshots."""


def take_snapshot(fixture: Path, cache: Path, ref: str | None = None) -> Snapshot:
    """Freeze a fixture: its files as they lie or, with `ref`, those of that commit.

    Left out: every .git (history may hold the fix) and caches. Empty folders, links and executable bits are kept.
    Raises FixtureError naming what cannot be frozen: a link that leads outside, a socket, an unreadable file.
    """
    if not fixture.is_dir():
        raise FixtureError(f"{fixture}: the fixture is not a folder")
    with _sources(fixture.resolve(), ref) as sources:
        hashes = {source.path: _hash(fixture, source) for source in sources}
        digest = _digest(sources, hashes)
        place = cache.absolute() / "snapshots" / digest
        if not _holds(place):
            _build(place, fixture, sources, hashes)
    files = tuple(sorted(source.path for source in sources if source.mode != FOLDER_MODE))
    return Snapshot(place / _TREE, digest, files)


@contextmanager
def _sources(fixture: Path, ref: str | None) -> Iterator[list[Source]]:
    if ref is None:
        yield folder_sources(fixture)
    else:
        with commit_sources(fixture, ref) as sources:
            yield sources


def _hash(fixture: Path, source: Source) -> str:
    digest = hashlib.sha256()
    try:
        for piece in source.read():
            digest.update(piece)
    except OSError as error:
        raise FixtureError(f"{fixture / source.path}: cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def _digest(sources: Iterable[Source], hashes: dict[str, str]) -> str:
    digest = hashlib.sha256(_VERSION)
    for source in sorted(sources, key=lambda s: s.path):
        digest.update(b"%o %s %s\0" % (source.mode, hashes[source.path].encode(), to_bytes(source.path)))
    return digest.hexdigest()[:32]


def _build(place: Path, fixture: Path, sources: list[Source], hashes: dict[str, str]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.parent.chmod(0o700)
    _sweep(place.parent)
    aside = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=place.parent)).resolve()
    try:
        tree = aside / _TREE
        tree.mkdir()
        for source in sources:
            if _write(tree, source) != hashes[source.path]:
                raise FixtureError(f"{fixture / source.path}: changed while it was read")
        _check_links(tree, fixture, sources)
        _settle(tree)
        make_repository(tree)
        (aside / _MANIFEST).write_text(json.dumps(_describe(tree)))
        _move_in(aside, place)
    except OSError as error:
        raise HarnessError(f"{place}: the snapshot cannot be built: {error}") from error
    finally:
        remove_tree(aside)


def _write(tree: Path, source: Source) -> str:
    """Make one file, link or folder, and return the hash of what was written."""
    target = tree / source.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    if source.mode == FOLDER_MODE:
        target.mkdir()
    elif source.mode == LINK_MODE:
        link = b"".join(source.read())
        digest.update(link)
        target.symlink_to(os.fsdecode(link))
    else:
        with target.open("xb") as out:
            for piece in source.read():
                digest.update(piece)
                out.write(piece)
        target.chmod(0o755 if source.mode == EXECUTABLE_MODE else 0o644)
    return digest.hexdigest()


def _check_links(tree: Path, fixture: Path, sources: list[Source]) -> None:
    for source in sources:
        link = tree / source.path
        if source.mode != LINK_MODE:
            continue
        target = link.readlink()
        if target.is_absolute() or not Path(os.path.realpath(link)).is_relative_to(tree):
            raise FixtureError(f"{fixture / source.path}: a link that points outside the fixture, to {target}")


def _settle(tree: Path) -> None:
    """Give everything one date, so that git can trust it and two snapshots are alike; folders one mode."""
    tree.chmod(0o755)
    for entry in reversed(list(walk(tree))):
        if entry.is_folder:
            (tree / entry.path).chmod(0o755)
        os.utime(entry.full, (MOMENT, MOMENT), follow_symlinks=False)


def _describe(tree: Path) -> dict[str, list[int]]:
    """What an untouched snapshot looks like without reading a file."""
    return {entry.path: _looks(entry) for entry in walk(tree)}


def _looks(entry: Entry) -> list[int]:
    status = entry.status
    return [status.st_mode, status.st_uid, 0 if entry.is_folder else status.st_size, status.st_mtime_ns]


def _holds(place: Path) -> bool:
    """Whether a cached snapshot is there, whole and ours."""
    try:
        manifest = json.loads((place / _MANIFEST).read_bytes())
        return place.stat().st_uid == os.geteuid() and bool(manifest == _describe(place / _TREE))
    except (OSError, ValueError):
        return False


def _move_in(aside: Path, place: Path) -> None:
    if place.exists() and not _holds(place):
        with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=place.parent) as waste:
            place.rename(Path(waste, "damaged"))
    try:
        aside.rename(place)
    except OSError:
        if not _holds(place):  # else another process was first, and its snapshot is as good as ours
            raise


def _sweep(folder: Path) -> None:
    """Remove what a process that died while building left behind, a day later."""
    for old in folder.glob(f"{_BUILDING}*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_SECONDS:
                remove_tree(old)
