"""Small readers of single JSON values. What is not of the form expected is None, never a guess."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralTokens
from crucible.transcript.readers.scan import read_json

_TEXT_PARTS = ("text", "output_text", "input_text")


def text(value: Any) -> str | None:
    """A string."""
    return value if isinstance(value, str) else None


def count(value: Any) -> int | None:
    """A whole number from zero; digits in a string too, as OTLP writes 64-bit numbers."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: Any) -> float | None:
    """A finite number from zero: US dollars, or a time."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return value if good and math.isfinite(value) and value >= 0 else None
    except OverflowError:
        return None


def seconds(milliseconds: Any) -> float | None:
    """A time in seconds from one in milliseconds."""
    time = amount(milliseconds)
    return None if time is None else time / 1000


def mapping(value: Any) -> dict[str, Any]:
    """An object; what is none is an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of an array; what is no array has none."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def strings(value: Any) -> list[str]:
    """The strings of an array; what is no array has none."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def content(value: Any) -> Any:
    """What a tool answered: the text of text parts, one after another on lines; anything else as it is."""
    parts = list(objects(value))
    texts = strings([part.get("text") for part in parts if part.get("type") in _TEXT_PARTS])
    return "\n".join(texts) if isinstance(value, list) and len(texts) == len(value) else value


def said(value: Any) -> str | None:
    """The text in the content of a message: itself, or its text parts; None when it has none."""
    if not isinstance(value, list):
        return text(value)
    parts = [part.get("text") for part in objects(value) if part.get("type") in _TEXT_PARTS]
    texts = strings(parts)
    return "".join(texts) if texts else None


def arguments(value: Any) -> tuple[Arguments, str | None]:
    """Arguments as sent, an object or its JSON text, with the text where it is no object.

    Empty text is an empty object: that is how models call a tool that takes none.
    """
    if isinstance(value, dict):
        return value, None
    if not isinstance(value, str):
        return None, json.dumps(value)
    try:
        parsed = read_json(value) if value.strip() else {}
    except ValueError:
        return None, value
    return (parsed, None) if isinstance(parsed, dict) else (None, value)


def given(source: dict[str, Any], key: str) -> tuple[Arguments, str | None]:
    """The arguments under a key; UNKNOWN where the key is missing."""
    return arguments(source[key]) if key in source else (UNKNOWN, None)


def tokens(usage: Any, **names: str) -> NeutralTokens | None:
    """Counts from a usage object by its own names for them; None when it has none of them."""
    counts = {ours: count(mapping(usage).get(theirs)) for ours, theirs in names.items()}
    return NeutralTokens(**counts) if any(n is not None for n in counts.values()) else None
