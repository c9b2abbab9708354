"""One block of a run turn by turn, in short: the one that tells most, for a file that nothing else can be opened from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crucible.report.alignment import Alignment, Row, align
from crucible.report.moments import Moment, brings, call_line, first_edit
from crucible.report.overall import Overall
from crucible.report.went import went
from crucible.store.pairs import Pair, counted_pairs
from crucible.store.turns import Step, Turn, turns_of
from crucible.store.writes import Store
from crucible.web.pages.side_by_side import sentence
from crucible.web.turn_rows import at

LINE = 160
"""Characters of one call, and of the beginning of what was said."""
CALLS, BROUGHT = 4, 2
"""Calls of a turn that are shown, and lines of an edit."""
FOLDED = 3
"""So many turns of the same calls, or more, are one line."""
BEFORE = 6
"""Rows that are shown before the two part, where not all fit."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a line, the first lines that an edit brings and the other side's turn does not, and how it ended where
    that was not well."""

    line: str
    brings: tuple[str, ...] = ()
    ill: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one side did in a turn; `said` is the beginning of a turn without calls."""

    turn: int
    calls: tuple[Call, ...]
    more: int
    said: str


@dataclass(frozen=True, slots=True)
class Line:
    """Two turns beside each other, or `same`: so many turns of the same calls in a row, which are left out."""

    kind: str
    treatment: Cell | None = None
    baseline: Cell | None = None
    parts: bool = False
    same: int = 0


@dataclass(frozen=True, slots=True)
class Telling:
    """The block, why this one, where its two attempts part, what each edited first, and `lines` of which `left` are left out
    before and after."""

    pair: Pair
    why: str
    sentence: str
    edits: tuple[Moment, Moment]
    lines: tuple[Line, ...]
    left: tuple[int, int]


def telling(store: Store, run: Overall, rows: int) -> Telling | None:
    """At most so many rows of it; None where no block is complete, or nothing was recorded of its attempts."""
    chosen = _chosen(run, counted_pairs(store, run.run_id))
    if chosen is None or not rows:
        return None
    pair, why = chosen
    sides = turns_of(store, pair.treatment.attempt), turns_of(store, pair.baseline.attempt)
    if not any(sides):
        return None
    found = align(*sides)
    first = max(0, min((found.parted or 0) - BEFORE, len(found.rows) - rows))
    shown = found.rows[first : first + rows]
    return Telling(
        pair=pair,
        why=why,
        sentence=sentence(found, *sides),
        edits=(first_edit(sides[0]), first_edit(sides[1])),
        lines=tuple(_lines(found, shown, first, sides)),
        left=(first, len(found.rows) - first - len(shown)),
    )


def _chosen(run: Overall, pairs: Sequence[Pair]) -> tuple[Pair, str] | None:
    """The first block in which only the suite of the arm that leads is green, else of the other, else the first."""
    if not pairs:
        return None
    counts = Counter(pair.outcome for pair in pairs)
    leads, follows = ("treatment", "baseline")[:: -1 if (run.verdict.difference or 0) < 0 else 1]
    names = {"treatment": run.treatment, "baseline": run.baseline}
    for arm, other in ((leads, follows), (follows, leads)):
        if counts[arm]:
            first = next(pair for pair in pairs if pair.outcome == arm)
            return first, (
                f"Of {len(pairs)} complete blocks this is the first of {counts[arm]} in which only the suite of {names[arm]} "
                f"is green; it is only that of {names[other]} in {counts[other] or 'none'}."
            )
    return pairs[0], f"The first of {len(pairs)} complete blocks; in none of them do the suites of the two arms differ."


def _lines(
    found: Alignment, shown: Sequence[Row], first: int, sides: tuple[Sequence[Turn], Sequence[Turn]]
) -> Iterator[Line]:
    """The rows, with long stretches of the same calls drawn together."""
    equal: list[Line] = []
    for place, row in enumerate(shown, first):
        turns = [at(place_, side) for place_, side in zip((row.one, row.other), sides, strict=True)]
        line = Line(row.kind, _cell(*turns), _cell(*turns[::-1]), parts=place == found.parted)
        if row.kind == "equal":
            equal.append(line)
            continue
        yield from _together(equal)
        equal = []
        yield line
    yield from _together(equal)


def _together(equal: list[Line]) -> list[Line]:
    return equal if len(equal) < FOLDED else [Line("equal", equal[0].treatment, equal[0].baseline, same=len(equal))]


def _cell(turn: Turn | None, beside: Turn | None) -> Cell | None:
    if turn is None:
        return None
    calls = tuple(_call(step, beside) for step in turn.steps[:CALLS])
    return Cell(turn.number, calls, len(turn.steps) - len(calls), "" if calls else _short(turn.said))


def _call(step: Step, beside: Turn | None) -> Call:
    lines = brings(step, beside).splitlines()[:BROUGHT]
    return Call(_short(call_line(step)), tuple(map(_short, lines)), _ill(step))


def _ill(step: Step) -> str:
    """How a call ended that did not end well."""
    how = went(step, step.refused)
    return "" if how.kind == "ok" else _short(f"{how.sign} {how.words}")


def _short(text: str) -> str:
    line = " ".join(text[: 2 * LINE].split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}\N{HORIZONTAL ELLIPSIS}"
