"""What came out of a world: its files compared with the snapshot, by us, from outside, when nothing runs any more."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crucible.errors import SandboxError
from crucible.world.tree import Entry, entry_at, file_hash, is_junk, read_state, walk
from crucible.world.types import Change, ChangeStatus, FileChange, FileState, Limits, Snapshot

_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
_UNREADABLE = {f"{space}.overlay.{what}" for space in ("user", "trusted") for what in ("redirect", "metacopy")}
"""By their whole names: what an agent calls `user.overlay.redirect` is `user.overlay.overlay.redirect` in the layer."""


def read_overlay(snapshot: Snapshot, upper: Path, limits: Limits) -> Change:
    """The change that an overlay's upper layer is. Raises SandboxError for one of a kind that is never asked for."""
    found = _Found(snapshot)
    for entry in walk(upper, into=found.enters, failed=found.unreadable, mend=True):
        if found.is_left_out(entry):
            continue
        if _is_whiteout(entry):
            found.gone.update(snapshot.at_or_below(entry.path))
            continue
        _check_attributes(entry)
        if not entry.is_folder or _is_opaque(entry) or entry.path in found.known:
            found.gone.update(snapshot.at_or_below(entry.path))
        found.take(entry)
    return found.change(limits)


def read_copy(snapshot: Snapshot, root: Path, limits: Limits) -> Change:
    """The change that a whole tree is."""
    found = _Found(snapshot)
    found.gone.update(snapshot.files)
    for entry in walk(root, into=found.enters, failed=found.unreadable, mend=True):
        if not found.is_left_out(entry):
            found.take(entry)
    return found.change(limits)


class _Found:
    """What is there now and what may be gone, by path."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.known = frozenset(snapshot.files)
        self.now: dict[str, Entry] = {}
        self.gone: set[str] = set()
        self.junk: set[str] = set()
        self._snapshot = snapshot

    def enters(self, entry: Entry) -> bool:
        return not _is_left_out(entry.path)

    def unreadable(self, path: str, _: OSError) -> None:
        self.junk.add(path)

    def is_left_out(self, entry: Entry) -> bool:
        """Whether an entry is no part of any change; it is then named as junk."""
        if left_out := _is_left_out(entry.path):
            self.junk.add(f"{entry.path}/" if entry.is_folder else entry.path)
        return left_out

    def take(self, entry: Entry) -> None:
        """Note a file or link that is there now."""
        if entry.is_file or entry.is_link:
            self.now[entry.path] = entry
        elif not entry.is_folder:
            self.junk.add(entry.path)

    def change(self, limits: Limits) -> Change:
        """Everything that really differs."""
        before = {p: entry_at(self._snapshot.root, p) for p in self.known & (self.gone | self.now.keys())}
        pairs = [_Pair(p, before.get(p), self.now.get(p)) for p in before.keys() | self.now.keys()]
        differing = [pair for pair in pairs if not pair.is_same()]
        reader = _Reader(limits)
        files = [pair.change(reader) for pair in sorted(differing, key=_Pair.worth)]
        return Change(tuple(_with_renames(files)), tuple(sorted(self.junk)))


@dataclass(frozen=True, slots=True)
class _Pair:
    path: str
    before: Entry | None
    after: Entry | None

    def is_same(self) -> bool:
        """Whether kind, mode and bytes are equal; a file that was only copied up is no change."""
        if self.before is None or self.after is None or self.before.mode != self.after.mode:
            return False
        if self.before.status.st_size != self.after.status.st_size:
            return False
        return file_hash(self.before) == file_hash(self.after, mend=True)

    def worth(self) -> tuple[bool, int]:
        """Order in which bytes are held while there is room."""
        sizes = [entry.status.st_size for entry in (self.before, self.after) if entry is not None]
        return len(sizes) == 1, max(sizes)

    def change(self, reader: _Reader) -> FileChange:
        status: ChangeStatus = "add" if self.before is None else "delete" if self.after is None else "modify"
        return FileChange(self.path, status, reader.read(self.before), reader.read(self.after))


class _Reader:
    """Reads states and holds their bytes, one file and all files together up to a size; beyond it only hashes."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.file_data_bytes
        self._room = limits.change_data_bytes

    def read(self, entry: Entry | None) -> FileState | None:
        if entry is None:
            return None
        state = read_state(entry, min(self._most, self._room), mend=True)
        self._room -= len(state.data or b"")
        return state


def _with_renames(files: Iterable[FileChange]) -> list[FileChange]:
    """Files in order of path, an added and a deleted one of the same bytes made one rename."""
    by_path = {file.path: file for file in files}
    deleted: dict[tuple[str, str], list[FileChange]] = defaultdict(list)
    for file in by_path.values():
        if file.before is not None and file.after is None and file.before.size:
            deleted[file.before.kind, file.before.sha256].append(file)
    for path in sorted(path for path, file in by_path.items() if file.before is None):
        after = by_path[path].after
        if after is not None and (old := _take(deleted[after.kind, after.sha256], path)):
            by_path[path] = FileChange(path, "rename", old.before, after, old.path)
            del by_path[old.path]
    return [by_path[path] for path in sorted(by_path)]


def _take(candidates: list[FileChange], path: str) -> FileChange | None:
    """The deleted file most likely to be the one added: the same name, else the first."""
    if not candidates:
        return None
    name = path.rpartition("/")[2]
    best = min(candidates, key=lambda f: (f.path.rpartition("/")[2] != name, f.path))
    candidates.remove(best)
    return best


def _is_left_out(path: str) -> bool:
    return path == ".git" or is_junk(path)


def _is_whiteout(entry: Entry) -> bool:
    return stat.S_ISCHR(entry.status.st_mode) and entry.status.st_rdev == 0


def _is_opaque(entry: Entry) -> bool:
    """Whether a folder of the upper layer hides the lower one instead of adding to it."""
    return any(_attribute(entry, name) == b"y" for name in _OPAQUE)


def _check_attributes(entry: Entry) -> None:
    """We ask for an overlay without redirects; reading one as if it had none would lose files without a word."""
    names = os.listxattr(entry.full, follow_symlinks=False)
    if not _UNREADABLE.isdisjoint(names):
        raise SandboxError(f"{entry.path}: this kernel's overlay redirects, which cannot be read as a change")


def _attribute(entry: Entry, name: str) -> bytes | None:
    try:
        return os.getxattr(entry.full, name, follow_symlinks=False)
    except OSError:
        return None
