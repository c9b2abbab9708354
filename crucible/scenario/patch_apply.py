"""Applies a patch to files in memory: where its lines say, or where they alone can be meant; never near enough.

A hunk applies at its stated line when its context and removed lines stand there, byte for byte; else at the one
place of the file where they do; else not at all. A bare hunk has no stated line. There is no fuzz, with one
exception: lines of a patch without carriage returns apply to a file whose every line ends in CRLF, and the file
keeps its endings.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1

from crucible.errors import PatchError
from crucible.scenario.patch_binary import DeltaError, apply_delta
from crucible.scenario.patch_types import FilePatch, Hunk, Patch

Read = Callable[[str], bytes | None]


def apply_patch(patch: Patch, read: Read) -> dict[str, bytes | None]:
    """The bytes after the patch of every path it touches, None for a path that is gone.

    `read` gives the bytes before, None where there is no such file. A later section of the same path sees what an
    earlier one made of it. Raises PatchError with the line of the hunk and, where its place is not certain, the
    candidate lines of the file.
    """
    after: dict[str, bytes | None] = {}
    for file in patch.files:
        try:
            _apply_file(file, after, lambda path: after[path] if path in after else read(path))
        except _MisfitError as misfit:
            raise PatchError(str(misfit), file=patch.file, line=misfit.line or file.line, hint=misfit.hint) from misfit
    return after


def patched_modes(patch: Patch) -> dict[str, int]:
    """The git mode (0o100755, 0o120000 ...) of every path to which the patch gives one."""
    return {
        file.new: file.new_mode
        for file in patch.files
        if file.new is not None and file.new_mode is not None and file.new_mode != file.old_mode
    }


class _MisfitError(Exception):
    """The patch does not fit the files."""

    def __init__(self, what: str, *, line: int | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.line = line
        self.hint = hint


def _apply_file(file: FilePatch, after: dict[str, bytes | None], read: Read) -> None:
    before = _before(file, read)
    result = _binary_after(file, before) if file.binary else _text_after(file, before)
    if file.status == "delete" and result and not (file.binary and file.data is None):
        raise _MisfitError(f"{file.old} has more than the lines that the patch deletes")
    if file.status in ("delete", "rename") and file.old is not None:
        after[file.old] = None
    if file.new is not None:
        after[file.new] = result


def _before(file: FilePatch, read: Read) -> bytes:
    if file.new is not None and file.new != file.old and read(file.new) is not None:
        raise _MisfitError(f"{file.new} is there already")
    before = b"" if file.old is None else read(file.old)
    if before is None:
        raise _MisfitError(f"there is no file {file.old}")
    return before


def _text_after(file: FilePatch, before: bytes) -> bytes:
    crlf = _all_crlf(before) and not any(line.endswith(b"\r") for hunk in file.hunks for line in hunk.lines)
    text = before.replace(b"\r\n", b"\n") if crlf else before
    after = b"".join(_replaced(file, _split(text)))
    return after.replace(b"\n", b"\r\n") if crlf else after


def _split(text: bytes) -> list[bytes]:
    """Lines with their line feed; bytes.splitlines would split on a lone carriage return too."""
    pieces = text.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _all_crlf(data: bytes) -> bool:
    return b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n") == data.count(b"\r")


def _replaced(file: FilePatch, lines: list[bytes]) -> list[bytes]:
    """The lines with every hunk's old side replaced by its new one; all are placed in the file as it was before."""
    placed = sorted(
        ((_place(file, hunk, lines), hunk) for hunk in file.hunks), key=lambda item: (item[0], item[1].line)
    )
    result: list[bytes] = []
    done = 0
    for at, hunk in placed:
        if at < done:
            raise _MisfitError(f"two hunks of {file.path} change the same lines", line=hunk.line)
        result += lines[done:at] + hunk.new
        done = at + hunk.old_lines
        if hunk.new and hunk.new_no_newline and done < len(lines):
            raise _MisfitError(f"the last line by this hunk is not the last of {file.path}", line=hunk.line)
    return _complete(file, result + lines[done:])


def _complete(file: FilePatch, lines: list[bytes]) -> list[bytes]:
    if any(not line.endswith(b"\n") for line in lines[:-1]):
        raise _MisfitError(f"{file.path} has no newline at its end, and the patch adds lines after it")
    return lines


def _place(file: FilePatch, hunk: Hunk, lines: list[bytes]) -> int:
    """Index of the line where the hunk's old side begins."""
    old = hunk.old
    if not hunk.bare:
        stated = hunk.old_start - 1 if old else hunk.old_start
        if 0 <= stated <= len(lines) and lines[stated : stated + len(old)] == old:
            return stated
    if not old:
        return _place_nothing(file, hunk, lines)
    found = _occurrences(old, lines)
    if len(found) == 1:
        return found[0]
    raise _misplaced(file, hunk, lines, found)


def _place_nothing(file: FilePatch, hunk: Hunk, lines: list[bytes]) -> int:
    if hunk.bare and not lines:
        return 0
    reason = "a bare hunk needs a context or removed line" if hunk.bare else f"there is no line {hunk.old_start}"
    raise _MisfitError(f"this hunk has no place in {file.path}: {reason}", line=hunk.line)


def _occurrences(block: list[bytes], lines: list[bytes]) -> list[int]:
    size = len(block)
    return [at for at in range(len(lines) - size + 1) if lines[at] == block[0] and lines[at : at + size] == block]


def _misplaced(file: FilePatch, hunk: Hunk, lines: list[bytes], found: list[int]) -> _MisfitError:
    if found:
        where = ", ".join(str(at + 1) for at in found[:10])
        what = f"this hunk fits {file.path} in {len(found)} places: lines {where}"
        return _MisfitError(what, line=hunk.line, hint="add context lines until one place is left")
    done = hunk.new != hunk.old and bool(hunk.new) and bool(_occurrences(hunk.new, lines))
    hint = "the file has the lines after the change already" if done else _nearest_line(hunk.old, lines)
    return _MisfitError(f"this hunk fits {file.path} nowhere", line=hunk.line, hint=hint)


def _nearest_line(old: list[bytes], lines: list[bytes]) -> str:
    """Where the file comes closest: the first line of the hunk that it lacks, or that its lines stand apart."""
    missing = next((line for line in old if line not in lines), None)
    if missing is None:
        return "the file has each of its lines, but not together"
    return f"the file has no line {missing.decode('utf-8', 'replace').rstrip()!r}"


def _binary_after(file: FilePatch, before: bytes) -> bytes:
    if file.data is None:
        if file.status == "delete":
            return b""
        raise _MisfitError(f"{file.path} is binary and the patch holds no data", hint="use `git diff --binary`")
    if file.old is not None and file.old_blob and not _same_blob(before, file.old_blob):
        raise _MisfitError(f"{file.old} is not the binary file that the patch was made from")
    if file.data.kind == "literal":
        return file.data.data
    try:
        return apply_delta(file.data.data, before)
    except DeltaError as error:
        raise _MisfitError(f"the binary delta does not fit {file.path}: {error}") from error


def _same_blob(data: bytes, blob: str) -> bool:
    """True when git would name `data` so; ids longer than SHA-1's (another object format) are not checked."""
    name = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return len(blob) > len(name) or name.startswith(blob)
