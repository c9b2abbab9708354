"""The two attempts of a side-by-side page themselves: whose they are, what came of each, and what is unlike about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucible.store.around import Around, around
from crucible.store.queries import AttemptRecord
from crucible.store.states import attempt_state, run_state
from crucible.store.tables import AttemptRow
from crucible.store.timeline import attempt_head
from crucible.store.turns import Turn, turns_of
from crucible.web.changes import diff_lines
from crucible.web.site import Data, NotFound, Site

FAILING = 4
"""Failing tests that are named; of more the number is said."""
LONGEST_NAME = 24
"""Characters of an arm's name in a table's head."""
CHANGE_LINES, CHANGE_WIDTH = 250, 300
"""Lines of a change that are shown, and characters of one."""


@dataclass(frozen=True, slots=True)
class Side:
    """An attempt without its transcript, its turns, and what is around it."""

    record: AttemptRecord
    turns: list[Turn]
    around: Around

    @property
    def attempt(self) -> AttemptRow:
        """Its row."""
        return self.record.attempt


def side_of(site: Site, number: int) -> Side:
    """Raises NotFound."""
    record = attempt_head(site.store, number)
    if record is None:
        raise NotFound(f"there is no attempt {number} in this store", hint="a run's comparison lists its attempts")
    return Side(record, turns_of(site.store, number), around(site.store, record.attempt))


def drawn_as_baseline(sides: Sequence[Side]) -> list[bool]:
    """Which side has the baseline's colour and shape. Of two arms of one role, and of one arm twice, the place decides."""
    roles = [side.attempt.baseline for side in sides]
    return roles if roles[0] != roles[1] else [False, True]


def side_data(side: Side, baseline: bool) -> Data:
    """An attempt as the head of its side shows it; `drawn` is the colour's class."""
    columns = (
        *("id", "run_id", "scenario", "arm", "block", "model", "baseline", "rehearsal", "ending", "cause", "detail"),
        *("counted", "passed", "turns", "tool_calls", "tokens", "seconds", "cost_usd"),
    )
    total = side.record.total
    return {
        **{name: getattr(side.attempt, name) for name in columns},
        "aligned": len(side.turns),
        "state": attempt_state(side.attempt.ending, run_state(side.around.status, side.around.owner)),
        "score": None if total is None else total.value,
        "drawn_as_baseline": baseline,
        "drawn": "arm-b" if baseline else "arm-t",
        "suite": _suite(side.record),
    }


def _suite(record: AttemptRecord) -> Data | None:
    """What the suite said of its result in the end."""
    report = record.report
    if report is None:
        return None
    failing = sorted({*report.failed, *report.missing})
    return {
        "state": report.state,
        "detail": report.detail,
        "tests": len({*report.passed, *failing}),
        "failing": failing[:FAILING],
        "more": max(0, len(failing) - FAILING),
    }


def changes_of(sides: Sequence[Side]) -> Data:
    """What each changed in the end, as far as a page shows it, and whether it is the same to the letter."""
    diffs = [side.attempt.diff for side in sides]
    return {
        "same": bool(diffs[0]) and diffs[0] == diffs[1],
        "sides": [None if text is None else diff_lines(text, CHANGE_LINES, CHANGE_WIDTH) for text in diffs],
    }


def difference_of(sides: Sequence[Side], drawn: Sequence[bool]) -> Data:
    """Which side is taken from which, and what to call it: treatment minus baseline where the arms differ, else B minus A."""
    arms = [side.attempt.arm for side in sides]
    first = 0 if drawn[1] and arms[0] != arms[1] else 1
    names = arms if arms[0] != arms[1] else ["A", "B"]
    both = [_short(names[first]), _short(names[1 - first])]
    return {"from": first, "name": " \N{MINUS SIGN} ".join(both)}


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def unlike(one: Side, other: Side) -> list[str]:
    """What a reader must know before anything is compared."""
    mine, theirs = one.attempt, other.attempt
    said = []
    if mine.id == theirs.id:
        said.append("This is one attempt beside itself.")
    if mine.scenario != theirs.scenario:
        said.append(
            f"Two different scenarios: A is {mine.scenario}, B is {theirs.scenario}. They were asked different things."
        )
    elif mine.scenario_hash != theirs.scenario_hash:
        said.append("Two versions of the scenario: its text, fixture or reference changed between them.")
    return said + [line for name, side in (("A", one), ("B", other)) if (line := _not_over(name, side))]


def _not_over(name: str, side: Side) -> str | None:
    attempt = side.attempt
    if attempt.ending is None:
        state = attempt_state(None, run_state(side.around.status, side.around.owner))
        return f"{name} is {state}. What is shown is what is stored so far."
    return None if attempt.counted else f"{name} does not count ({attempt.cause}): {attempt.ending}."
