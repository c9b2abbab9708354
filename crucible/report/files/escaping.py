"""Text in Markdown that means only itself, whoever wrote it: it formats nothing, links nowhere and calls nobody.

Sites look for names, numbers of issues and addresses in what is shown, where a backslash is long gone; a zero-width space
keeps them apart. It stands only where something would be called: `pass@2` calls nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_MEANS_SOMETHING = re.compile(r"[\\`*_{}\[\]#|~!$&]|<(?=[A-Za-z/!?])")
_BEGINS_SOMETHING = re.compile(r"(\d{0,9})(>|[-+.)](?= |$)|[-=](?=[-= ]*$))")
_REACHES_OUT = re.compile(
    r"(?<![A-Za-z0-9])@(?=\w)"  # a name, for no letter stands before it
    r"|@(?=[\w-]*[.@]\w)"  # an address of mail
    r"|#(?=\d)|\bgh-(?=\d)"  # an issue
    r"|:(?=//)|\bwww(?=\.)",  # an address
    re.IGNORECASE,
)
_APART = "\N{ZERO WIDTH SPACE}"
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, marks that turn the direction of text round, halves of characters."""


def escaped(text: str, most: int | None = None) -> str:
    """The text as a paragraph of one line, cut after `most` characters."""
    line = _inert(text, most)
    # A sign that would make the line a quotation, an item of a list, a rule, or the line above it a heading.
    begins = _BEGINS_SOMETHING.match(line)
    return line if begins is None else f"{begins[1]}\\{line[begins.start(2) :]}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int | None = None) -> Iterator[str]:
    """A table, line by line; every cell is cut after `most` characters."""
    yield _row(_inert(cell, most) for cell in head)
    yield _row("---" for _ in head)
    yield from (_row(_inert(cell, most) for cell in row) for row in rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell or ' ' for cell in cells)} |"


def _inert(text: str, most: int | None) -> str:
    line = _ACTS.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))
    if most is not None and len(line) > most:
        line = f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    apart = _REACHES_OUT.sub(lambda found: found.group() + _APART, line)
    return _MEANS_SOMETHING.sub(lambda found: f"\\{found.group()}", apart)
