"""Bytes that an agent printed, as the JSON values in them.

Whole documents, one value a line, and values printed over several lines are all found, with log lines in between.
A line is read at most twice, so the time is linear in the size, and never more than one value is held.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any

LINE_CAP = 16 * 1024 * 1024
"""Bytes of the longest single line that is read."""

DOCUMENT_CAP = 64 * 1024 * 1024
"""Bytes of the longest value over several lines that is read."""

DEPTH_CAP = 128
"""Deepest nesting of a value that is read."""

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
_EVENT_KEY = re.compile(rb'[{,]\s*"(?:type|kind)"\s*:')
_HEX = "[0-9a-fA-F]"
_SURROGATES = re.compile(
    rf"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|(\\u[dD][89a-fA-F]{_HEX}{{2}}))"
)


class Scan:
    """The JSON values in some bytes, in order; may be gone through more than once.

    `skipped` counts the lines of the last pass that were no JSON. `damage` says what was wrong with the first line that
    could have been an event and could not be read; None when there was none.
    """

    def __init__(self, data: bytes) -> None:
        self.data = _as_utf8(data)
        self.skipped = 0
        self.damage: str | None = None
        self._whole = _document(self.data)

    def __iter__(self) -> Iterator[Any]:
        """Every object and array, as they come."""
        self.skipped, self.damage = 0, None
        if self._whole is not None:
            yield self._whole
            return
        block: list[bytes] = []
        size = 0
        for number, line in enumerate(_lines(self.data), 1):
            if block and not _is_event(line):
                block.append(line)
                size += len(line)
                if line[:1] in (b"}", b"]") or size > DOCUMENT_CAP:
                    yield from self._block(block, number)
                    block, size = [], 0
                continue
            if block:
                # An opening bracket of some log, never closed: the events after it count.
                yield from self._block(block, number - 1)
                block, size = [], 0
            if line.strip() in (b"{", b"["):
                block = [line]
            else:
                yield from self._line(line, number)
        if block:
            yield from self._block(block, number)

    def events(self) -> Iterator[dict[str, Any]]:
        """Every object, and the objects of every array."""
        for value in self:
            for event in value if isinstance(value, list) else (value,):
                if isinstance(event, dict):
                    yield event

    def _line(self, line: bytes, number: int) -> Iterator[Any]:
        if len(line) > LINE_CAP:
            self._skip(f"line {number} has {len(line)} bytes, more than {LINE_CAP}", line[:1] in (b"{", b"["))
            return
        rest = _ANSI.sub(b"", line).strip() if b"\x1b" in line else line.strip()
        if not rest:
            return
        text, at = rest.decode("utf-8", "replace"), 0
        while text[at : at + 1] in ("{", "["):
            try:
                value, at = _decode(text, at)
            except ValueError as error:
                self._skip(f"line {number} is a damaged event: {error}", _EVENT_KEY.search(rest) is not None)
                return
            yield value
        if at < len(text):
            left = rest if at == 0 else text[at:].encode("utf-8", "replace")
            self._skip(f"line {number} holds an event that cannot be read", _EVENT_KEY.search(left) is not None)

    def _block(self, block: list[bytes], last: int) -> Iterator[Any]:
        first = last - len(block) + 1
        try:
            yield read_json(b"\n".join(block).decode("utf-8", "replace"), _LENIENT)
        except ValueError as error:
            eventful = any(_EVENT_KEY.search(b"{" + line) for line in block)
            self._skip(f"lines {first} to {last} are a damaged event: {error}", eventful, len(block))

    def _skip(self, what: str, eventful: bool, lines: int = 1) -> None:
        self.skipped += lines
        if eventful and self.damage is None:
            self.damage = what


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


# NaN and infinities are no JSON and must reach no store: they are kept as the words they were written as.
_LENIENT = json.JSONDecoder(strict=False, parse_constant=str, parse_float=_finite)
_STRICT = json.JSONDecoder(parse_constant=str, parse_float=_finite)


def read_json(text: str, decoder: json.JSONDecoder = _STRICT) -> Any:
    """The one JSON value a text is; ValueError when it is none. Control characters in strings are refused."""
    value, end = _decode(text, len(text) - len(text.lstrip()), decoder)
    if end < len(text):
        raise ValueError("more than one value")
    return value


def _decode(text: str, at: int, decoder: json.JSONDecoder = _LENIENT) -> tuple[Any, int]:
    """The value that starts there, and where the next one may start."""
    try:
        value, end = decoder.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if text.count("[", at, end) + text.count("{", at, end) > DEPTH_CAP and _too_deep(value):
        raise ValueError(f"nested more than {DEPTH_CAP} deep")
    if text.find("\\ud", at, end) >= 0 or text.find("\\uD", at, end) >= 0:
        # Half a surrogate pair cannot be written as UTF-8, so it could not be stored or shown.
        value = decoder.decode(_SURROGATES.sub(lambda m: f"{m[1]}\\ufffd" if m[2] else m[0], text[at:end]))
    while text[end : end + 1].isspace():
        end += 1
    return value, end


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_CAP):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _document(data: bytes) -> Any:
    """The one object or array all of the data is, or None."""
    body = data.strip()
    if body[:1] not in (b"{", b"[") or body[-1:] not in (b"}", b"]") or len(body) > DOCUMENT_CAP:
        return None
    if b"\n" not in body and len(body) > LINE_CAP:
        return None
    try:
        text = body.decode("utf-8", "replace")
        value, end = _decode(text, 0)
    except ValueError:
        return None
    return value if end == len(text) else None


def _as_utf8(data: bytes) -> bytes:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield data[start:end].rstrip(b"\r")
        start = end + 1


def _is_event(line: bytes) -> bool:
    """A value of its own at the start of a line, as no pretty printer writes inside another value."""
    return line[:2] == b'{"' and line.rstrip()[-1:] == b"}"
