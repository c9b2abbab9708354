"""From bytes to what is told: cut in bytes first, decode after, never through the middle of a character."""

from __future__ import annotations

import codecs

BINARY_BYTES = 8000
"""How far git looks for a NUL."""


def decode(data: bytes) -> str:
    """UTF-8 with replacement. NUL is replaced too: neither models nor databases take it."""
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def whole_characters(data: bytes) -> bytes:
    """`data` without a character that was cut in two at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    pending = decoder.getstate()[0]
    return data[: len(data) - len(pending)]


def from_whole_character(data: bytes) -> bytes:
    """`data` without the rest of a character that was cut in two at its start."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]


def is_binary(data: bytes) -> bool:
    """Whether bytes are not text, by git's rule: a NUL near the start."""
    return b"\0" in data[:BINARY_BYTES]


class Kept:
    """The head and the tail of an output, in at most `limit` bytes, and its true size."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def text(self) -> str:
        """What was kept, with a line that says how much was left out."""
        tail = bytes(self._tail[-self._half :])
        if len(self._head) + len(tail) == self.size:
            return decode(bytes(self._head) + tail)
        head, tail = whole_characters(bytes(self._head)), from_whole_character(tail)
        gap = self.size - len(head) - len(tail)
        return f"{decode(head)}\n[... {gap} of {self.size} bytes left out here ...]\n{decode(tail)}"
