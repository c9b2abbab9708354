"""Where the two arms part, block by block: how long they do the same, and what each does then. Pure.

Two attempts part at the first turn in which they do different things; see `crucible.report.alignment`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from crucible.report.alignment import align
from crucible.report.moments import brings, did
from crucible.store.turns import Turn

NOTHING = "does nothing more"


@dataclass(frozen=True, slots=True)
class Step:
    """What one of the two does where they part: the turn's number, and its calls in one line, with the policy that refused one.

    `turn` is None where it has nothing beside the other's turn.
    """

    turn: int | None
    does: str


@dataclass(frozen=True, slots=True)
class Parting:
    """`same` turns of the same calls, then the two steps; both are None where the two never part."""

    same: int
    treatment: Step | None
    baseline: Step | None


def parting(treatment: Sequence[Turn], baseline: Sequence[Turn]) -> Parting | None:
    """Where two attempts part; None when neither has a turn, so that it cannot be told."""
    if not treatment and not baseline:
        return None
    found = align(treatment, baseline)
    if found.parted is None:
        return Parting(len(found.rows), None, None)
    row = found.rows[found.parted]
    mine = None if row.one is None else treatment[row.one]
    theirs = None if row.other is None else baseline[row.other]
    return Parting(found.parted, _step(mine, theirs), _step(theirs, mine))


def _step(turn: Turn | None, beside: Turn | None) -> Step:
    if turn is None:
        return Step(None, NOTHING)
    refused = next((f", refused by {step.refused}" for step in turn.steps if step.refused), "")
    # Two edits of one file read alike until what they write is said.
    alike = beside is not None and did(turn) == did(beside)
    writes = next((f": {text}" for step in turn.steps if alike and (text := brings(step, beside))), "")
    return Step(turn.number, f"{did(turn)}{writes}{refused}")


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual over blocks: how many were `looked` at and have turns, in how many the two `parted`, `after` how many
    turns of the same calls (the lower median), and the step that each arm took most often there, with its number."""

    looked: int
    parted: int
    after: int | None
    treatment: tuple[str, int] | None
    baseline: tuple[str, int] | None


def usual(blocks: Sequence[Parting | None]) -> Usual:
    """Over these blocks; those that nothing can be told of are left out."""
    told = [one for one in blocks if one is not None]
    parted = [one for one in told if one.treatment is not None]
    after = median_low(one.same for one in parted) if parted else None
    return Usual(
        looked=len(told),
        parted=len(parted),
        after=after,
        treatment=_most([one.treatment for one in parted]),
        baseline=_most([one.baseline for one in parted]),
    )


def _most(steps: Sequence[Step | None]) -> tuple[str, int] | None:
    counts = Counter(step.does for step in steps if step is not None)
    return counts.most_common(1)[0] if counts else None


def in_words(found: Usual, treatment: str, baseline: str) -> str:
    """In two sentences, with the arms' names."""
    if not found.looked:
        return "There is no block yet whose two attempts count and have turns, so there is nothing to lay side by side."
    if found.treatment is None or found.baseline is None:
        them = "the one block" if found.looked == 1 else f"all of {found.looked} blocks"
        return f"The arms make the same calls from beginning to end in {them}."
    blocks = "block" if found.looked == 1 else "blocks"
    usually = "" if found.parted == 1 else "usually "
    return (
        f"The arms part in {found.parted} of {found.looked} {blocks}, {usually}{_where(found.after or 0)}. "
        f"Most often {treatment} then: {found.treatment[0]} ({found.treatment[1]} of {found.parted}); "
        f"{baseline}: {found.baseline[0]} ({found.baseline[1]} of {found.parted})."
    )


def _where(after: int) -> str:
    return f"after {after} turn{'s' * (after > 1)} of the same calls" if after else "at the first turn"
