"""REFERENCE_FIX.md: the intended fix, read from its marked diff and applied to the fixture in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crucible.errors import PatchError
from crucible.scenario.patch import Patch, apply_patch, parse_patch, patched_modes
from crucible.scenario.patch_apply import Read
from crucible.scenario.patch_block import find_block

MIN_LEAK_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Reference:
    """The intended fix of a scenario.

    `text` is the diff as written, decoded with replacement. `before` and `after` hold the bytes of every path it
    touches, None where there is no file; `modes` the git modes it sets. `added_lines` are its new lines worth
    searching for in a workspace that must not show them: stripped, at least 8 characters, and not lines that the
    files held before.
    """

    file: str
    patch: Patch
    text: str
    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes | None]
    modes: Mapping[str, int]
    added_lines: tuple[str, ...]


def load_reference(markdown_path: Path, read: Read) -> Reference:
    """The reference in a markdown file, applied to the fixture.

    `read` gives the bytes of a fixture's file, None where there is none. Raises PatchError, with the line in the
    markdown file, when the file cannot be read, has no single marker and diff, when the diff cannot be read or does
    not fit the fixture, and when it changes nothing.
    """
    file = str(markdown_path)
    block = find_block(_read_file(markdown_path), file)
    patch = parse_patch(block.data, file=file, first_line=block.first_line)
    after = apply_patch(patch, read)
    before = {path: read(path) for path in after}
    modes = patched_modes(patch)
    if before == after and not modes:
        raise PatchError("the reference changes nothing", file=file, line=block.first_line)
    text = block.data.decode("utf-8", "replace")
    return Reference(file, patch, text, before, after, modes, _added_lines(patch, before))


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PatchError(f"cannot be read: {error.strerror}", file=path, hint="see `reference_fix`") from error


def _added_lines(patch: Patch, before: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """New lines in order, each once. A line that was in the files already gives nothing away."""
    known = {line.strip() for data in before.values() for line in (data or b"").split(b"\n")}
    added = (line[1:].strip() for file in patch.files for hunk in file.hunks for line in hunk.lines if line[:1] == b"+")
    texts = (line.decode("utf-8", "replace") for line in added if line not in known)
    return tuple(dict.fromkeys(text for text in texts if len(text) >= MIN_LEAK_CHARACTERS))
