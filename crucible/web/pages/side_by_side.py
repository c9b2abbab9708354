"""Two attempts side by side, turn by turn: where they part, what each did first, and what differs row by row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from crucible.report.alignment import Alignment, Row, align, tool_use
from crucible.report.moments import Moment, did, first_edit, first_green, moment_at
from crucible.scenario.load import parse_stored
from crucible.store.tables import AttemptRow, ScenarioRow
from crucible.store.turns import Turn, attempt_head, turns_of
from crucible.web.site import Ask, Data, NotFound, Site
from crucible.web.turn_rows import at, rows_of

ROWS_A_PAGE = 60
MAP_PARTS = 240
"""Most parts of the drawing of the whole alignment."""
SAME, TOGETHER = "they are the same to the end", "they do not part"
ALONE = "does nothing beside the other's turn"
WHY = {
    "First difference": "the first turn whose calls are not the same to the letter",
    "They part": "the first turn in which they use other tools, or the same tools on something else",
    "First edit": "the first call that succeeded and is known to write a file",
    "First green": "the first test run of its own that passed after one had failed",
}
Head = tuple[AttemptRow, ScenarioRow]
_WORST = {"equal": 0, "similar": 1, "only": 2, "apart": 3}


def side_by_side_page(site: Site, ask: Ask) -> Data:
    """`/compare/A/B?page=N`: two attempts by their numbers."""
    numbers = [ask.number(name, "attempt") for name in ("one", "other")]
    heads = [_head(site, number) for number in numbers]
    sides = [turns_of(site.store, number) for number in numbers]
    found = align(*sides)
    pages = max(1, -(-len(found.rows) // ROWS_A_PAGE))
    page = ask.count("page", 1, pages)
    first = (page - 1) * ROWS_A_PAGE
    return {
        "sides": [_side(attempt, turns) for (attempt, _), turns in zip(heads, sides, strict=True)],
        "unlike": _unlike(heads[0][0], heads[1][0]),
        "sentence": sentence(found, *sides),
        "counts": {**found.counts, "rows": len(found.rows)},
        "only": [sum(row.kind == "only" and row.other is None for row in found.rows),
                 sum(row.kind == "only" and row.one is None for row in found.rows)],
        "moments": _moments(found, heads, sides),
        "tools": (tools := tool_use(*sides)),
        "most_calls": max((max(use.one, use.other) for use in tools), default=1),
        "map": _map(found.rows),
        "groups": rows_of(site.store, numbers, sides, found, first, ROWS_A_PAGE),
        "page": page,
        "pages": pages,
        "first": first,
        "rows_a_page": ROWS_A_PAGE,
    }  # fmt: skip


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
    mine, theirs = at(row.one, one), at(row.other, other)
    return f"They part {before}: {_does('A', mine)}; {_does('B', theirs)}."


def _where(row: Row, one: Sequence[Turn], other: Sequence[Turn]) -> str:
    mine, theirs = at(row.one, one), at(row.other, other)
    return f"turn {mine.number if mine else '-'} of A and turn {theirs.number if theirs else '-'} of B"


def _does(name: str, turn: Turn | None) -> str:
    return f"{name} does nothing like it" if turn is None else f"{name} at turn {turn.number}: {did(turn)}"


def _head(site: Site, number: int) -> Head:
    found = attempt_head(site.store, number)
    if found is None:
        raise NotFound(f"there is no attempt {number} in this store", hint="a run's comparison lists its attempts")
    return found


def _side(attempt: AttemptRow, turns: Sequence[Turn]) -> Data:
    columns = (
        *("id", "run_id", "scenario", "arm", "block", "model", "baseline", "rehearsal", "ending", "cause", "detail"),
        *("counted", "passed", "turns", "tool_calls", "tokens", "seconds", "cost_usd"),
    )
    return {**{name: getattr(attempt, name) for name in columns}, "aligned": len(turns)}


def _unlike(one: AttemptRow, other: AttemptRow) -> list[str]:
    """What a reader must know before anything is compared."""
    said = []
    if one.id == other.id:
        said.append("This is one attempt beside itself.")
    if one.scenario != other.scenario:
        said.append(
            f"Two different scenarios: A is {one.scenario}, B is {other.scenario}. They were asked different things."
        )
    elif one.scenario_hash != other.scenario_hash:
        said.append("Two versions of the scenario: its text, fixture or reference changed between them.")
    if one.ending is None or other.ending is None:
        running = [name for name, attempt in (("A", one), ("B", other)) if attempt.ending is None]
        said.append(f"Still running: {' and '.join(running)}. What is shown is what is stored so far.")
    said += [
        f"{name} does not count ({attempt.cause}): {attempt.ending}."
        for name, attempt in (("A", one), ("B", other))
        if attempt.ending is not None and not attempt.counted
    ]
    return said


def _moments(found: Alignment, heads: Sequence[Head], sides: Sequence[list[Turn]]) -> list[Data]:
    """The four moments of both, each with the place of its row."""
    both = [(side, turns, _test_command(heads[side][1])) for side, turns in enumerate(sides)]
    named = {
        "First difference": [_in_row(found, found.first_difference, side, turns, SAME) for side, turns, _ in both],
        "They part": [_in_row(found, found.parted, side, turns, TOGETHER) for side, turns, _ in both],
        "First edit": [first_edit(turns) for _, turns, _ in both],
        "First green": [first_green(turns, command) for _, turns, command in both],
    }
    return [
        {
            "name": name,
            "why": WHY[name],
            "sides": [_linked(m, side, sides[side], found.rows) for side, m in enumerate(two)],
        }
        for name, two in named.items()
    ]


def _in_row(found: Alignment, place: int | None, side: int, turns: Sequence[Turn], never: str) -> Moment:
    """What one side did in a row."""
    if place is None:
        return moment_at(turns, None, never)
    return moment_at(turns, (found.rows[place].one, found.rows[place].other)[side], ALONE)


def _linked(moment: Moment, side: int, turns: Sequence[Turn], rows: Sequence[Row]) -> Data:
    place = next((n for n, turn in enumerate(turns) if turn.number == moment.turn), None)
    row = None if place is None else next(n for n, one in enumerate(rows) if (one.one, one.other)[side] == place)
    return {"moment": moment, "row": row, "page": None if row is None else row // ROWS_A_PAGE + 1}


def _test_command(scenario: ScenarioRow) -> str:
    return parse_stored(scenario.text).test_command


def _map(rows: Sequence[Row]) -> list[Data]:
    """The whole alignment as stretches of one kind, drawn small; of many rows drawn as one the least alike counts."""
    width = max(1, -(-len(rows) // MAP_PARTS))
    bins = [max((row.kind for row in rows[n : n + width]), key=_WORST.__getitem__) for n in range(0, len(rows), width)]
    parts, at = [], 0
    for kind, same in groupby(bins):
        length = len(list(same))
        parts.append({"kind": kind, "at": at / len(bins), "length": length / len(bins)})
        at += length
    return parts
