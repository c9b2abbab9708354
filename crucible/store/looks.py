"""Looks at runs that may stop early: what they rest on, what was decided, in the order of their pairs.

A look is never remembered by a process: it follows from the attempts that are stored, and is itself stored once.
"continue" at the last pair of a plan is the end without a decision.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import col, select

from crucible.store.measures import RunMeasures
from crucible.store.queries import RunRecord
from crucible.store.tables import LookRow
from crucible.store.writes import Store


def complete_pairs(record: RunRecord | RunMeasures, scenario_hash: str) -> list[tuple[bool, bool]]:
    """(treatment passed, baseline passed) for block 1, 2, ... of a scenario, up to the first block that is not complete."""
    mine = sorted((a for a in record.attempts if a.scenario_hash == scenario_hash), key=lambda a: a.retry)
    standing = {(a.arm, a.block): a for a in mine}
    arms: dict[int, list[str]] = {}
    for slot in sorted((p for p in record.plan if p.scenario_hash == scenario_hash), key=lambda p: p.baseline):
        arms.setdefault(slot.block, []).append(slot.arm)
    pairs = []
    for block in sorted(arms):
        found = (standing.get((arm, block)) for arm in arms[block])
        passed = [bool(a.passed) for a in found if a is not None and a.counted]
        if len(passed) != 2:
            break
        pairs.append((passed[0], passed[1]))
    return pairs


def run_looks(store: Store, run_id: int) -> dict[str, list[LookRow]]:
    """The stored looks of a run by scenario hash, in order."""
    with store.reading() as session:
        query = select(LookRow).where(LookRow.run_id == run_id).order_by(col(LookRow.pairs))
        found: dict[str, list[LookRow]] = {}
        for row in session.exec(query).all():
            found.setdefault(row.scenario_hash, []).append(row)
        return found


def add_looks(store: Store, looks: Sequence[LookRow]) -> None:
    """Append looks; one that is stored already stays as it is."""
    with store.writing() as session:
        for look in looks:
            if session.get(LookRow, (look.run_id, look.scenario_hash, look.pairs)) is None:
                session.add(look)
