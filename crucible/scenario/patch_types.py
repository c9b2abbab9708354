"""What a parsed patch is made of: bytes in, bytes out, and where each piece stood in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["add", "delete", "modify", "rename", "copy"]
PatchKind = Literal["literal", "delta"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place that changes.

    `lines` keep their one-byte prefix (space, minus, plus) and have no line feed. `line` is the header's line in the
    file the patch was read from. A `bare` hunk (`@@` without numbers) has starts of 0: it is found by its content.
    `old_no_newline` and `new_no_newline`: the last line of that side has no line feed.
    """

    line: int
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[bytes, ...]
    old_no_newline: bool = False
    new_no_newline: bool = False
    bare: bool = False

    @property
    def added(self) -> int:
        """Number of lines with a plus."""
        return sum(line.startswith(b"+") for line in self.lines)

    @property
    def removed(self) -> int:
        """Number of lines with a minus."""
        return sum(line.startswith(b"-") for line in self.lines)

    def side(self, sign: bytes, *, no_newline: bool) -> list[bytes]:
        """The file's lines on one side (`b"-"` old, `b"+"` new), each with its line feed."""
        lines = [line[1:] + b"\n" for line in self.lines if line[:1] in (b" ", sign)]
        if no_newline and lines:
            lines[-1] = lines[-1][:-1]
        return lines

    @property
    def old(self) -> list[bytes]:
        """Context and removed lines, as they stand in the file before."""
        return self.side(b"-", no_newline=self.old_no_newline)

    @property
    def new(self) -> list[bytes]:
        """Context and added lines, as they stand in the file after."""
        return self.side(b"+", no_newline=self.new_no_newline)


@dataclass(frozen=True, slots=True)
class BinaryData:
    """The forward half of a `GIT binary patch`, decompressed: the new bytes, or a git delta that makes them."""

    kind: PatchKind
    data: bytes


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file of a patch. `old` is None for an added file, `new` for a deleted one.

    Paths are POSIX, relative, without prefix; undecodable bytes are surrogate escapes. `added` and `removed` count
    lines and are None for a binary file. Modes are git's (0o100755, 0o120000 for a link), None where the patch does
    not name one. `old_blob` and `new_blob` are git object ids, possibly shortened.
    """

    line: int
    status: Status
    old: str | None
    new: str | None
    added: int | None = 0
    removed: int | None = 0
    binary: bool = False
    old_mode: int | None = None
    new_mode: int | None = None
    hunks: tuple[Hunk, ...] = ()
    data: BinaryData | None = None
    old_blob: str | None = None
    new_blob: str | None = None

    @property
    def path(self) -> str:
        """The name to call the file by: the new one, or the old one of a deleted file."""
        return self.new or self.old or ""


@dataclass(frozen=True, slots=True)
class Patch:
    """All files of a patch, in its order. `file` names what it was read from; the lines of the parts count there."""

    files: tuple[FilePatch, ...]
    file: str = "<patch>"
