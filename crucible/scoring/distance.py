"""Distances between token sequences, and what two edits of the same text have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Tokens = Sequence[str]

_SIGNS = frozenset("()[]{},.:;")
_MOST_CELLS = 1_000_000_000
"""Sequences whose lengths multiply to more are compared as bags: the exact distance would take minutes."""


def edit_distance(a: Tokens, b: Tokens) -> int:
    """Tokens to delete and insert to make `b` of `a`."""
    start, end = _common(a, b)
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    if not a or not b:
        return len(a) + len(b)
    if len(a) * len(b) > _MOST_CELLS:
        return bag_distance(a, b)
    from rapidfuzz.distance import Indel

    return int(Indel.distance(a, b))


def bag_distance(a: Tokens, b: Tokens) -> int:
    """Tokens to delete and insert when order does not matter."""
    count = Counter(a)
    count.subtract(b)
    return sum(map(abs, count.values()))


def word_distance(a: Tokens, b: Tokens) -> int:
    """Distance without regard to order, brackets and separators."""
    return bag_distance([token for token in a if token not in _SIGNS], [token for token in b if token not in _SIGNS])


def likeness(a: Tokens, b: Tokens) -> float:
    """How much of two sequences is the same, in [0, 1]."""
    return 1 - edit_distance(a, b) / ((len(a) + len(b)) or 1)


def edits_in_common(before: Tokens, one: Tokens, other: Tokens) -> float:
    """What share of two edits of `before` is the same, in [0, 1].

    With d the distance: 1 - d(one, other) / (d(before, one) + d(before, other)). It is 1 when both came out alike, 0
    when either left the text as it was, and 0 when they have nothing in common. Taken once over all tokens in their
    order and once over words and operators in any order, and averaged: the same fix in other words has some of the
    same words in another order, while brackets and commas are in common by chance.
    """
    start, end = map(min, zip(_common(before, one), _common(before, other), strict=True))
    before, one, other = (tokens[start : len(tokens) - end] for tokens in (before, one, other))
    shares = []
    for distance in (edit_distance, word_distance):
        whole = distance(before, one) + distance(before, other)
        if whole:
            shares.append(1 - distance(one, other) / whole)
    return max(0.0, sum(shares) / len(shares)) if shares else 0.0


def touched_lines(before: Tokens, lines: Sequence[int], after: Tokens) -> frozenset[int]:
    """Lines of the text before (`lines` has one for each token) that an edit changes, or between which it inserts."""
    start, end = _common(before, after)
    a, b = before[start : len(before) - end], after[start : len(after) - end]
    if len(a) * len(b) > _MOST_CELLS // 25:
        return frozenset(lines[start : len(before) - end])
    from rapidfuzz.distance import Indel

    touched: set[int] = set()
    for edit in Indel.editops(a, b):
        at = start + edit.src_pos
        touched.update(lines[at : at + 1] if edit.tag == "delete" else lines[max(at - 1, 0) : at + 1])
    return frozenset(touched)


def _common(a: Tokens, b: Tokens) -> tuple[int, int]:
    """Lengths of the common start and the common end of two sequences; they do not overlap."""
    most = min(len(a), len(b))
    start = next((at for at in range(most) if a[at] != b[at]), most)
    most -= start
    end = next((at for at in range(most) if a[-1 - at] != b[-1 - at]), most)
    return start, end
