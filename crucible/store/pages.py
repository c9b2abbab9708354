"""Runs by the page, each in a few small queries whatever the size of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_
from sqlalchemy import select as _select
from sqlmodel import Session, col, select

from crucible.store.tables import AttemptRow, PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store


def columns_of(*columns: Any) -> Any:
    """A query for columns and sums; the typed `select` knows few of either."""
    return _select(*columns)


@dataclass(frozen=True, slots=True)
class RunListed:
    """One run of a list; `cost_usd` is the sum of what is known, `unpriced` attempts that got a reply and have no cost."""

    run: int
    started: str
    ended: str | None
    status: str
    scenarios: tuple[str, ...]
    planned: int
    counted: int
    lost: int
    running: int
    cost_usd: float | None
    unpriced: int
    rehearsal: bool
    kind: str
    suite: str | None
    sequential: bool
    sandbox: str
    judge: str
    owner: str | None = None


def list_runs(
    store: Store,
    *,
    offset: int = 0,
    limit: int = 25,
    text: str = "",
    rehearsals: bool | None = None,
    scenario: str | None = None,
) -> tuple[list[RunListed], int]:
    """Runs, newest first, and how many there are in all. `text` is in a scenario's name, or is the number of the run;
    `scenario` is the whole name."""
    wanted = _wanted(text, rehearsals)
    if scenario is not None:
        wanted.append(col(RunRow.id).in_(_runs_of(col(ScenarioRow.name) == scenario)))
    with store.reading() as session:
        total = session.exec(select(func.count(col(RunRow.id))).where(*wanted)).one()
        query = select(RunRow).where(*wanted).order_by(col(RunRow.id).desc()).offset(offset).limit(limit)
        found = session.exec(query).all()
        ids = [run.id for run in found]
        names, planned, made = _names(session, ids), _planned(session, ids), _made(session, ids)
    return [_listed(run, names, planned, made) for run in found], total


def _wanted(text: str, rehearsals: bool | None) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = [] if rehearsals is None else [col(RunRow.rehearsal).is_(rehearsals)]
    if text:
        here: list[ColumnElement[bool]] = [
            col(RunRow.id).in_(_runs_of(col(ScenarioRow.name).icontains(text, autoescape=True)))
        ]
        if text.isascii() and text.isdigit() and len(text) < len(str(2**63)):
            here.append(col(RunRow.id) == int(text))
        wanted.append(or_(*here))
    return wanted


def _runs_of(scenario: ColumnElement[bool]) -> Any:
    joined = select(PlannedRow.run_id).join(ScenarioRow, col(ScenarioRow.hash) == col(PlannedRow.scenario_hash))
    return joined.where(scenario)


def _names(session: Session, ids: Sequence[int | None]) -> dict[int, list[str]]:
    query = (
        columns_of(PlannedRow.run_id, ScenarioRow.name)
        .join(ScenarioRow, col(ScenarioRow.hash) == col(PlannedRow.scenario_hash))
        .where(col(PlannedRow.run_id).in_(ids))
        .distinct()
    )
    found: dict[int, list[str]] = {}
    for run_id, name in session.execute(query):
        found.setdefault(run_id, []).append(name)
    return found


def _planned(session: Session, ids: Sequence[int | None]) -> dict[int, int]:
    query = (
        columns_of(PlannedRow.run_id, func.count())
        .where(col(PlannedRow.run_id).in_(ids))
        .group_by(col(PlannedRow.run_id))
    )
    return dict(session.execute(query).all())


def _made(session: Session, ids: Sequence[int | None]) -> dict[int, tuple[Any, ...]]:
    """Of each run: attempts that count, that do not, that are running; cost as far as known, and replies without one."""
    one = {name: case((test, 1), else_=0) for name, test in _TESTS.items()}
    query = (
        columns_of(
            AttemptRow.run_id,
            *(func.sum(one[name]) for name in ("counted", "lost", "running")),
            func.sum(AttemptRow.cost_usd),
            func.sum(one["unpriced"]),
        )
        .where(col(AttemptRow.run_id).in_(ids))
        .group_by(col(AttemptRow.run_id))
    )
    return {run_id: tuple(rest) for run_id, *rest in session.execute(query)}


_TESTS = {
    "counted": col(AttemptRow.counted).is_(True),
    "lost": col(AttemptRow.counted).is_(False),
    "running": col(AttemptRow.ending).is_(None),
    "unpriced": (col(AttemptRow.turns) > 0) & col(AttemptRow.cost_usd).is_(None),
}


def _listed(
    run: RunRow, names: dict[int, list[str]], planned: dict[int, int], made: dict[int, tuple[Any, ...]]
) -> RunListed:
    number = run.id or 0
    counted, lost, running, cost, unpriced = made.get(number, (0, 0, 0, None, 0))
    return RunListed(
        run=number,
        started=run.created_at,
        ended=run.ended_at,
        status=run.status,
        scenarios=tuple(sorted(names.get(number, []))),
        planned=planned.get(number, 0),
        counted=counted,
        lost=lost,
        running=running,
        cost_usd=cost,
        unpriced=unpriced,
        rehearsal=run.rehearsal,
        kind=run.kind,
        suite=run.suite,
        sequential=run.sequential,
        sandbox=run.sandbox,
        judge=run.judge,
        owner=run.owner,
    )


def one_run(store: Store, run_id: int) -> tuple[RunListed, RunRow] | None:
    """A run as the list has it, and its row; None when there is none."""
    with store.reading() as session:
        if (run := session.get(RunRow, run_id)) is None:
            return None
        ids = [run.id]
        return _listed(run, _names(session, ids), _planned(session, ids), _made(session, ids)), run
