"""The blocks of a run that are complete: the two attempts of each that count. One query, whatever their number."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlmodel import col

from crucible.store.tables import AttemptRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Made:
    """One arm's attempt that counts; `passed` is None where the suite gave no verdict."""

    attempt: int
    arm: str
    passed: bool | None
    turns: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A block whose two attempts count."""

    scenario: str
    block: int
    treatment: Made
    baseline: Made

    @property
    def outcome(self) -> str:
        """`treatment` or `baseline` where only that arm's suite is green, `both`, `neither`."""
        match bool(self.treatment.passed), bool(self.baseline.passed):
            case True, True:
                return "both"
            case False, False:
                return "neither"
            case treatment, _:
                return "treatment" if treatment else "baseline"


def counted_pairs(store: Store, run_id: int) -> list[Pair]:
    """In the order of scenarios and blocks; empty when no block is complete, or there is no such run."""
    columns = (AttemptRow.scenario, AttemptRow.block, AttemptRow.baseline)
    made = (AttemptRow.id, AttemptRow.arm, AttemptRow.passed, AttemptRow.turns)
    query = select(*columns, *made).where(  # type: ignore[call-overload] # any columns
        col(AttemptRow.run_id) == run_id, col(AttemptRow.counted).is_(True)
    )
    found: dict[tuple[str, int], dict[bool, Made]] = {}
    with store.reading() as session:
        for scenario, block, baseline, *rest in session.execute(query.order_by(*columns)):
            found.setdefault((scenario, block), {})[baseline] = Made(*rest)
    return [Pair(*block, of[False], of[True]) for block, of in found.items() if len(of) == 2]
