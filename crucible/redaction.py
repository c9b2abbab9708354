"""Keys are never written: the values this process must not repeat, and texts without them.

What the store, the log and an agent are given passes here. It is the last wall, not the first: a sandbox never gets a key
to begin with, but a provider may quote one in an error, and where there is no sandbox the environment of other
processes can be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

MARK = "[a key was here]"
LEAST = 8
"""Shorter values are no keys, and would be found in any text."""
_LEAST_PLAIN, _LEAST_FOUND = 12, 16
_SECRET_NAME = re.compile(
    r"API_?KEY|ACCESS_KEY|(AUTH|ACCESS|API|AD|AI|HF|BOT|HUB|GITLAB)_?TOKEN|SECRET|PASSW(OR)?D", re.IGNORECASE
)
_guarded: set[str] = set()


def guard(values: Iterable[str | None]) -> None:
    """Never repeat these values again in this process. A word such as `loopback`, in place of a key, is not one."""
    _guarded.update(value for value in values if value and _is_key(value))


def guard_environment(names: Iterable[str] = (), environment: Mapping[str, str] = os.environ) -> None:
    """Guard the named variables, and every variable whose name says that it holds a secret."""
    guard(environment.get(name) for name in names)
    guard(v for name, v in environment.items() if len(v) >= _LEAST_FOUND and _SECRET_NAME.search(name))


def redact(text: str) -> str:
    """The text with every guarded value replaced by a mark."""
    # The longest first: one key may begin with another.
    for value in sorted((v for v in _guarded if v in text), key=len, reverse=True):
        text = text.replace(value, MARK)
    return text


def redact_bytes(data: bytes) -> bytes:
    """The same for bytes."""
    for value in sorted((v.encode() for v in _guarded if v.encode() in data), key=len, reverse=True):
        data = data.replace(value, MARK.encode())
    return data


def _is_key(value: str) -> bool:
    return len(value) >= (LEAST if any(char.isdigit() for char in value) else _LEAST_PLAIN)
