"""Identifiers in texts and arguments: `T-481`, `PROJ_12`, `#77`, `INV2024`. Bare numbers are none: they count things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

_ID = re.compile(r"(?<![\w#-])(?:#\d+|[A-Za-z][A-Za-z0-9]*[-_#]\d+|[A-Z]{1,6}\d{2,})(?![\w]|-\w)")
LONGEST = 4000
"""Characters of a text whose identifiers are remembered."""


@lru_cache(maxsize=4096)
def _remembered(text: str) -> tuple[str, ...]:
    """The mutants of a run hold the same texts hundreds of times."""
    return tuple(_ID.findall(text))


def identifiers(value: Any) -> dict[str, None]:
    """The identifiers in a JSON value, in order and each once. Keys of objects are not looked at."""
    found: dict[str, None] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found |= dict.fromkeys(_remembered(part) if len(part) <= LONGEST else _ID.findall(part))
        elif isinstance(part, Mapping):
            waiting.extend(reversed(list(part.values())))
        elif isinstance(part, list | tuple):
            waiting.extend(reversed(part))
    return found


def positions(text: str) -> list[tuple[int, str]]:
    """Where the identifiers of a text begin, and what they are."""
    return [(match.start(), match.group()) for match in _ID.finditer(text)]


def blanked(text: str) -> str:
    """The text with blanks in place of its identifiers, so that no part of one is taken for a word."""
    return _ID.sub(lambda match: " " * len(match.group()), text)


def kind(identifier: str) -> str:
    """What identifiers of one sort have in common: everything but the digits. `T-481` and `T-502` are of one kind."""
    return re.sub(r"\d+", "0", identifier)


def kinds(identifiers: Iterable[str]) -> set[str]:
    """The kinds of several identifiers."""
    return {kind(identifier) for identifier in identifiers}
