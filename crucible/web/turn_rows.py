"""Rows of two turns beside each other as a page shows them: each call with what differs, and the beginnings of its texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from crucible.agents.external.naming import as_builtin
from crucible.report.alignment import Alignment, Row
from crucible.report.commands import target
from crucible.report.edits import edit_of
from crucible.report.moments import brings, call_line, did
from crucible.report.went import went
from crucible.store.turns import Step, Turn, texts_of
from crucible.store.writes import Store

Data = dict[str, Any]
FOLDED = 3
"""So many equal rows in a row, or more, are folded into one line."""
MOST_STEPS, MOST_ARGUMENTS = 8, 6
SHOWN, BEFORE = 300, 60
"""Characters of one argument that are shown; of two that begin the same, so many before the first that differs."""


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
        "rewrites": row.kind == "apart" and _rewrites(*turns),
        "speaking": all(turn is not None and not turn.steps for turn in turns),
        "differs": place == found.first_difference and place != found.parted,
        "parts": place == found.parted,
        "sides": [
            None if turn is None else _turn(turn, turns[1 - side], row.kind, texts[side])
            for side, turn in enumerate(turns)
        ],
    }


def _rewrites(one: Turn | None, other: Turn | None) -> bool:
    """Whether the same calls on the same targets write something else."""
    return one is not None and other is not None and [_about(s) for s in one.steps] == [_about(s) for s in other.steps]


def _turn(turn: Turn, beside: Turn | None, kind: str, texts: Mapping[int, str]) -> Data:
    partners = beside.steps if beside and len(beside.steps) == len(turn.steps) else ()
    steps = [
        _step(step, _partner(step, partners[n : n + 1]), kind, texts) for n, step in enumerate(turn.steps[:MOST_STEPS])
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


def _partner(step: Step, beside: Sequence[Step]) -> Step | None:
    """The call it is held against, argument by argument: the one at its place, if it is about the same."""
    return next((other for other in beside if _about(other) == _about(step)), None)


def _about(step: Step) -> tuple[str, str]:
    name, arguments = as_builtin(step.tool, step.arguments or {})
    return name, target(name, arguments)


def _step(step: Step, beside: Step | None, kind: str, texts: Mapping[int, str]) -> Data:
    arguments = [] if kind == "equal" else list((step.arguments or {}).items())
    how = went(step, step.refused)
    return {
        "tool": step.tool,
        "line": "" if step.arguments is None else call_line(step)[len(step.tool) :].strip(),
        "ok": how.kind == "ok",
        "went": how.kind,
        "sign": how.sign,
        "status": how.words,
        "wrote": "" if beside or kind == "equal" or edit_of(step.tool, step.arguments) is None else brings(step),
        "size": step.size,
        "arguments": [_argument(name, value, beside) for name, value in arguments[:MOST_ARGUMENTS]],
        "more": max(0, len(arguments) - MOST_ARGUMENTS),
        "result": texts.get(step.seq, ""),
    }


def _argument(name: str, value: Any, beside: Step | None) -> Data:
    text, other = _text(value), _text((beside.arguments or {}).get(name)) if beside else None
    differs = other is not None and other != text
    start = max(0, _same(text, other) - BEFORE) if differs and other is not None else 0
    return {"name": name, "text": text[start : start + SHOWN], "from": start, "size": len(text), "differs": differs}


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _groups(rows: list[Data]) -> list[Data]:
    """The rows of a page, with long stretches of equal ones folded."""
    groups = []
    for equal, some in groupby(rows, lambda row: row["kind"] == "equal"):
        stretch = list(some)
        groups.append({"folded": equal and len(stretch) >= FOLDED, "rows": stretch})
    return groups
