"""Replacing text in bytes: matched on a view with LF endings, spliced into the bytes as they are."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest file that is edited or overwritten, and that an edit makes."""


class EditError(ValueError):
    """The text to replace is not there, or not only once."""


def is_crlf(data: bytes) -> bool:
    """Whether every line of a file that has lines ends with CRLF."""
    return b"\n" in data and data.count(b"\n") == data.count(b"\r\n")


def replace(data: bytes, old: bytes, new: bytes, *, everywhere: bool = False) -> tuple[bytes, int]:
    """`data` with `old` replaced, and how often. Line endings outside what differs are left alone.

    Raises EditError when `old` is empty, equals `new`, does not occur, or occurs more than once unless `everywhere`.
    """
    view, old, new = _lf(data), _lf(old), _lf(new)
    if not old:
        raise EditError("`old` is empty; use write_file for a new file")
    if old == new:
        raise EditError("`old` and `new` are the same; nothing would change")
    first = view.find(old)
    if first < 0:
        raise EditError("`old` does not occur in the file; it must match exactly, white space too")
    count = view.count(old)
    if not everywhere and view.find(old, first + 1) >= 0:
        raise EditError(f"`old` occurs {max(count, 2)} times; give more context, or all=true to replace every one")
    if len(data) + count * (len(new) - len(old)) > LARGEST:
        raise EditError(f"the file would be larger than {LARGEST} bytes; use bash")
    return _replaced(data, view, old, new), count


def _replaced(data: bytes, view: bytes, old: bytes, new: bytes) -> bytes:
    """By the whole file where it has one line ending, which is quick; else place by place."""
    if b"\r\n" not in data:
        return view.replace(old, new)
    if is_crlf(data):
        return view.replace(old, new).replace(b"\n", b"\r\n")
    return _splice(data, _occurrences(view, old), old, new)


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _occurrences(view: bytes, old: bytes) -> Iterator[int]:
    at = view.find(old)
    while at >= 0:
        yield at
        at = view.find(old, at + len(old))


def _splice(data: bytes, found: Iterable[int], old: bytes, new: bytes) -> bytes:
    head, tail = _common(old, new)
    removed = _carriage_returns(data)
    out, done = bytearray(), 0
    for at in found:
        start, end = (_in_data(removed, i) for i in (at + head, at + len(old) - tail))
        out += data[done:start]
        out += new[head : len(new) - tail].replace(b"\n", _ending(data, start))
        done = end
    return bytes(out + data[done:])


def _common(old: bytes, new: bytes) -> tuple[int, int]:
    """Lengths of what `old` and `new` share at the start and, beyond that, at the end."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)
    return head, tail


def _carriage_returns(data: bytes) -> array[int]:
    """Where, in the view, the LF of each CRLF stands."""
    places = array("Q")  # an eighth of what a list would take, of a file of nothing but line ends
    at = data.find(b"\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = data.find(b"\r\n", at + 2)
    return places


def _in_data(removed: array[int], at: int) -> int:
    """A place between bytes of the view as a place in the data; before an LF is before its CRLF."""
    return at + bisect_left(removed, at)


def _ending(data: bytes, start: int) -> bytes:
    """The line ending in force at a place: its own line's, else the one before it, else LF."""
    at = data.find(b"\n", start)
    if at < 0:
        at = data.rfind(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"
