"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table
from sqlmodel import col, select

from crucible.report.words import to_the_minute
from crucible.store.queries import runs
from crucible.store.states import run_state
from crucible.store.tables import RunRow
from crucible.store.writes import Store, this_process


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run. `status` is what was stored; `state` is `unfinished` where it says running and nobody makes the run any more."""

    run: int
    started: str
    status: str
    scenarios: tuple[str, ...]
    counted: int
    planned: int
    rehearsal: bool
    judge: str
    sandbox: str
    kind: str = "comparison"
    suite: str | None = None
    sequential: bool = False
    state: str = ""


def run_lines(store: Store) -> list[RunLine]:
    """The newest runs, newest first."""
    return [
        RunLine(
            *(r.id or 0, r.created_at, r.status, tuple(names), counted, planned),
            *(r.rehearsal, r.judge, r.sandbox, r.kind, r.suite, r.sequential),
            state=run_state(r.status, r.owner),
        )
        for r, names, planned, counted in runs(store)
    ]


def left_unfinished(store: Store, since: str) -> int | None:
    """The run that this process left interrupted at or after a time, if it did."""
    asked = select(RunRow.id).where(RunRow.owner == this_process(), RunRow.status == "interrupted")
    with store.reading() as session:
        return session.exec(asked.where(col(RunRow.ended_at) >= since).order_by(col(RunRow.id).desc())).first()


def run_table(lines: Sequence[RunLine]) -> Table:
    """The runs as a table."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("run", "started", "status", "scenarios", "counted", "judge", "kind"):
        table.add_column(column, overflow="fold")
    for line in lines:
        counted = f"{line.counted} of {'at most ' * line.sequential}{line.planned}"
        started = to_the_minute(line.started)
        table.add_row(str(line.run), started, line.state, ", ".join(line.scenarios), counted, line.judge, _kind(line))
    return table


def _kind(line: RunLine) -> str:
    said = (
        line.kind if line.kind != "comparison" else "",
        "until decided" if line.sequential else "",
        f"night of {line.suite}" if line.suite else "",
        "rehearsal" if line.rehearsal else "",
        "unsandboxed" if line.sandbox == "copy" else "",
    )
    return " ".join(filter(None, said)) or "real"
