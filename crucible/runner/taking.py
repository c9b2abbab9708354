"""Taking over a stored run: by one process at a time, and what a process that is gone left in flight is brought to an end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlmodel import col, select

from crucible.errors import Cause, UsageError
from crucible.runner.recorder import totals_of
from crucible.store.tables import AttemptRow, EventRow, RunRow
from crucible.store.writes import Store, is_alive, this_process
from crucible.transcript.events import EVENT


@contextmanager
def taken_over(store: Store, run_id: int) -> Iterator[None]:
    """This process is the one that works on the run. Where that fails before an attempt is made, all is as it was before.

    Raises UsageError while another process works on it.
    """
    before = _take(store, run_id)
    try:
        yield
    except BaseException:  # Ctrl-C too: a run that says it is running, and of whom, would be believed
        _give_back(store, run_id, *before)
        raise


def _take(store: Store, run_id: int) -> tuple[str, str | None]:
    """Looked at and taken in one transaction: of two processes that come at once, one finds the other."""
    with store.writing() as session:
        run = session.get_one(RunRow, run_id, with_for_update=True)
        if run.status == "running" and is_alive(run.owner):
            raise UsageError(
                f"run {run_id} is being worked on by process {run.owner}", hint="wait for it, or stop it first"
            )
        before = "interrupted" if run.status == "running" else run.status, run.ended_at
        run.status, run.ended_at, run.owner = "running", None, this_process()
        return before


def _give_back(store: Store, run_id: int, status: str, ended_at: str | None) -> None:
    with store.writing() as session:
        run = session.get_one(RunRow, run_id)
        if run.status == "running":
            run.status, run.ended_at = status, ended_at


def end_in_flight(store: Store, run_id: int) -> int:
    """Attempts left running by a process that is gone do not count, but what is known to be spent on them does; how many."""
    with store.reading() as session:
        left = select(AttemptRow.id).where(AttemptRow.run_id == run_id, col(AttemptRow.ending).is_(None))
        ids = [found for found in session.exec(left).all() if found is not None]
    return sum(_end(store, attempt_id) for attempt_id in ids)


def _end(store: Store, attempt_id: int) -> bool:
    with store.reading() as session:
        rows = session.exec(
            select(EventRow.data).where(EventRow.attempt_id == attempt_id).order_by(col(EventRow.seq))
        ).all()
    values = {
        "ending": "interrupted",
        "cause": Cause.HARNESS.value,
        "counted": False,
        "detail": "the process that ran it ended without a word",
        **totals_of([EVENT.validate_json(data) for data in rows]),
    }
    return store.finish_attempt(attempt_id, values)
