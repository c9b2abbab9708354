"""Two attempts side by side, turn by turn: what came of both, where they part, and what differs row by row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from crucible.report.alignment import Alignment, Row, align, tool_use
from crucible.report.moments import Moment, did, different_edits, first_edit, first_green, moment_at
from crucible.scenario.load import parse_stored
from crucible.store.around import blocks_beside
from crucible.store.turns import Turn
from crucible.web.sides import Side, changes_of, difference_of, drawn_as_baseline, side_data, side_of, unlike
from crucible.web.site import Ask, Data, Site
from crucible.web.turn_rows import at, rows_of

ROWS_A_PAGE = 60
MAP_PARTS = 240
"""Most parts of the drawing of the whole alignment."""
SAME, TOGETHER = "they are the same to the end", "they do not part"
ALONE = "does nothing beside the other's turn"
NO_EDIT = "makes no edit that the other does not"
WHY = {
    "First difference": "the first turn whose calls are not the same to the letter",
    "They part": "the first turn of other tools, or of the same tools on something else or writing something else",
    "First different edit": "the first edit of each that the other never makes",
    "First edit": "the first call that succeeded and is known to write a file",
    "First green": "its first test run that passed after one had failed",
}
_WORST = {"equal": 0, "similar": 1, "only": 2, "apart": 3}


def side_by_side_page(site: Site, ask: Ask) -> Data:
    """`/compare/A/B?page=N`: two attempts by their numbers."""
    numbers = [ask.number(name, "attempt") for name in ("one", "other")]
    sides = [side_of(site, number) for number in numbers]
    turns = [side.turns for side in sides]
    found = align(*turns)
    pages = max(1, -(-len(found.rows) // ROWS_A_PAGE))
    page = ask.count("page", 1, pages)
    first = (page - 1) * ROWS_A_PAGE
    before, after = blocks_beside(site.store, *(side.attempt for side in sides))
    return {
        **_heads(sides),
        "sentence": sentence(found, *turns),
        "counts": {**found.counts, "rows": len(found.rows)},
        "only": [sum(row.kind == "only" and row.other is None for row in found.rows),
                 sum(row.kind == "only" and row.one is None for row in found.rows)],
        "moments": _moments(found, sides),
        "tools": (tools := tool_use(*turns)),
        "most_calls": max((max(use.one, use.other) for use in tools), default=1),
        "map": _map(found.rows),
        "groups": rows_of(site.store, numbers, turns, found, first, ROWS_A_PAGE),
        "previous_block": before,
        "next_block": after,
        "page": page,
        "pages": pages,
        "first": first,
        "rows_a_page": ROWS_A_PAGE,
    }  # fmt: skip


def _heads(sides: Sequence[Side]) -> Data:
    drawn = drawn_as_baseline(sides)
    return {
        "sides": [side_data(side, baseline) for side, baseline in zip(sides, drawn, strict=True)],
        "unlike": unlike(*sides),
        "changes": changes_of(sides),
        "minus": difference_of(sides, drawn),
    }


def sentence(found: Alignment, one: Sequence[Turn], other: Sequence[Turn]) -> str:
    """Where the two part, in words."""
    if not one or not other:
        return "There is nothing to align: " + (
            "neither has a turn." if not one and not other else f"{'A' if not one else 'B'} has no turn."
        )
    if found.parted is None:
        same = "made the same calls from beginning to end"
        if found.first_difference is None:
            return f"They {same}."
        return f"They {same}, with other details from {_where(found.rows[found.first_difference], one, other)} on."
    row = found.rows[found.parted]
    kept = found.parted
    before = "from the first turn on" if not kept else f"after {kept} turn{'' if kept == 1 else 's'} of the same calls"
    return f"They part {before}: {_deeds(at(row.one, one), at(row.other, other))}."


def _deeds(mine: Turn | None, theirs: Turn | None) -> str:
    if mine is not None and theirs is not None and did(mine) == did(theirs):
        turns = f"at turn {mine.number} of A and turn {theirs.number} of B"
        return f"{turns} both {did(mine)}, but what they write there is not the same"
    return f"{_does('A', mine)}; {_does('B', theirs)}"


def _where(row: Row, one: Sequence[Turn], other: Sequence[Turn]) -> str:
    mine, theirs = at(row.one, one), at(row.other, other)
    return f"turn {mine.number if mine else '-'} of A and turn {theirs.number if theirs else '-'} of B"


def _does(name: str, turn: Turn | None) -> str:
    return f"{name} does nothing like it" if turn is None else f"{name} at turn {turn.number}: {did(turn)}"


def _moments(found: Alignment, sides: Sequence[Side]) -> list[Data]:
    """The five moments of both, each with the place of its row. `same_as` names an earlier one that is the same turns."""
    turns = [side.turns for side in sides]
    never = SAME if found.first_difference is None else TOGETHER
    named = {
        "First difference": [_in_row(found, found.first_difference, side, turns, SAME) for side in (0, 1)],
        "They part": [_in_row(found, found.parted, side, turns, never) for side in (0, 1)],
        "First different edit": different_edits(turns[0], turns[1], SAME if never == SAME else NO_EDIT),
        "First edit": [first_edit(one) for one in turns],
        "First green": [first_green(side.turns, _test_command(side)) for side in sides],
    }
    return [
        {
            "name": name,
            "why": WHY[name],
            "same_as": next((earlier for earlier in list(named)[:n] if _alike(named[earlier], two)), None),
            "sides": [_linked(m, side, turns[side], found.rows) for side, m in enumerate(two)],
        }
        for n, (name, two) in enumerate(named.items())
    ]


def _alike(earlier: Sequence[Moment], later: Sequence[Moment]) -> bool:
    """Whether two moments would be the same row of a table."""
    mine, theirs = ([(m.turn, m.what, m.why_not) for m in two] for two in (earlier, later))
    return mine == theirs


def _in_row(found: Alignment, place: int | None, side: int, turns: Sequence[Sequence[Turn]], never: str) -> Moment:
    """What one side did in a row."""
    if place is None:
        return moment_at(turns[side], None, never)
    return moment_at(turns[side], (found.rows[place].one, found.rows[place].other)[side], ALONE)


def _linked(moment: Moment, side: int, turns: Sequence[Turn], rows: Sequence[Row]) -> Data:
    place = next((n for n, turn in enumerate(turns) if turn.number == moment.turn), None)
    row = None if place is None else next(n for n, one in enumerate(rows) if (one.one, one.other)[side] == place)
    return {"moment": moment, "row": row, "page": None if row is None else row // ROWS_A_PAGE + 1}


def _test_command(side: Side) -> str:
    return parse_stored(side.record.scenario.text).test_command


def _map(rows: Sequence[Row]) -> list[Data]:
    """The whole alignment as stretches of one kind, drawn small; of many rows drawn as one the least alike counts. `side`
    is whose turns stand alone: 0 or 1, None where they are of both or of neither."""
    width = max(1, -(-len(rows) // MAP_PARTS))
    bins = [max(map(_drawn, rows[n : n + width]), key=lambda one: _WORST[one[0]]) for n in range(0, len(rows), width)]
    parts, at = [], 0
    for (kind, side), same in groupby(bins):
        length = len(list(same))
        parts.append({"kind": kind, "side": side, "at": at / len(bins), "length": length / len(bins)})
        at += length
    return parts


def _drawn(row: Row) -> tuple[str, int | None]:
    return row.kind, None if row.kind != "only" else int(row.one is None)
