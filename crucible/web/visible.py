"""Text of agents made fit to be shown: what would be invisible, or would act on the reader's screen, becomes a symbol.

Escape codes, control characters and marks that turn the direction of text round are shown as what they are. The result is
plain text, to be escaped like any other.
"""

from __future__ import annotations

import re

UNKNOWN = "\N{EN DASH}"
LONGEST_LINE = 2_000
"""Characters of one line that are shown."""
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with every character that acts instead of being read as a symbol; line ends and tabs are kept."""
    if text.isascii() and text.isprintable():
        return text
    return _ACTING.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else f"\N{LEFT ANGLE BRACKET}U+{code:04X}\N{RIGHT ANGLE BRACKET}"


def short_line(line: str, most: int = LONGEST_LINE) -> str:
    """A line cut where it gets unreadable, with how much more there is."""
    return line if len(line) <= most else f"{line[:most]} [... {len(line) - most:,} characters more]"


def short_lines(text: str, most: int, longest: int = LONGEST_LINE) -> tuple[list[str], int]:
    """The first lines of a text that are together at most `most` characters, each cut if long; and characters left out."""
    lines: list[str] = []
    shown = 0
    for line in text.split("\n"):
        if shown >= most:
            break
        lines.append(short_line(line, longest))
        shown += min(len(line), longest) + 1
    return lines, len(text) - max(0, shown - 1)
