"""Binary changes as `git diff --binary` writes them: base85 of zlib of the bytes, or of a delta to the old ones."""

from __future__ import annotations

import re
import zlib
from base64 import b85decode
from typing import cast

from crucible.scenario.patch_lines import LineReader
from crucible.scenario.patch_types import BinaryData, PatchKind

MAX_BYTES = 64 * 1024 * 1024
_BLOCK = re.compile(rb"(literal|delta) (\d{1,9})$")


class DeltaError(ValueError):
    """A delta that does not fit the bytes it is applied to."""


def read_binary(reader: LineReader) -> BinaryData:
    """The forward block after `GIT binary patch`; the block that would undo it is checked and left out."""
    reader.take()
    forward = _read_block(reader)
    if reader.starts(b"literal ", b"delta "):
        _read_block(reader)
    return forward


def _read_block(reader: LineReader) -> BinaryData:
    line = reader.line
    match = _BLOCK.match(reader.peek() or b"")
    if match is None:
        raise reader.error("binary data begins with `literal SIZE` or `delta SIZE`")
    reader.take()
    size = int(match.group(2))
    packed = bytearray()
    while reader.peek():
        packed += _decode_line(reader)
    if reader.peek() == b"":
        reader.take()
    data = None if size > MAX_BYTES else _inflate(bytes(packed), size)
    if data is None:
        raise reader.error(f"the binary data is not the {size} bytes its header says", line=line)
    return BinaryData(cast("PatchKind", match.group(1).decode()), data)


def _decode_line(reader: LineReader) -> bytes:
    """One line: a letter for the number of bytes (A-Z 1 to 26, a-z 27 to 52), then base85."""
    text = reader.peek() or b""
    letter = text[:1]
    size = ord(letter) - (64 if letter.isupper() else 70) if letter.isalpha() else 0
    try:
        data = b85decode(text[1:])
    except ValueError:
        data = b""
    if not 0 < size <= len(data) < size + 4:
        raise reader.error("this line is no base85 of a binary patch")
    reader.take()
    return data[:size]


def _inflate(packed: bytes, size: int) -> bytes | None:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error:
        return None
    return data if len(data) == size else None


def apply_delta(delta: bytes, old: bytes) -> bytes:
    """The bytes that a git delta makes of `old`: copies out of it and bytes of its own. Raises DeltaError."""
    old_size, at = _varint(delta, 0)
    new_size, at = _varint(delta, at)
    if old_size != len(old):
        raise DeltaError(f"made for {old_size} bytes, the file has {len(old)}")
    new = bytearray()
    while at < len(delta):
        piece, at = _instruction(delta, at, old)
        new += piece
    if len(new) != new_size:
        raise DeltaError(f"makes {len(new)} bytes, not {new_size}")
    return bytes(new)


def _instruction(delta: bytes, at: int, old: bytes) -> tuple[bytes, int]:
    code, at = delta[at], at + 1
    if not code & 0x80:
        return delta[at : at + code], at + code
    numbers = [0, 0]
    for bit in range(7):
        if code & (1 << bit):
            which, shift = (0, bit) if bit < 4 else (1, bit - 4)
            numbers[which] |= (delta[at] if at < len(delta) else 0) << (8 * shift)
            at += 1
    start, size = numbers[0], numbers[1] or 0x10000
    return old[start : start + size], at


def _varint(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(delta):
        byte, at = delta[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return value, at
