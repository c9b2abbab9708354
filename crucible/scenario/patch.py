"""Reads a unified diff, git's or plain, and never guesses: what cannot be read as a change is refused with its line.

    parse_patch(data) -> Patch          bytes in, paths and lines as bytes out
    apply_patch(patch, read) -> files   the bytes after, by path

Sections and names are read here, because the text of a patch is only unambiguous to a reader that counts lines;
unidiff then reads every hunk again, and a patch on which the two readers differ is refused.
"""

from __future__ import annotations

import re

from crucible.errors import PatchError
from crucible.scenario.patch_apply import apply_patch, patched_modes
from crucible.scenario.patch_lines import LineReader, at_plain_header, refuse_foreign, shown
from crucible.scenario.patch_sections import read_section
from crucible.scenario.patch_types import FilePatch, Hunk, Patch

__all__ = ["FilePatch", "Hunk", "Patch", "PatchError", "apply_patch", "parse_patch", "patched_modes"]

_FILLER = re.compile(rb"\s*$|Index: |={3,}$|diff -(?!-)|diff [^-]")
_SIGNATURE = re.compile(rb"\d+(\.\d+)+[\w.() -]*$")


def parse_patch(data: bytes, *, file: str = "<patch>", first_line: int = 1) -> Patch:
    """The change that a unified diff describes.

    `file` and `first_line` say where the text stands, for the errors. Empty bytes give a patch without files;
    any other text gives at least one file or a PatchError. Prose may come before the first file (a commit
    message), not between files. Not read: coloured, word, combined and context diffs and the apply_patch format.
    """
    reader = LineReader(data, file, first_line)
    files = _read_files(reader)
    if data and not files:
        raise PatchError("no change is described here: not a unified diff", file=file, line=first_line)
    for one in files:
        _read_again(one, file)
    return Patch(tuple(files), file)


def _read_files(reader: LineReader) -> list[FilePatch]:
    files: list[FilePatch] = []
    prose = True
    while (line := reader.peek()) is not None:
        if reader.starts(b"diff --git ") or at_plain_header(reader):
            files.append(read_section(reader))
            prose = False
            continue
        refuse_foreign(reader)
        prose = prose or (line == b"-- " and _SIGNATURE.match(reader.peek(1) or b"") is not None)
        if not prose and not _FILLER.match(line):
            raise reader.error(_why_not(line))
        reader.take()
    return files


def _why_not(line: bytes) -> str:
    if line[:1] in (b" ", b"+", b"-", b"\\"):
        return f"{shown(line)} follows a hunk that is complete: its header counts too few lines"
    return f"{shown(line)} is no part of a patch"


def _read_again(file: FilePatch, source: str) -> None:
    """Have unidiff count the numbered hunks of one file; raise PatchError when it counts differently."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    hunks = [hunk for hunk in file.hunks if not hunk.bare]
    text = ["--- a/file\n", "+++ b/file\n"]
    for hunk in hunks:
        text.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@\n")
        text.extend(line.decode("latin-1") + "\n" for line in hunk.lines)
    try:
        counted = [(hunk.added, hunk.removed) for one in PatchSet(text) for hunk in one]
    except UnidiffParseError as error:
        raise PatchError(f"a second reader refuses this file: {error}", file=source, line=file.line) from error
    if counted != [(hunk.added, hunk.removed) for hunk in hunks]:
        raise PatchError("a second reader counts other lines in this file", file=source, line=file.line)
