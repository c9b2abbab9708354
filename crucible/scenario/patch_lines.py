"""A patch as lines with numbers, and the reasons for which a text is no unified diff."""

from __future__ import annotations

import re

from crucible.errors import PatchError

_FOREIGN: tuple[tuple[re.Pattern[bytes], str, str | None], ...] = (
    (re.compile(rb"\x1b\["), "the diff is coloured", "make it with `git diff --no-color`"),
    (re.compile(rb"diff --(cc|combined) |@@@"), "a combined diff (of a merge) has no single side before", None),
    (
        re.compile(rb"\*\*\* (Begin Patch|(Update|Add|Delete) File:)"),
        "this is the apply_patch format, not a unified diff",
        "make it with `git diff`",
    ),
    (re.compile(rb"\*{15}"), "this is a context diff, not a unified one", "make it with `diff -u` or `git diff`"),
    (re.compile(rb"Only in .+: "), "a file that is on one side only is named but not shown", "make it with `diff -N`"),
    (
        re.compile(rb"Binary files .+ differ$|GIT binary patch$"),
        "a binary difference without a `diff --git` line",
        None,
    ),
    (re.compile(rb"@@"), "a hunk without a file header (`---` and `+++`) before it", None),
    (re.compile(rb"(---|\+\+\+) "), "a `---` line and a `+++` line must follow one another", None),
)


class LineReader:
    """Walks the lines of a patch and makes errors that name file and line.

    Lines are split on the line feed alone: a form feed, a lone carriage return or U+2028 is content. A text whose
    every line ends in CRLF, headers included, was stored that way: one carriage return per line is dropped. So is a
    byte order mark.
    """

    def __init__(self, data: bytes, file: str, first_line: int) -> None:
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        if all(line.endswith(b"\r") for line in lines):
            lines = [line[:-1] for line in lines]
        self._lines = lines
        self._first = first_line
        self._at = 0
        self.file = file

    @property
    def line(self) -> int:
        """Number of the line that `peek` shows, in the file the patch was read from."""
        return self._first + self._at

    def peek(self, ahead: int = 0) -> bytes | None:
        """The line that comes next (or a later one), None at the end."""
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else None

    def starts(self, *prefixes: bytes, ahead: int = 0) -> bool:
        """True when the next line exists and begins with one of the prefixes."""
        line = self.peek(ahead)
        return line is not None and line.startswith(prefixes)

    def take(self) -> bytes:
        """The next line; goes on to the one after it."""
        line = self._lines[self._at]
        self._at += 1
        return line

    def error(self, what: str, *, line: int | None = None, hint: str | None = None) -> PatchError:
        """A PatchError at the given line, or at the next one. At the end of the text, at its last line."""
        last = self._first + max(len(self._lines) - 1, 0)
        return PatchError(what, file=self.file, line=min(self.line if line is None else line, last), hint=hint)


def at_plain_header(reader: LineReader, ahead: int = 0) -> bool:
    """True where a pair of `---` and `+++` lines begins."""
    return reader.starts(b"--- ", ahead=ahead) and reader.starts(b"+++ ", ahead=ahead + 1)


def refuse_foreign(reader: LineReader) -> None:
    """Raise when the next line belongs to a format that is not read here, saying which."""
    line = reader.peek() or b""
    for pattern, what, hint in _FOREIGN:
        if pattern.match(line):
            raise reader.error(what, hint=hint)


def shown(line: bytes, limit: int = 60) -> str:
    """A line as an error message quotes it."""
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= limit else text[:limit] + "...")
