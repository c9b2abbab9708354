"""Hunks: the header's counts decide where one ends, so a line that looks like a header is content inside it."""

from __future__ import annotations

import re

from crucible.scenario.patch_lines import LineReader, at_plain_header, shown
from crucible.scenario.patch_types import Hunk

_NUMBERED = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?$", re.DOTALL)
_BARE = re.compile(rb"@@(?: ?(?:\.\.\. ?)?@@)?\s*$")
_WORD_DIFF = re.compile(rb"\[-.*-\]|\{\+.*\+\}")
_NO_NEWLINE = b"\\ "


class _Body:
    """Lines of a hunk as they come in, with what the `\\ No newline` markers say of them."""

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self.lines: list[bytes] = []
        self.old = self.new = 0
        self.old_no_newline = self.new_no_newline = False

    def take(self) -> None:
        """Take the next line. An empty one is an empty context line whose space an editor has stripped."""
        line = self._reader.peek() or b" "
        kind = line[:1]
        if kind not in (b" ", b"-", b"+"):
            what = f"{shown(line)} in a hunk begins with neither ' ', '+' nor '-'"
            raise self._reader.error(what, hint=_hint(self._reader))
        self._refuse_after_end(kind)
        self._reader.take()
        self.lines.append(line)
        self.old += kind != b"+"
        self.new += kind != b"-"
        self._take_marker(kind)

    def _refuse_after_end(self, kind: bytes) -> None:
        if (self.old_no_newline and kind != b"+") or (self.new_no_newline and kind != b"-"):
            raise self._reader.error("a line follows the one that is marked as the file's last")

    def _take_marker(self, kind: bytes) -> None:
        if self._reader.starts(_NO_NEWLINE):
            self._reader.take()
            self.old_no_newline |= kind != b"+"
            self.new_no_newline |= kind != b"-"


def read_hunk(reader: LineReader) -> Hunk:
    """The hunk whose header is the next line. Raises PatchError."""
    line, header = reader.line, reader.take()
    if numbers := _NUMBERED.match(header):
        old_start, old, new_start, new = (1 if n is None else int(n) for n in numbers.groups())
        body = _counted(reader, line, old, new)
    elif _BARE.match(header):
        old_start = new_start = 0
        body = _uncounted(reader)
    else:
        what = f"{shown(header)} is no hunk header"
        raise reader.error(what, line=line, hint="write `@@ -start,lines +start,lines @@`, or a bare `@@`")
    if not any(text[:1] in (b"+", b"-") for text in body.lines):
        raise reader.error("this hunk changes nothing", line=line)
    return Hunk(
        line=line,
        old_start=old_start,
        old_lines=body.old,
        new_start=new_start,
        new_lines=body.new,
        lines=tuple(body.lines),
        old_no_newline=body.old_no_newline,
        new_no_newline=body.new_no_newline,
        bare=not numbers,
    )


def _counted(reader: LineReader, line: int, old: int, new: int) -> _Body:
    """A body that ends when its header's counts are used up."""
    body = _Body(reader)
    while (body.old, body.new) != (old, new):
        if reader.peek() is None or body.old > old or body.new > new:
            what = f"the hunk header counts {old} lines before and {new} after"
            raise reader.error(f"{what}, but {body.old} and {body.new} were found", line=line)
        body.take()
    return body


def _uncounted(reader: LineReader) -> _Body:
    """A body that ends at the next header. Blank lines at its end belong to no hunk."""
    body = _Body(reader)
    while not _ends_bare(reader):
        body.take()
    return body


def _ends_bare(reader: LineReader) -> bool:
    ahead = 0
    while reader.peek(ahead) == b"":
        ahead += 1
    plain_header = at_plain_header(reader, ahead) and reader.starts(b"@@", ahead=ahead + 2)
    return reader.peek(ahead) is None or plain_header or reader.starts(b"@@", b"diff --git ", ahead=ahead)


def _hint(reader: LineReader) -> str | None:
    """What went wrong where a line has no prefix, as far as this line and a few after it tell."""
    if reader.starts(b"\x1b["):
        return "the diff is coloured; make it with `git diff --no-color`"
    if any(_WORD_DIFF.search(reader.peek(ahead) or b"") for ahead in range(20)):
        return "this looks like `git diff --word-diff`; make it without"
    return None
