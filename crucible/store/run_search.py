"""Finding runs by what people type: part of a scenario's or an arm's name, `7`, `run 7`, or an attempt as `#5`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col, select

from crucible.store.tables import AttemptRow, PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store

_NUMBERED = re.compile(r"(?:(?P<run>run)|(?P<attempt>attempt|#|attempt\s*#))?\s*(?P<number>[0-9]{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AttemptFound:
    """An attempt that was asked for by its number."""

    attempt: int
    run: int
    scenario: str
    arm: str
    block: int


def runs_like(text: str) -> ColumnElement[bool]:
    """Which runs are meant: `run 7` is one and `attempt 5` that of the attempt; else the number, or names that hold it."""
    said = _NUMBERED.fullmatch(text)
    if said and said["attempt"]:
        return col(RunRow.id).in_(select(AttemptRow.run_id).where(AttemptRow.id == int(said["number"])))
    numbered = [col(RunRow.id) == int(said["number"])] if said else []
    if said and said["run"]:
        return numbered[0]
    named = (col(one).icontains(text, autoescape=True) for one in (ScenarioRow.name, PlannedRow.arm))
    return or_(*numbered, col(RunRow.id).in_(runs_with(or_(*named))))


def runs_with(condition: ColumnElement[bool]) -> Any:
    """A query for the numbers of runs that have such a scenario or planned attempt."""
    joined = select(PlannedRow.run_id).join(ScenarioRow, col(ScenarioRow.hash) == col(PlannedRow.scenario_hash))
    return joined.where(condition)


def attempt_like(store: Store, text: str) -> AttemptFound | None:
    """The attempt of this number, unless `run` stands before it; None when there is none."""
    said = _NUMBERED.fullmatch(text)
    if said is None or said["run"]:
        return None
    with store.reading() as session:
        found = session.get(AttemptRow, int(said["number"]))
        return None if found is None else AttemptFound(
            int(said["number"]), found.run_id, found.scenario, found.arm, found.block
        )  # fmt: skip
