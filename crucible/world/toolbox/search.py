# ruff: noqa: PTH112, PTH118 (pathlib is slow to import; this program starts with every world)
"""Looking around: names of files, and lines that match."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from . import globs, text
from .files import ToolError, Workspace, bounded_lines, open_plain

LINE_BYTES = 400
"""What is shown of one matching line."""
_READ_BYTES = 1 << 20


class Capped:
    """Lines of a result up to a number of bytes, and how many there were."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self.size = 0
        self._left = most
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        """Take one more line."""
        size = len(line.encode("utf-8", "replace")) + 1
        self.count += 1
        self.size += size
        self._left -= size
        if self._left >= 0:
            self._lines.append(line)

    def text(self, what: str) -> str:
        """The lines, and how many are not shown."""
        if not self.count:
            return f"[no {what}]"
        if len(self._lines) == self.count:
            return "\n".join(self._lines)
        return "\n".join([*self._lines, f"[{len(self._lines)} of {self.count} {what} shown]"])


def list_files(workspace: Workspace, path: str = ".", glob: str | None = None) -> tuple[str, int]:
    """Everything below a folder, folders with a `/`, without .git; with `glob`, only files that match it."""
    out, match = Capped(workspace.output_bytes), _matcher(glob)
    for name, is_folder in walk(workspace, path):
        if match is None or (not is_folder and match.match(name)):
            out.add(_shown(name) + "/" * is_folder)
    return out.text("files"), out.size


def search(workspace: Workspace, pattern: str, path: str = ".", glob: str | None = None) -> tuple[str, int]:
    """Lines of text files that match a Python regular expression, as `path:line: text`."""
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(f"not a regular expression: {pattern!r}: {error}") from None
    out, match = Capped(workspace.output_bytes), _matcher(glob)
    for name, is_folder in walk(workspace, path):
        if not is_folder and (match is None or match.match(name)):
            _search_file(workspace, name, wanted, out)
    return out.text("matches"), out.size


def _search_file(workspace: Workspace, name: str, wanted: re.Pattern[str], out: Capped) -> None:
    try:
        with open_plain(os.path.join(workspace.root, name), name) as file:
            if text.is_binary(file.peek(text.BINARY_BYTES)):
                return
            for number, (line, _) in enumerate(bounded_lines(file, _READ_BYTES), 1):
                shown = text.decode(line.rstrip(b"\r\n"))
                if wanted.search(shown):
                    out.add(f"{_shown(name)}:{number}: {_short(shown)}")
    except (OSError, ToolError):
        return  # a link, a pipe, or gone since it was listed: not a text file


def walk(workspace: Workspace, path: str) -> Iterator[tuple[str, bool]]:
    """Names below a path in order, relative to the workspace, and whether each is a folder. Links are not followed."""
    start = workspace.resolve(path)
    if not os.path.lexists(start):
        raise ToolError(f"{path}: no such file or folder")
    if not os.path.isdir(start):
        yield workspace.relative(start), False
        return
    stack = _below(start)
    while stack:
        entry = stack.pop()
        is_folder = entry.is_dir(follow_symlinks=False)
        yield workspace.relative(entry.path), is_folder
        if is_folder:
            stack += _below(entry.path)


def _below(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if e.name != ".git"), key=lambda e: e.name, reverse=True)
    except OSError:
        return []


def _shown(name: str) -> str:
    return text.decode(os.fsencode(name)).replace("\n", "\\n")


def _short(line: str) -> str:
    return line if len(line) <= LINE_BYTES else f"{line[:LINE_BYTES]} [line cut]"


def _matcher(glob: str | None) -> re.Pattern[str] | None:
    try:
        return None if glob is None else globs.matcher(glob)
    except re.error as error:
        raise ToolError(f"not a glob: {glob!r}: {error}") from None
