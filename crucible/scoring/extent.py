"""Which files a comparison reads in full, so that a 78 MB lock file does not stop the scoring of a one-line fix.

The reference's own files are always read. Of the rest, when all together is more than the cap: files that are no
source are left out, and source files beyond the cap, the largest, are only measured by how many bytes differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crucible.scoring.languages import language_of

Files = Mapping[str, bytes | None]

MAX_TOKENS = 250_000
BYTES_PER_TOKEN = 4
"""Measured on source code of several languages, layout included; used where tokens are not counted."""


@dataclass(frozen=True, slots=True)
class Extent:
    """`read` are the paths compared token by token; `measured` and `left_out` have a size estimated in tokens."""

    read: tuple[str, ...]
    measured: Mapping[str, int]
    left_out: Mapping[str, int]


def extent_of(before: Files, candidate: Files, reference: Files) -> Extent:
    """Divide the touched paths under the cap."""
    own = sorted(path for path in candidate if path not in reference)
    cost = {path: _bytes(before, candidate, path) // BYTES_PER_TOKEN for path in own}
    always = sum(_bytes(before, candidate, path) + _bytes(before, reference, path) for path in reference)
    budget = MAX_TOKENS - always // BYTES_PER_TOKEN
    if sum(cost.values()) <= budget:
        return Extent(tuple(sorted({*candidate, *reference})), {}, {})
    read = set(reference)
    measured: dict[str, int] = {}
    left_out: dict[str, int] = {}
    for path in sorted(own, key=lambda path: (cost[path], path)):
        if language_of(path) is None:
            left_out[path] = _estimate(before.get(path), candidate[path])
        elif cost[path] <= budget:
            budget -= cost[path]
            read.add(path)
        else:
            measured[path] = _estimate(before.get(path), candidate[path])
    return Extent(tuple(sorted(read)), measured, left_out)


def _bytes(before: Files, after: Files, path: str) -> int:
    return len(before.get(path) or b"") + len(after.get(path) or b"")


def _estimate(before: bytes | None, after: bytes | None) -> int:
    """Size of a change in tokens, from the bytes between the common start and the common end."""
    a, b = before or b"", after or b""
    start = _common_start(a, b)
    end = _common_start(a[start:][::-1], b[start:][::-1])
    return (len(a) + len(b) - 2 * (start + end)) // BYTES_PER_TOKEN


def _common_start(a: bytes, b: bytes) -> int:
    """Length of the common start, by halving."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
