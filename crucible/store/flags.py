"""What is flagged of attempts, read back: for one attempt, for a run, counted by arm."""

from __future__ import annotations

from collections import Counter

from sqlmodel import col, select

from crucible.store.tables import AttemptRow, FlagRow
from crucible.store.writes import Store


def flags_of_attempt(store: Store, attempt_id: int) -> list[FlagRow]:
    """The flags of one attempt, in order."""
    with store.reading() as session:
        query = select(FlagRow).where(FlagRow.attempt_id == attempt_id).order_by(col(FlagRow.seq))
        return list(session.exec(query).all())


def flags_of_run(store: Store, run_id: int) -> dict[int, list[FlagRow]]:
    """The flags of a run's attempts by attempt id; an attempt without any is not in it."""
    found: dict[int, list[FlagRow]] = {}
    with store.reading() as session:
        mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
        query = select(FlagRow).where(col(FlagRow.attempt_id).in_(mine))
        for flag in session.exec(query.order_by(col(FlagRow.attempt_id), col(FlagRow.seq))).all():
            found.setdefault(flag.attempt_id, []).append(flag)
    return found


def flag_counts(store: Store, run_id: int) -> dict[tuple[str, str], Counter[str]]:
    """How many counted attempts of a run carry each kind of flag, by (scenario hash, arm).

    An attempt is counted once for a kind, however often it is flagged for it.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    with store.reading() as session:
        query = (
            select(AttemptRow.scenario_hash, AttemptRow.arm, FlagRow.attempt_id, FlagRow.kind)
            .join(FlagRow, col(FlagRow.attempt_id) == col(AttemptRow.id))
            .where(AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True))
            .distinct()
        )
        for scenario_hash, arm, _, kind in session.exec(query).all():
            counts.setdefault((scenario_hash, arm), Counter())[kind] += 1
    return counts
