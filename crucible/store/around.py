"""What is around an attempt: those made before and after it, the other arms' in its block, the next block's two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from crucible.store.pages import columns_of
from crucible.store.tables import AttemptRow, RunRow
from crucible.store.writes import Store

Pair = tuple[int, int]
"""Numbers of two attempts."""


@dataclass(frozen=True, slots=True)
class Near:
    """Another arm's attempt of the same block."""

    attempt: int
    arm: str
    baseline: bool


@dataclass(frozen=True, slots=True)
class Around:
    """The attempts of the run that were begun before and after this one, None at the ends; those of its block; how the run
    stands and whose it is."""

    before: int | None
    after: int | None
    block: tuple[Near, ...]
    status: str
    owner: str | None


def around(store: Store, attempt: AttemptRow) -> Around:
    """Of an attempt that was made again, and of one that was not, the neighbours are the same."""
    mine, number = col(AttemptRow.run_id) == attempt.run_id, col(AttemptRow.id)
    with store.reading() as session:
        ends = columns_of(
            columns_of(func.max(number)).where(mine, number < attempt.id).scalar_subquery(),
            columns_of(func.min(number)).where(mine, number > attempt.id).scalar_subquery(),
        )
        before, after = session.execute(ends).one()
        run = session.get_one(RunRow, attempt.run_id)
        return Around(before, after, tuple(_block(session, attempt)), run.status, run.owner)


def _block(session: Session, attempt: AttemptRow) -> Iterable[Near]:
    """The attempts of the other arms; of one that was made again the last."""
    query = select(AttemptRow.id, AttemptRow.arm, AttemptRow.baseline).where(
        *_scenario(attempt), AttemptRow.block == attempt.block, AttemptRow.arm != attempt.arm
    )
    last = {row[1]: row for row in session.exec(query.order_by(col(AttemptRow.arm), col(AttemptRow.retry)))}
    return (Near(number or 0, arm, baseline) for number, arm, baseline in last.values())


def blocks_beside(store: Store, one: AttemptRow, other: AttemptRow) -> tuple[Pair | None, Pair | None]:
    """The same two arms' attempts of the block before and the block after; None where there is none, or where the two are
    not of one block."""
    if (*_place(one), one.block) != (*_place(other), other.block) or one.arm == other.arm:
        return None, None
    with store.reading() as session:
        return _beside(session, one, other, -1), _beside(session, one, other, 1)


def _beside(session: Session, one: AttemptRow, other: AttemptRow, step: int) -> Pair | None:
    arms, block = (one.arm, other.arm), col(AttemptRow.block)
    there = (block < one.block, block.desc()) if step < 0 else (block > one.block, block)
    query = (
        columns_of(block)
        .where(*_scenario(one), col(AttemptRow.arm).in_(arms), there[0])
        .group_by(block)
        .having(func.count(func.distinct(AttemptRow.arm)) == 2)
    )
    found = session.execute(query.order_by(there[1]).limit(1)).scalar()
    if found is None:
        return None
    made = columns_of(AttemptRow.arm, AttemptRow.id).where(*_scenario(one), col(AttemptRow.arm).in_(arms))
    last = {row[0]: row[1] for row in session.execute(made.where(block == found).order_by(AttemptRow.retry))}
    return last[one.arm], last[other.arm]


def _place(attempt: AttemptRow) -> tuple[int, str]:
    return attempt.run_id, attempt.scenario_hash


def _scenario(attempt: AttemptRow) -> tuple[Any, ...]:
    run_id, scenario_hash = _place(attempt)
    return AttemptRow.run_id == run_id, AttemptRow.scenario_hash == scenario_hash
