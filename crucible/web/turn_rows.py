"""Rows of two turns beside each other as a page shows them: each call with what differs, and the beginnings of its texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from crucible.report.alignment import Alignment, Row
from crucible.report.attempt import status_of
from crucible.report.moments import call_line, did
from crucible.store.turns import Step, Turn, texts_of
from crucible.store.writes import Store

Data = dict[str, Any]
FOLDED = 3
"""So many equal rows in a row, or more, are folded into one line."""
MOST_STEPS, MOST_ARGUMENTS = 8, 6
SHOWN = 300
"""Characters of one argument that are shown."""


def rows_of(
    store: Store, attempts: Sequence[int], sides: Sequence[Sequence[Turn]], found: Alignment, first: int, most: int
) -> list[Data]:
    """Some rows of an alignment from `first` on, long stretches of equal ones together."""
    shown = found.rows[first : first + most]
    texts = [_texts(store, attempts[side], turns, shown, side) for side, turns in enumerate(sides)]
    return _groups([_row(row, first + n, sides, texts, found) for n, row in enumerate(shown)])


def _texts(store: Store, number: int, turns: Sequence[Turn], rows: Sequence[Row], side: int) -> dict[int, str]:
    """The beginnings of the results of the calls on this page, of rows that are not equal."""
    places = [(row.one, row.other)[side] for row in rows if row.kind != "equal"]
    seqs = [step.seq for place in places if place is not None for step in turns[place].steps[:MOST_STEPS]]
    return texts_of(store, number, seqs)


def at(place: int | None, turns: Sequence[Turn]) -> Turn | None:
    """The turn at a place; None where there is none."""
    return None if place is None else turns[place]


def _row(
    row: Row, place: int, sides: Sequence[Sequence[Turn]], texts: Sequence[Mapping[int, str]], found: Alignment
) -> Data:
    turns = [at(row.one, sides[0]), at(row.other, sides[1])]
    return {
        "place": place,
        "kind": row.kind,
        "speaking": all(turn is not None and not turn.steps for turn in turns),
        "differs": place == found.first_difference and place != found.parted,
        "parts": place == found.parted,
        "sides": [
            None if turn is None else _turn(turn, turns[1 - side], row.kind, texts[side])
            for side, turn in enumerate(turns)
        ],
    }


def _turn(turn: Turn, beside: Turn | None, kind: str, texts: Mapping[int, str]) -> Data:
    partners = beside.steps if beside and len(beside.steps) == len(turn.steps) else ()
    steps = [
        _step(step, partners[n] if partners and kind == "similar" else None, kind, texts)
        for n, step in enumerate(turn.steps[:MOST_STEPS])
    ]
    return {
        "number": turn.number,
        "at": turn.at,
        "tokens": turn.tokens,
        "said": turn.said,
        "said_size": turn.said_size,
        "line": did(turn),
        "steps": steps,
        "more": len(turn.steps) - len(steps),
    }


def _step(step: Step, beside: Step | None, kind: str, texts: Mapping[int, str]) -> Data:
    theirs = beside.arguments or {} if beside else {}
    arguments = [] if kind == "equal" else list((step.arguments or {}).items())
    return {
        "tool": step.tool,
        "line": call_line(step)[len(step.tool) :].strip(),
        "ok": step.ok and not step.exit_code,
        "status": status(step),
        "size": step.size,
        "arguments": [
            {**_argument(name, value), "differs": beside is not None and theirs.get(name) != value}
            for name, value in arguments[:MOST_ARGUMENTS]
        ],
        "more": max(0, len(arguments) - MOST_ARGUMENTS),
        "result": texts.get(step.seq, ""),
    }


def _argument(name: str, value: Any) -> Data:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"name": name, "text": text[:SHOWN], "size": len(text)}


def status(step: Step) -> str:
    """How a call ended, in words."""
    if step.refused:
        return f"refused by {step.refused}"
    return status_of(step)


def _groups(rows: list[Data]) -> list[Data]:
    """The rows of a page, with long stretches of equal ones folded."""
    groups = []
    for equal, some in groupby(rows, lambda row: row["kind"] == "equal"):
        stretch = list(some)
        groups.append({"folded": equal and len(stretch) >= FOLDED, "rows": stretch})
    return groups
