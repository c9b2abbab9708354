"""How a value from a file is shown in a message: on one line, printable, and no longer than a reader needs."""

from __future__ import annotations

LONGEST = 100


def clip(text: str) -> str:
    """The text, or its beginning with `...` in place of the rest."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def shown(text: str) -> str:
    """The text in quotes, clipped, with everything unprintable escaped."""
    return repr(clip(text))
