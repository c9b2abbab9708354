"""Two attempts held side by side, turn by turn: which turns did the same, and where the two part. Pure.

Turns pair up when they made the same calls, or nearly the same: the same tools on the same targets. The pairing is the
heaviest one that keeps both orders (Needleman and Wunsch 1970, without a price for gaps). Two that write something else to
the same place stand beside each other, and did different things.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal

from crucible.agents.external.naming import as_builtin
from crucible.report.commands import target
from crucible.report.edits import edit_of
from crucible.store.turns import Step, Turn

Kind = Literal["equal", "similar", "apart", "only"]
"""The same calls; the same tools on the same targets, with other details; different things at the same place, among them
what is written; one side only."""
MOST = 2_500
"""Turns of a side that are aligned in one table; longer attempts are aligned piece by piece, in the same proportion."""
_EQUAL, _SIMILAR = 5_000, 3_000
_FARTHEST = 999
"""Of turns that are alike those at about the same place pair up; from this distance on it is all the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """Two turns beside each other, by their places in the two lists; one is None where the other stands alone."""

    kind: Kind
    one: int | None
    other: int | None

    def mirrored(self) -> Row:
        """The same seen from the other side."""
        return Row(self.kind, self.other, self.one)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Every turn of both attempts exactly once, in order.

    `first_difference` is the place of the first row that is not equal, `parted` that of the first in which the two did
    different things; None when there is none.
    """

    rows: tuple[Row, ...]
    first_difference: int | None
    parted: int | None

    @property
    def counts(self) -> dict[Kind, int]:
        """Rows of each kind."""
        found = Counter(row.kind for row in self.rows)
        return {"equal": found["equal"], "similar": found["similar"], "apart": found["apart"], "only": found["only"]}


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a turn is compared by: the calls to the letter, the tools with their targets, and what is written."""

    exact: tuple[str, ...]
    near: tuple[str, ...]
    written: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How often a tool was called in each of two attempts."""

    tool: str
    one: int
    other: int


def align(one: Sequence[Turn], other: Sequence[Turn]) -> Alignment:
    """The turns of two attempts beside each other. Seen from the other side it is the same alignment, mirrored."""
    rows = tuple(_aligned([likeness(turn) for turn in one], [likeness(turn) for turn in other]))
    different = (place for place, row in enumerate(rows) if row.kind != "equal")
    apart = (place for place, row in enumerate(rows) if row.kind in ("apart", "only"))
    return Alignment(rows, next(different, None), next(apart, None))


def tool_use(one: Iterable[Turn], other: Iterable[Turn]) -> list[ToolUse]:
    """The tools of two attempts, those that were called most unlike first."""
    mine, theirs = (Counter(step.tool for turn in turns for step in turn.steps) for turns in (one, other))
    found = [ToolUse(tool, mine[tool], theirs[tool]) for tool in mine | theirs]
    return sorted(found, key=lambda use: (-abs(use.one - use.other), use.tool))


def likeness(turn: Turn) -> Likeness:
    """What this turn is compared by. A turn without calls is compared by what it said."""
    if not turn.steps:
        return Likeness(("", turn.said), ("",))
    calls = [as_builtin(step.tool, step.arguments or {}) for step in turn.steps]
    return Likeness(
        tuple(f"{name} {_digest(step)}" for step, (name, _) in zip(turn.steps, calls, strict=True)),
        tuple(f"{name} {target(name, arguments)}" for name, arguments in calls),
        tuple(edit.content if (edit := edit_of(step.tool, step.arguments)) else None for step in turn.steps),
    )


def _digest(step: Step) -> str:
    text = json.dumps(step.arguments, sort_keys=True, ensure_ascii=True, default=str)
    return sha256(text.encode()).hexdigest()[:16]


def _aligned(one: list[Likeness], other: list[Likeness]) -> list[Row]:
    # Of several pairings of the same weight the one that is found depends on which side comes first; so one order is fixed.
    if [turn.exact for turn in other] < [turn.exact for turn in one]:
        return [row.mirrored() for row in _aligned(other, one)]
    start = _same_start(one, other)
    end = min(_same_start(one[::-1], other[::-1]), len(one) - start, len(other) - start)
    here, there = len(one) - end, len(other) - end
    middle = _pieces(one[start:here], other[start:there])
    pairs = [
        *((place, place) for place in range(start)),
        *((a + start, b + start) for a, b in middle),
        *((here + place, there + place) for place in range(end)),
    ]
    return list(_rows(pairs, one, other))


def _same_start(one: Sequence[Likeness], other: Sequence[Likeness]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a.exact != b.exact), min(len(one), len(other)))


def _pieces(one: list[Likeness], other: list[Likeness]) -> list[tuple[int, int]]:
    number = max(1, -(-max(len(one), len(other)) // MOST))
    cuts = [(len(one) * n // number, len(other) * n // number) for n in range(number + 1)]
    return [
        (a + here, b + there)
        for (here, there), (here_end, there_end) in pairwise(cuts)
        for a, b in _pairs(one[here:here_end], other[there:there_end])
    ]


def _pairs(one: list[Likeness], other: list[Likeness]) -> list[tuple[int, int]]:
    """The heaviest pairing. A row of the table is one step of whole arrays: without a price for gaps the best so far only
    grows along it."""
    import numpy as np

    if not one or not other:
        return []
    theirs = _numbers(one, other)
    best = np.zeros((len(one) + 1, len(other) + 1), dtype=np.int32)
    weights = np.zeros((len(one), len(other)), dtype=np.int32)
    for kind, weight in (("near", _SIMILAR), ("exact", _EQUAL)):
        mine, yours = theirs[kind]
        weights[np.equal.outer(mine, yours)] = weight
    apart = np.abs(np.subtract.outer(np.arange(len(one)), np.arange(len(other))))
    weights -= np.where(weights, np.minimum(apart, _FARTHEST), 0).astype(np.int32)
    for a in range(len(one) - 1, -1, -1):
        row = np.maximum(best[a + 1, :-1], best[a + 1, 1:] + weights[a])
        best[a, :-1] = np.maximum.accumulate(row[::-1])[::-1]
    found, a, b = [], 0, 0
    while a < len(one) and b < len(other):
        weight = weights[a, b]
        if weight and best[a, b] == weight + best[a + 1, b + 1]:
            found.append((a, b))
            a, b = a + 1, b + 1
        elif best[a + 1, b] == best[a, b]:
            a += 1
        else:
            b += 1
    return found


def _numbers(one: list[Likeness], other: list[Likeness]) -> dict[str, tuple[Any, Any]]:
    """Every likeness as a number, so that whole rows are compared at once."""
    import numpy as np

    found = {}
    for kind in ("exact", "near"):
        known: dict[tuple[str, ...], int] = {}
        sides = [[known.setdefault(getattr(turn, kind), len(known)) for turn in turns] for turns in (one, other)]
        found[kind] = (np.array(sides[0], dtype=np.int32), np.array(sides[1], dtype=np.int32))
    return found


def _rows(pairs: list[tuple[int, int]], one: list[Likeness], other: list[Likeness]) -> Iterable[Row]:
    """The pairs, and between them what has no partner: side by side, so that what happened meanwhile is seen together."""
    at, there = 0, 0
    for a, b in [*pairs, (len(one), len(other))]:
        both = min(a - at, b - there)
        yield from (Row(_kind(one[at + n], other[there + n]), at + n, there + n) for n in range(both))
        yield from (Row("only", place, None) for place in range(at + both, a))
        yield from (Row("only", None, place) for place in range(there + both, b))
        if a < len(one) and b < len(other):
            yield Row(_kind(one[a], other[b]), a, b)
        at, there = a + 1, b + 1


def _kind(one: Likeness, other: Likeness) -> Kind:
    if one.exact == other.exact:
        return "equal"
    return "similar" if (one.near, one.written) == (other.near, other.written) else "apart"
