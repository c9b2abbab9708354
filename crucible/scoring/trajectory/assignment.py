"""Which calls go with which, on rows of bits: `rows[i]` has bit `j` set when actual call i fits expected call j.

Nothing here knows what a call is. All of it runs without recursion, so the number of calls is not limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_


def maximum_matching(rows: Sequence[int]) -> dict[int, int]:
    """As many pairs (actual, expected) as can be had at once, each call in one pair at most.

    Berge: a matching is maximum when no path leads from a free actual call over pairs in turn broken and made to a free
    expected one. Each actual call is taken in order and given such a path, the shortest, so the result is fixed by the
    input. Actual calls that were paired stay paired.
    """
    owner: dict[int, int] = {}
    taken = 0
    fitting = reduce(or_, rows, 0)
    for actual, row in enumerate(rows):
        if taken == fitting:  # nothing is left to be paired
            break
        free = row & ~taken
        if free:  # the usual case, and a path of length one
            end: int | None = _lowest(free)
            owner[_lowest(free)] = actual
        else:
            end = _augment(actual, rows, owner, taken)
        taken |= 0 if end is None else 1 << end
    return {actual: expected for expected, actual in owner.items()}


def _augment(start: int, rows: Sequence[int], owner: dict[int, int], taken: int) -> int | None:
    """Pair `start` by moving others to other partners; the newly taken expected call, None when it cannot be done."""
    reached_from: dict[int, int] = {}
    seen = 0
    waiting = deque([start])
    while waiting:
        actual = waiting.popleft()
        fresh = rows[actual] & ~seen
        seen |= fresh
        for expected in bits(fresh):
            reached_from[expected] = actual
            if not taken >> expected & 1:
                _rewire(expected, start, reached_from, owner)
                return expected
            waiting.append(owner[expected])
    return None


def _rewire(end: int, start: int, reached_from: dict[int, int], owner: dict[int, int]) -> None:
    held = {actual: expected for expected, actual in owner.items()}
    expected = end
    while True:
        actual = reached_from[expected]
        owner[expected] = actual
        if actual == start:
            return
        expected = held[actual]


def longest_common(rows: Sequence[int], width: int) -> int:
    """How many pairs can be had when they must be in the same order on both sides (longest common subsequence).

    Bit-parallel (Hyyrö 2004): one addition per actual call for all expected ones together.
    """
    every = (1 << width) - 1
    state = every
    for row in rows:
        hit = state & row
        state = ((state + hit) | (state - hit)) & every
    return width - state.bit_count()


def in_order(rows: Sequence[int], width: int) -> dict[int, int]:
    """Pairs found by taking for each expected call in turn the first fitting actual one after the last taken.

    All expected calls are paired exactly when they can be: taking the first never costs a later one.
    """
    pairs: dict[int, int] = {}
    at = 0
    for actual, row in enumerate(rows):
        if at < width and row >> at & 1:
            pairs[actual] = at
            at += 1
    return pairs


def bits(row: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    while row:
        yield _lowest(row)
        row &= row - 1


def _lowest(row: int) -> int:
    return (row & -row).bit_length() - 1
