# ruff: noqa: PTH103, PTH118, PTH120 (pathlib is slow to import; this program starts with every world)
"""Reading and writing files of the workspace: bytes stay bytes, line endings are the file's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from . import edits, text


class ToolError(Exception):
    """A tool could not do what it was asked; the message is what the agent reads."""


class Workspace:
    """The folder the file tools work in, and nothing outside it."""

    def __init__(self, root: str, *, output_bytes: int) -> None:
        self.root = os.path.realpath(root)
        self.output_bytes = output_bytes

    def follow(self, path: str) -> str:
        """The file behind `path`, every link followed, the last one too."""
        return os.path.realpath(os.path.join(self.root, path))

    def resolve(self, path: str) -> str:
        """As `follow`; raises ToolError when that is outside."""
        real = self.follow(path)
        if not self.holds(real):
            raise ToolError(f"{path}: outside the workspace; file tools work in {self.root} only")
        return real

    def holds(self, real: str) -> bool:
        """Whether a resolved path is in the workspace."""
        return real == self.root or real.startswith(self.root + os.sep)

    def relative(self, real: str) -> str:
        """A resolved path as the agent names it."""
        return os.path.relpath(real, self.root)

    def read(self, path: str, offset: int = 1, limit: int | None = None) -> tuple[str, int]:
        """Lines `offset` (from 1) to `offset + limit - 1` with LF endings, and the file's size in bytes."""
        if offset < 1 or (limit is not None and limit < 1):
            raise ToolError("offset and limit count lines from 1")
        with open_plain(self.resolve(path), path) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.peek(text.BINARY_BYTES)
            if text.is_binary(head):
                return f"[binary file, {size} bytes]", size
            return (self._page(file, offset, limit, size) if head else "[empty file]"), size

    def _page(self, file: BufferedReader, offset: int, limit: int | None, size: int) -> str:
        shown, number, note = bytearray(), 0, ""
        for number, (line, was_cut) in enumerate(bounded_lines(file, self.output_bytes), 1):
            if number < offset:
                continue
            if number - offset == limit or len(shown) + len(line) > self.output_bytes:
                note = f"[lines {offset} to {number - 1}; {size} bytes in all: go on with offset={number}]"
                break
            shown += line + (b" [line cut]\n" if was_cut else b"")
        if number < offset:
            return f"[the file has {number} lines; {size} bytes in all]"
        body = text.decode(bytes(shown).replace(b"\r\n", b"\n"))
        return body + note

    def write(self, path: str, content: str) -> str:
        """Write a whole file, making its folders. A file that ends all its lines with CRLF keeps doing so."""
        data, real = _encode(content), self.resolve(path)
        before = self._existing(real, path)
        if before is not None and edits.is_crlf(before) and b"\r\n" not in data:
            data = data.replace(b"\n", b"\r\n")
        os.makedirs(os.path.dirname(real), exist_ok=True)
        _write(real, path, data)
        return f"{'created' if before is None else 'wrote'} {self.relative(real)} ({len(data)} bytes)"

    def edited(self, path: str, old: str, new: str, *, everywhere: bool = False) -> tuple[str, bytes, int]:
        """The file with `old` replaced, which must occur exactly once unless `everywhere`: what to `put`, and how often."""
        real = self.resolve(path)
        before = self._existing(real, path)
        if before is None:
            raise ToolError(f"{path}: no such file")
        try:
            after, count = edits.replace(before, _encode(old), _encode(new), everywhere=everywhere)
        except edits.EditError as error:
            raise ToolError(f"{path}: {error}") from None
        return real, after, count

    def put(self, path: str, real: str, data: bytes, count: int) -> str:
        """Write what was `edited`."""
        _write(real, path, data)
        return f"replaced {count} occurrence{'s' if count > 1 else ''} in {self.relative(real)}"

    def _existing(self, real: str, path: str) -> bytes | None:
        if not os.path.lexists(real):
            return None
        with open_plain(real, path) as file:
            if os.fstat(file.fileno()).st_size > edits.LARGEST:
                raise ToolError(f"{path}: larger than {edits.LARGEST} bytes; use bash")
            return file.read()


@contextmanager
def open_plain(real: str, path: str) -> Iterator[BufferedReader]:
    """A resolved path open for reading; ToolError for anything but a plain file. Never waits for a pipe."""
    fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _expect_plain(os.fstat(fd), path)
        with os.fdopen(fd, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(fd)


def bounded_lines(file: BufferedReader, most: int) -> Iterator[tuple[bytes, bool]]:
    """Lines with their endings; one longer than `most` bytes comes cut, the rest of it skipped, and says so."""
    while line := file.readline(most):
        rest = b"" if line.endswith(b"\n") else file.readline(most)
        if rest in (b"", b"\n"):
            yield line + rest, False
            continue
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(most)
        yield text.whole_characters(line), True


def _write(real: str, path: str, data: bytes) -> None:
    """In place, so that the mode stays; never through a second name of the file."""
    fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    try:
        status = os.fstat(fd)
        _expect_plain(status, path)
        if status.st_nlink > 1:
            raise ToolError(f"{path}: has {status.st_nlink} hard links; writing it would write the others too")
        os.ftruncate(fd, 0)
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(data)
    finally:
        os.close(fd)


def _expect_plain(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path}: is a folder; list_files shows what is in it")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path}: not a plain file")


def _encode(content: str) -> bytes:
    try:
        return content.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"text holds half a character (U+{ord(content[error.start]):04X}); nothing was written"
        ) from None
