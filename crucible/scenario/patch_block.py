"""Finds the marked patch in a markdown file: the marker on its own line, then the next fenced block, a diff.

Fences are read as CommonMark does (backticks or tildes, three or more, closed by at least as many), with one
difference that diffs need: inside the patch only a fence in the first column closes it, because there a line that
begins with a space is a context line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crucible.errors import PatchError

MARKER = "<!-- crucible:reference-patch -->"
_HOW = f"put `{MARKER}` on a line of its own, and below it a ```diff block with the intended patch"
_FENCE = re.compile(rb"( {0,3})(`{3,}|~{3,})(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """The content of a fenced block, with its own line ends, and the line of the file where it begins."""

    data: bytes
    first_line: int


@dataclass(frozen=True, slots=True)
class _Fence:
    indent: int
    mark: bytes
    info: bytes

    @classmethod
    def read(cls, line: bytes) -> _Fence | None:
        """The opening fence on this line, None when it is none."""
        match = _FENCE.match(line.rstrip())
        if match is None or (match.group(2).startswith(b"`") and b"`" in match.group(3)):
            return None
        return cls(len(match.group(1)), match.group(2), match.group(3).strip())

    def closed_by(self, line: bytes, *, indented: bool) -> bool:
        """True when this line closes the fence; `indented` allows it up to three spaces, as CommonMark does."""
        other = _FENCE.match(line.rstrip())
        if other is None or other.group(3) or (other.group(1) and not indented):
            return False
        return other.group(2).startswith(self.mark)


def find_block(markdown: bytes, file: str) -> Block:
    """The block after the marker. Raises PatchError when there is no marker, more than one, or no diff after it."""
    lines = markdown.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    marker = _find_marker(lines, file)
    at = marker
    while at < len(lines) and _Fence.read(lines[at]) is None:
        at += 1
    if at == len(lines):
        raise PatchError("no fenced block follows the marker", file=file, line=marker, hint=_HOW)
    fence = _Fence.read(lines[at])
    if fence is None or fence.indent or fence.info.split()[:1] != [b"diff"]:
        raise PatchError("the block after the marker is no unindented ```diff block", file=file, line=at + 1, hint=_HOW)
    return _content(lines, at, fence, file)


def _content(lines: list[bytes], at: int, fence: _Fence, file: str) -> Block:
    for end in range(at + 1, len(lines)):
        if fence.closed_by(lines[end], indented=False):
            return Block(b"".join(line + b"\n" for line in lines[at + 1 : end]), at + 2)
    raise PatchError(f"this block is not closed by {fence.mark.decode()}", file=file, line=at + 1)


def _find_marker(lines: list[bytes], file: str) -> int:
    """Number of the line after the one marker that stands outside of every fence, counted from 0."""
    found: list[int] = []
    fence: _Fence | None = None
    for number, line in enumerate(lines, 1):
        if fence is not None:
            fence = None if fence.closed_by(line, indented=not found) else fence
        elif line.rstrip() == MARKER.encode():
            found.append(number)
        else:
            fence = _Fence.read(line)
    if len(found) > 1:
        raise PatchError(f"a second {MARKER}; the first is on line {found[0]}", file=file, line=found[1])
    if not found:
        raise _no_marker(lines, file)
    return found[0]


def _no_marker(lines: list[bytes], file: str) -> PatchError:
    near = next((number for number, line in enumerate(lines, 1) if b"crucible:" in line), None)
    wanted = f"{MARKER}, alone on its line and in no other block"
    what = f"there is no marker: {wanted}" if near is None else f"this is no marker; it must be {wanted}"
    return PatchError(what, file=file, line=near or 1, hint=_HOW)
