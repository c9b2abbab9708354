"""Folders of worlds: each locked while its world lives, so that what a killed process left can be told and removed."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from crucible.world.tree import remove_tree

_PREFIX, _LOCK = "world-", "crucible.lock"


class WorldFolder:
    """A fresh private folder under `base`, ours until `remove`. Its name says nothing: it can be seen from inside."""

    def __init__(self, base: Path) -> None:
        base.mkdir(parents=True, exist_ok=True)
        sweep(base)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=base)).resolve()
        self._lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.with_name(made.name.replace(".new-", _PREFIX))
        made.rename(self.path)

    def remove(self) -> None:
        """Delete the folder and let go of it."""
        remove_tree(self.path)
        os.close(self._lock)


@cache
def sweep(base: Path) -> None:
    """Remove world folders in `base` that nobody holds; once per process."""
    for folder in base.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    finally:
        os.close(lock)
