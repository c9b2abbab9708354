"""A diff as lines to be shown, and where in it something is quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crucible.web.visible import LONGEST_LINE, short_line

MOST_LINES = 1_500
Kind = Literal["file", "at", "add", "cut", "same"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("+++ ", "file"), ("--- ", "file"), ("diff ", "file"), ("@@", "at"), ("+", "add"), ("-", "cut"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line with its sign, and what it is."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """The first lines of a diff; `more` are left out. `added` and `removed` are counts over all of it."""

    lines: tuple[DiffLine, ...]
    more: int
    added: int
    removed: int


def diff_lines(text: str, most: int = MOST_LINES, longest: int = LONGEST_LINE) -> Diff:
    """A unified diff, as far as a page shows it: `most` lines of `longest` characters. A removed line that looks like a
    header (`--- `) is told by its place."""
    found, in_hunk, counts = [], False, {"add": 0, "cut": 0}
    raw = text.rstrip("\n").split("\n") if text else []
    for n, line in enumerate(raw):
        header = line.startswith("diff ") or _is_header(raw[n : n + 3])
        in_hunk = not header and (in_hunk or line.startswith("@@"))
        kind = _kind(line, in_hunk)
        if kind in counts:
            counts[kind] += 1
        if n < most:
            found.append(DiffLine(kind, short_line(line, longest)))
    return Diff(tuple(found), max(0, len(raw) - most), counts["add"], counts["cut"])


def _is_header(lines: Sequence[str]) -> bool:
    """Whether a file begins here: `--- `, `+++ ` and a hunk. A removed and an added line can look like the first two."""
    return len(lines) == 3 and all(map(str.startswith, lines, ("--- ", "+++ ", "@@")))


def _kind(line: str, in_hunk: bool) -> Kind:
    known = _KINDS[3:] if in_hunk else _KINDS[:4]
    return next((kind for start, kind in known if line.startswith(start)), "same")


def quoted_at(quote: str, lines: Sequence[DiffLine]) -> int | None:
    """The first line that holds the first line of a quotation, spaces aside; None when none does."""
    wanted = _bare(next((line for line in quote.splitlines() if line.strip()), ""))
    if not wanted:
        return None
    held = ((n, _bare(line.text.lstrip("+-"))) for n, line in enumerate(lines) if line.kind in ("add", "cut", "same"))
    return next((n for n, text in held if wanted.lstrip("+- ") in text), None)


def _bare(text: str) -> str:
    return " ".join(text.split())
