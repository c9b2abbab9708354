"""When two JSON values are the same, and how one is shown.

Equality is typed: `true` is not 1, `"1"` is not 1, null is not an absent key. JSON has one kind of number, so 1 and 1.0
are the same; integers of any size are compared exactly. The order of keys does not matter, the order of a list does.
Strings are compared code point by code point. NaN, which JSON does not have but Python reads, is the same as itself.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

from crucible.transcript.neutral import UNKNOWN


class _Mark(Enum):
    """What stands in a frozen value for something that no string or number can be mistaken for."""

    OBJECT = "object"
    ARRAY = "array"
    TRUE = "true"
    FALSE = "false"
    NAN = "nan"


_PLAIN = frozenset({str, int, type(None)})
LONGEST = 60
"""Characters of a value that are shown before it is cut."""


def frozen(value: Any) -> Hashable:
    """A hashable stand-in: two JSON values are the same exactly when their stand-ins are equal.

    What is no JSON value stands for itself and has to be hashable.
    """
    if not isinstance(value, dict) and isinstance(value, Mapping):
        value = dict(value)
    if isinstance(value, dict) and (_PLAIN.issuperset(map(type, value.values())) or _is_flat(value)):
        return frozenset(value.items())  # most arguments are flat, and this costs next to nothing
    return _flattened(value)


def _is_flat(value: dict[str, Any]) -> bool:
    """Whether Python's equality is JSON's for an object: no objects within, no lists, no booleans, no NaN."""
    return all(
        part is None or (isinstance(part, str | int | float) and _scalar(part) is part) for part in value.values()
    )


def _flattened(value: Any) -> Hashable:
    """The parts of a value in one fixed order, without recursion: JSON may be nested deeper than Python's stack."""
    parts: list[Hashable] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str) or part is None:
            parts.append(part)
        elif isinstance(part, Mapping):
            keys = sorted(part)
            parts += (_Mark.OBJECT, len(keys), *keys)
            waiting.extend(part[key] for key in reversed(keys))
        elif isinstance(part, list | tuple):
            parts += (_Mark.ARRAY, len(part))
            waiting.extend(reversed(part))
        else:
            parts.append(_scalar(part))
    return tuple(parts)


def _scalar(value: Any) -> Hashable:
    if value is True or value is False:  # Python counts them as 1 and 0
        return _Mark.TRUE if value else _Mark.FALSE
    if isinstance(value, float) and value != value:  # only NaN differs from itself
        return _Mark.NAN
    return value  # type: ignore[no-any-return]  # whatever it is, a set will say when it cannot be hashed


def json_equal(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same, types included."""
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return frozen(a) == frozen(b)


def show(value: Any) -> str:
    """A value as JSON on one line, the middle cut out of a long one."""
    if value is UNKNOWN:
        return "unknown"
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (RecursionError, ValueError, TypeError):
        text = f"<{type(value).__name__} that is no JSON>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]} … {text[-16:]}"
