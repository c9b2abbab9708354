"""How the two ends of the pipe talk: four bytes of length, then one JSON object in ASCII."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from typing import Any

    Frame = dict[str, Any]

HEADER_BYTES = 4
LARGEST = 256 * 1024 * 1024
"""Bytes of the largest frame either side accepts."""


def pack(frame: Frame) -> bytes:
    """One object as bytes. Undecodable path bytes travel as escaped surrogates."""
    body = json.dumps(frame).encode("ascii")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def length(header: bytes) -> int:
    """How long the body after a header is. Raises ValueError when longer than LARGEST."""
    size = int.from_bytes(header, "big")
    if size > LARGEST:
        raise ValueError(f"a frame of {size} bytes")
    return size


def unpack(body: bytes) -> Frame:
    """The object in a frame's body. Raises ValueError when it is not one."""
    frame = json.loads(body)
    if not isinstance(frame, dict):
        raise ValueError("a frame holds one object")  # noqa: TRY004 (one error type for every malformed frame)
    return frame
