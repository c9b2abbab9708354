"""Everything that writes to the store: one short BEGIN IMMEDIATE transaction per call, saved before anything is shown."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import func, insert, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, col, select

from crucible.errors import StoreError
from crucible.redaction import redact
from crucible.store.engine import as_shown, open_engine
from crucible.store.tables import (
    AttemptRow,
    EventRow,
    FirstRequestRow,
    JudgementRow,
    JudgeRow,
    PlannedRow,
    RunRow,
    ScenarioRow,
    ScoreRow,
    TotalRow,
    ValidationRow,
)

Row = TypeVar("Row", bound=SQLModel)
_NAMED_BY: dict[type[SQLModel], str] = {ScenarioRow: "hash", JudgeRow: "id", FirstRequestRow: "sha256"}


def now() -> str:
    """The time, UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def this_process() -> str:
    """The process that works on a run, as host:pid."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_alive(owner: str | None) -> bool:
    """Whether another process of this host, as `this_process` names it, is still there; other hosts cannot be asked."""
    host, _, pid = (owner or "").rpartition(":")
    if host != socket.gethostname() or not pid.isdigit() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
        return b"crucible" in Path(f"/proc/{pid}/cmdline").read_bytes() if Path("/proc").is_dir() else True
    except OSError:
        return False


def clean(value: Any) -> Any:
    """Text every database takes: lone surrogates as `\\udcXX`, no NUL, no key. A NaN or infinity is refused."""
    if isinstance(value, str):
        return redact(value).encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be stored")
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    return value


class Store:
    """One store, open for writing. A context manager; every method is one transaction.

    `where` is its path or URL as people may see it, without a password.
    """

    def __init__(self, where: str | Path) -> None:
        self.where = as_shown(where)
        self.engine = open_engine(where)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session whose transaction holds the write lock from its first statement."""
        with Session(self.engine.execution_options(writing=True), expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session for queries."""
        with Session(self.engine) as session:
            yield session

    def add(self, *rows: SQLModel) -> None:
        """Append rows; their text is cleaned first."""
        with self.writing() as session:
            session.add_all(_cleaned(row) for row in rows)

    def ensure(self, row: ScenarioRow | JudgeRow | FirstRequestRow) -> None:
        """Append a row that is named by its content, unless it is there."""
        with self.writing() as session:
            if session.get(type(row), getattr(row, _NAMED_BY[type(row)])) is None:
                session.add(_cleaned(row))

    def create_run(self, run: RunRow, plan: Sequence[PlannedRow]) -> int:
        """Store a run with its whole plan; the id it got."""
        with self.writing() as session:
            session.add(_cleaned(run))
            session.flush()
            assert run.id is not None  # noqa: S101 - set by the flush above
            for planned in plan:
                planned.run_id = run.id
            session.add_all(plan)
            return run.id

    def set_run_status(self, run_id: int, status: str) -> None:
        """How a run stands: running, done, interrupted, or stopped at its cost limit."""
        values: dict[str, str | None] = {"status": status, "ended_at": now()}
        if status == "running":
            values = {"status": status, "ended_at": None, "owner": this_process()}
        with self.writing() as session:
            session.execute(update(RunRow).where(col(RunRow.id) == run_id).values(**values))

    def start_attempt(self, row: AttemptRow) -> int:
        """Store an attempt as running, before anything is spent; the id it got. Its `retry` is the next free one."""
        with self.writing() as session:
            last = session.exec(
                select(func.max(AttemptRow.retry)).where(
                    AttemptRow.run_id == row.run_id,
                    AttemptRow.scenario_hash == row.scenario_hash,
                    AttemptRow.arm == row.arm,
                    AttemptRow.block == row.block,
                )
            ).one()
            row.retry = 0 if last is None else last + 1
            session.add(_cleaned(row))
            try:
                session.flush()
            except IntegrityError as error:
                raise StoreError("another process is running this attempt") from error
            assert row.id is not None  # noqa: S101 - set by the flush above
            return row.id

    def add_events(self, rows: Iterable[EventRow]) -> None:
        """Append events of a transcript."""
        if values := [clean(row.model_dump()) for row in rows]:
            with self.writing() as session:
                session.execute(insert(EventRow), values)

    def finish_attempt(self, attempt_id: int, values: dict[str, Any], rows: Iterable[SQLModel] = ()) -> bool:
        """Make an attempt final, with what belongs to it, in one transaction. False when it was final already."""
        with self.writing() as session:
            attempt = session.get_one(AttemptRow, attempt_id)
            if attempt.ending is not None:
                return False
            for key, value in clean(values).items():
                setattr(attempt, key, value)
            attempt.ended_at = now()
            session.add_all(_cleaned(row) for row in rows)
            return True

    def add_judging(
        self,
        attempt_id: int,
        judge_id: str,
        judgements: Iterable[JudgementRow],
        scores: Sequence[ScoreRow],
        total: TotalRow | None,
    ) -> None:
        """Keep raw replies always; scores and total only when the judging is complete (`total` given) and not there yet."""
        with self.writing() as session:
            session.add_all(_cleaned(row) for row in judgements)
            if total is None or session.get(TotalRow, (attempt_id, judge_id)) is not None:
                return
            attempt = session.get_one(AttemptRow, attempt_id)
            total.scenario, total.scenario_hash, total.arm = attempt.scenario, attempt.scenario_hash, attempt.arm
            total.model, total.setup, total.rehearsal = attempt.model, attempt.setup, attempt.rehearsal
            total.seq = (session.exec(select(func.max(TotalRow.seq))).one() or 0) + 1
            session.add_all(_cleaned(row) for row in [*scores, total])

    def latest_validation(self, scenario_hash: str, sandbox: str, python: str) -> ValidationRow | None:
        """The last check of a scenario on this kind of sandbox and interpreter."""
        with self.reading() as session:
            return session.exec(
                select(ValidationRow)
                .where(
                    ValidationRow.scenario_hash == scenario_hash,
                    ValidationRow.sandbox == sandbox,
                    ValidationRow.python == python,
                )
                .order_by(col(ValidationRow.id).desc())
            ).first()


def _cleaned(row: Row) -> Row:
    for name in type(row).model_fields:
        value = getattr(row, name)
        if isinstance(value, str | float | dict | list | tuple):
            setattr(row, name, clean(value))
    return row
