"""Server-sent events out of bytes, however they are cut up; the bytes of each are kept to be passed on as they came."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `data` is its JSON object, None when it has none; `done`: it is OpenAI's mark of the end."""

    raw: bytes
    data: dict[str, Any] | None = None
    done: bool = False


class Events:
    """Cuts a stream into events."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that are whole with this chunk."""
        self._held += chunk
        while found := _END.search(self._held, self._searched):
            raw = bytes(self._held[: found.end()])
            del self._held[: found.end()]
            self._searched = 0
            yield _event(raw)
        # An end may be cut in two by a chunk.
        self._searched = max(0, len(self._held) - 3)

    def rest(self) -> Event:
        """What was left when the stream ended; some servers leave out the last empty line."""
        raw = bytes(self._held)
        self._held.clear()
        return _event(raw)


def _event(raw: bytes) -> Event:
    lines = (line for line in _LINE.split(raw) if line.startswith(b"data:"))
    text = b"\n".join(line[5:].removeprefix(b" ") for line in lines)
    if text.strip() == b"[DONE]":
        return Event(raw, done=True)
    return Event(raw, parse_object(text))


def parse_object(text: bytes) -> dict[str, Any] | None:
    """The JSON object that the text is; None when it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # also UnicodeDecodeError; and JSON nested deeper than can be read
        return None
    return data if isinstance(data, dict) else None


def parse_list(text: bytes) -> list[dict[str, Any]]:
    """The JSON objects in the list that the text is, as Gemini streams without server-sent events; empty when it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
