"""A snapshot with some files replaced, for one run of the suite: links to the files of the real one, and ours beside them.

From inside it looks like any other snapshot: the same dates, modes and owners, and a name that says nothing.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from crucible.errors import HarnessError
from crucible.world.tree import remove_tree
from crucible.world.types import Snapshot

_STALE_SECONDS = 86400
_MANIFEST = "manifest.json"
"""A real snapshot has one; ours do not."""


@asynccontextmanager
async def altered(snapshot: Snapshot, files: Mapping[str, bytes]) -> AsyncIterator[Snapshot]:
    """The snapshot with other bytes in some of its plain files, until the block ends. Raises HarnessError."""
    place = snapshot.root.parents[1] / secrets.token_hex(16)
    try:
        try:
            await asyncio.to_thread(_build, snapshot.root, place / snapshot.root.name, files)
        except OSError as error:
            raise HarnessError(f"{place}: the snapshot cannot be made again: {error}") from error
        yield replace(snapshot, root=place / snapshot.root.name, digest=place.name)
    finally:
        await asyncio.to_thread(remove_tree, place)


def _build(original: Path, root: Path, files: Mapping[str, bytes]) -> None:
    _sweep(root.parents[1])
    root.parent.mkdir(mode=0o700)
    shutil.copytree(original, root, symlinks=True, copy_function=_link)
    for path, data in files.items():
        file = root / path
        status = file.stat()
        file.unlink()
        file.write_bytes(data)
        file.chmod(status.st_mode)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        shutil.copystat(original / Path(path).parent, file.parent)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # too many links, or a file system without them
        shutil.copy2(source, target)


def _sweep(folder: Path) -> None:
    """Remove what a process that died while it graded left behind, a day later."""
    for old in folder.iterdir():
        with suppress(OSError):
            if _is_ours(old) and time.time() - old.stat().st_mtime > _STALE_SECONDS:
                remove_tree(old)


def _is_ours(folder: Path) -> bool:
    is_named = len(folder.name) == 32 and set(folder.name) <= set("0123456789abcdef")
    return is_named and not (folder / _MANIFEST).exists()
