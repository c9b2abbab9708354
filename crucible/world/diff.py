"""A change as people read it: a unified diff in git's form, made by us from bytes, decoded at the very end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from crucible.world.tree import EXECUTABLE_MODE, FILE_MODE, LINK_MODE, to_bytes
from crucible.world.types import Change, FileChange, FileState

CONTEXT = 3
"""Unchanged lines shown around a change."""
EXACT_PAIRS, MOST_PAIRS = 50_000, 500_000
"""Pairs of equal lines up to which lines are compared all, and without those that are everywhere. It takes time in
proportion; above it one block replaces another."""
_BINARY_BYTES = 8000
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}

Block = tuple[int, int, int, int]
"""Lines [a, b) of the one file that became lines [c, d) of the other."""


@dataclass(frozen=True, slots=True)
class DiffText:
    """A diff for people. `true_size` is its full length in bytes; `cut` says that whole lines at its end are missing.

    `coarse` names the files shown in larger blocks than need be: comparing all lines would take too long.
    """

    text: str
    true_size: int
    cut: bool
    coarse: tuple[str, ...] = ()


def render_diff(change: Change, *, cap: int = 256 * 1024) -> DiffText:
    """The diff of a change, at most `cap` bytes of it."""
    kept, size, coarse = bytearray(), 0, []
    for file in change.files:
        section, is_coarse = _section(file)
        size += len(section)
        if len(kept) <= cap:  # one byte more than the cap is enough to know that it was cut
            kept += section[: cap + 1 - len(kept)]
        if is_coarse:
            coarse.append(file.path)
    cut = size > cap
    data = bytes(kept[: kept.rfind(b"\n", 0, cap) + 1]) if cut else bytes(kept)
    return DiffText(data.decode("utf-8", "replace"), size, cut, tuple(coarse))


def diff_bytes(change: Change) -> bytes:
    """The whole diff as bytes: what `git apply` takes, but for files that are not text."""
    return b"".join(_section(file)[0] for file in change.files)


def _section(file: FileChange) -> tuple[bytes, bool]:
    before, after = file.before, file.after
    if before is not None and after is not None and before.kind != after.kind:
        # as git does: a file that became a link is one removed and another added
        removed, added = FileChange(file.path, "delete", before, None), FileChange(file.path, "add", None, after)
        parts = [_section(removed), _section(added)]
        return b"".join(text for text, _ in parts), any(coarse for _, coarse in parts)
    body, is_coarse = _body(file)
    return b"".join([*_header(file), body]), is_coarse


def _header(file: FileChange) -> Iterator[bytes]:
    old, new = _names(file)
    yield b"diff --git " + quoted(old) + b" " + quoted(new) + b"\n"
    before, after = file.before, file.after
    if before is None and after is not None:
        yield b"new file mode %o\n" % _mode(after)
    elif after is None and before is not None:
        yield b"deleted file mode %o\n" % _mode(before)
    elif before is not None and after is not None and _mode(before) != _mode(after):
        yield b"old mode %o\nnew mode %o\n" % (_mode(before), _mode(after))
    if file.old_path is not None:
        names = (quoted(to_bytes(file.old_path)), quoted(to_bytes(file.path)))
        yield b"similarity index 100%%\nrename from %s\nrename to %s\n" % names


def _names(file: FileChange) -> tuple[bytes, bytes]:
    return b"a/" + to_bytes(file.old_path or file.path), b"b/" + to_bytes(file.path)


def _mode(state: FileState) -> int:
    if state.kind == "symlink":
        return LINK_MODE
    return EXECUTABLE_MODE if state.mode & 0o100 else FILE_MODE


def _body(file: FileChange) -> tuple[bytes, bool]:
    """Hunks, or the line that stands for them, and whether they are coarse."""
    before, after = file.before, file.after
    if before is not None and after is not None and before.sha256 == after.sha256:
        return b"", False
    old, new = (None if s is None else s.data for s in (before, after))
    sides = _sides(file)
    if (before and old is None) or (after and new is None) or _is_binary(old or b"") or _is_binary(new or b""):
        return b"Binary files %s and %s differ\n" % sides, False
    hunks, is_coarse = unified(old or b"", new or b"")
    if not hunks:
        return b"", False
    return b"--- %s\n+++ %s\n%s" % (*map(_tabbed, sides), hunks), is_coarse


def _sides(file: FileChange) -> tuple[bytes, bytes]:
    old, new = map(quoted, _names(file))
    return old if file.before else b"/dev/null", new if file.after else b"/dev/null"


def _tabbed(name: bytes) -> bytes:
    """A name with a space is followed by a tab, which tells other tools where it ends."""
    return name + b"\t" if b" " in name else name


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:_BINARY_BYTES]


def quoted(name: bytes) -> bytes:
    """A name as git writes it: in C quotes when it holds quotes, backslashes, control or non-ASCII bytes."""
    if re.search(rb'[\x00-\x1f\x7f-\xff"\\]', name) is None:
        return name
    return b'"' + b"".join(_ESCAPES.get(c) or (bytes([c]) if 32 <= c < 127 else b"\\%03o" % c) for c in name) + b'"'


def unified(old: bytes, new: bytes) -> tuple[bytes, bool]:
    """Hunks that turn the lines of `old` into those of `new`, and whether they are one block for another."""
    a, b = _lines(old), _lines(new)
    blocks, is_coarse = _blocks(a, b)
    return b"".join(_hunk(a, b, group) for group in _grouped(blocks)), is_coarse


def _lines(data: bytes) -> list[bytes]:
    """Lines with their LF; CR is a byte like any other."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _blocks(a: list[bytes], b: list[bytes]) -> tuple[list[Block], bool]:
    """What differs, in order. Equal lines at both ends are set aside first: most changes are small."""
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
    x, y = a[head : len(a) - tail], b[head : len(b) - tail]
    if not x and not y:
        return [], False
    is_coarse = _pairs(x, y) > EXACT_PAIRS
    if is_coarse and _pairs(x, y, most_often=max(len(y) // 100 + 1, 1)) > MOST_PAIRS:
        return [(head, head + len(x), head, head + len(y))], True
    opcodes = SequenceMatcher(None, x, y, autojunk=is_coarse).get_opcodes()
    return [(head + i, head + j, head + k, head + m) for tag, i, j, k, m in opcodes if tag != "equal"], is_coarse


def _pairs(a: list[bytes], b: list[bytes], most_often: int | None = None) -> int:
    """How many pairs of equal lines there are, of lines that `b` has at most so often."""
    counts = Counter(b)
    return sum(n for line in a if (n := counts[line]) <= (most_often or n))


def _grouped(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks whose contexts touch, together."""
    group: list[Block] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(a: list[bytes], b: list[bytes], group: list[Block]) -> bytes:
    before = min(CONTEXT, group[0][0])
    after = min(CONTEXT, len(a) - group[-1][1])
    start, end = group[0][0] - before, group[-1][1] + after
    new_start, new_end = group[0][2] - before, group[-1][3] + after
    out = [b"@@ -%s +%s @@\n" % (_range(start, end), _range(new_start, new_end))]
    at = start
    for i, j, k, m in group:
        out += _marked(b" ", a[at:i])
        out += _marked(b"-", a[i:j])
        out += _marked(b"+", b[k:m])
        at = j
    out += _marked(b" ", a[at:end])
    return b"".join(out)


def _range(start: int, end: int) -> bytes:
    """Lines from 1; an empty range names the line before it."""
    if end - start == 1:
        return b"%d" % end
    return b"%d,%d" % (start if start == end else start + 1, end - start)


def _marked(mark: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield _NO_NEWLINE
