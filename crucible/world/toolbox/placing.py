# ruff: noqa: PTH102, PTH106, PTH108, PTH112, PTH114, PTH118, PTH120, PTH211 (pathlib is slow to import; this program starts with every world)
"""Making a workspace look as another one did: paths removed, files put. Not a tool; agents cannot call it."""

from __future__ import annotations

import os
import stat
from binascii import a2b_base64

from .files import ToolError

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from typing import Any


def remove(root: str, paths: list[str]) -> None:
    """Remove files and links, then the folders that are empty for it."""
    for path in paths:
        real = os.path.join(root, path)
        try:
            os.unlink(real)
            _prune(os.path.dirname(real), root)
        except OSError as error:
            raise _failure(path, error) from None


def put(root: str, files: list[dict[str, Any]]) -> None:
    """Make each file or link anew, with its folders; whatever stands in the way goes."""
    for file in files:
        path, mode, data = file["path"], file["mode"], a2b_base64(file["data"])
        try:
            _make_folders(root, os.path.dirname(path))
            _make(os.path.join(root, path), mode, data)
        except OSError as error:
            raise _failure(path, error) from None


def _make(real: str, mode: int, data: bytes) -> None:
    _clear(real)
    if stat.S_ISLNK(mode):
        os.symlink(data, os.fsencode(real))
        return
    fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as out:
        out.write(data)
        os.fchmod(fd, 0o755 if mode & 0o100 else 0o644)


def _make_folders(root: str, folder: str) -> None:
    real = root
    for part in folder.split("/") if folder else ():
        real = os.path.join(real, part)
        if not _is_folder(real):
            _clear(real)
            os.mkdir(real, 0o755)


def _clear(real: str) -> None:
    if _is_folder(real):
        import shutil  # only grading comes here, and it is slow to import

        shutil.rmtree(real)
    elif os.path.lexists(real):
        os.unlink(real)


def _is_folder(real: str) -> bool:
    return os.path.isdir(real) and not os.path.islink(real)


def _prune(folder: str, root: str) -> None:
    while folder != root:
        try:
            os.rmdir(folder)
        except OSError:
            return  # not empty
        folder = os.path.dirname(folder)


def _failure(path: str, error: OSError) -> ToolError:
    return ToolError(f"{path}: {error.strerror}")
