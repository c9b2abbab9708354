"""Protected paths without a kernel to protect them: found changed by their bytes, and put back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from crucible.world.tree import Entry, entry_at, file_hash, is_junk, remove_tree, walk
from crucible.world.types import Snapshot


def restore(snapshot: Snapshot, root: Path, protected: tuple[str, ...]) -> tuple[str, ...]:
    """Make every protected file in `root` as in the snapshot, remove what was added; returns what differed."""
    expected = list(dict.fromkeys(file for path in protected for file in snapshot.at_or_below(path)))
    changed = [path for path in expected if not _is_same(snapshot.root, root, path)]
    for path in changed:
        _put_back(snapshot.root, root, path)
    added = list(_added(root, protected, frozenset(expected)))
    for path in added:
        (root / path).unlink()
    return tuple(sorted([*changed, *added]))


def _is_same(original: Path, root: Path, path: str) -> bool:
    if any((root / parent).is_symlink() for parent in _parents(path)):
        return False
    try:
        before, now = entry_at(original, path), entry_at(root, path)
        return before.mode == now.mode and not now.is_folder and file_hash(before) == file_hash(now, mend=True)
    except OSError:
        return False


def _put_back(original: Path, root: Path, path: str) -> None:
    for parent in _parents(path):
        folder = root / parent
        if folder.is_symlink() or not folder.is_dir():
            _clear(folder)
            folder.mkdir()
    _clear(root / path)
    shutil.copy2(original / path, root / path, follow_symlinks=False)


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _added(root: Path, protected: tuple[str, ...], expected: frozenset[str]) -> Iterator[str]:
    for folder in protected:
        if (root / folder).is_dir():
            for entry in walk(root / folder, into=_is_ours, failed=lambda *_: None, mend=True):
                path = f"{folder}/{entry.path}"
                if not entry.is_folder and _is_ours(entry) and path not in expected:
                    yield path


def _is_ours(entry: Entry) -> bool:
    return not is_junk(entry.path)
