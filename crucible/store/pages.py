"""What pages read: lists by the page, and how a run stands, each in a few small queries whatever the size of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_
from sqlalchemy import select as _select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from crucible.store.tables import AttemptRow, EventRow, PlannedRow, RunRow, ScenarioRow, TotalRow, ValidationRow
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


@dataclass(frozen=True, slots=True)
class Pulse:
    """What changes whenever a run goes on: `counts` of attempts made and ended, of judgings, of running attempts' events."""

    status: str
    owner: str | None
    counts: tuple[int, ...]


def run_pulse(store: Store, run_id: int) -> Pulse | None:
    """The pulse of a run, in one query; None when there is no such run."""
    mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
    counts = (
        select(func.count(col(AttemptRow.id))).where(AttemptRow.run_id == run_id),
        select(func.count(col(AttemptRow.ending))).where(AttemptRow.run_id == run_id),
        select(func.count(col(TotalRow.seq))).where(col(TotalRow.attempt_id).in_(mine)),
        select(func.count(col(EventRow.seq))).where(
            col(EventRow.attempt_id).in_(mine.where(col(AttemptRow.ending).is_(None)))
        ),
    )
    with store.reading() as session:
        query = columns_of(RunRow.status, RunRow.owner, *(one.scalar_subquery() for one in counts))
        found = session.execute(query.where(col(RunRow.id) == run_id)).first()
        return None if found is None else Pulse(found[0], found[1], tuple(found[2:]))


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and dear a run's finished attempts were: their number, and means of what is known. Waiting is included."""

    finished: int
    seconds: float | None
    cost_usd: float | None


def run_pace(store: Store, run_id: int) -> Pace:
    """Of the attempts that count."""
    waited, overhead = (func.coalesce(one, 0) for one in (AttemptRow.waited_seconds, AttemptRow.overhead_seconds))
    took = col(AttemptRow.seconds) + waited + overhead
    with store.reading() as session:
        query = columns_of(func.count(), func.avg(took), func.avg(AttemptRow.cost_usd))
        found = session.execute(query.where(AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True))).one()
        return Pace(*found)


@dataclass(frozen=True, slots=True)
class NotCounted:
    """An attempt that counts for neither arm, and why; `again` is the attempt that was made in its place, if any."""

    attempt: int
    scenario: str
    arm: str
    block: int
    ending: str | None
    cause: str | None
    detail: str
    again: int | None


def not_counted(store: Store, run_id: int) -> list[NotCounted]:
    """Every such attempt of a run, retries included, oldest first."""
    later = aliased(AttemptRow)
    same = (getattr(later, name) == getattr(AttemptRow, name) for name in ("run_id", "scenario_hash", "arm", "block"))
    again = select(later.id).where(*same, later.retry == AttemptRow.retry + 1).scalar_subquery()
    mine = (AttemptRow.id, AttemptRow.scenario, AttemptRow.arm, AttemptRow.block, AttemptRow.ending, AttemptRow.cause)
    with store.reading() as session:
        query = columns_of(*mine, AttemptRow.detail, again).where(
            AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(False)
        )
        return [NotCounted(*row) for row in session.execute(query.order_by(col(AttemptRow.id)))]


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt that is being made; `turn` is the newest that something is stored of."""

    attempt: int
    scenario: str
    arm: str
    block: int
    started: str
    turn: int | None


def running(store: Store, run_id: int) -> list[Running]:
    """The attempts of a run without an ending, oldest first."""
    turn = select(func.max(col(EventRow.turn))).where(EventRow.attempt_id == AttemptRow.id).scalar_subquery()
    with store.reading() as session:
        query = columns_of(
            *(AttemptRow.id, AttemptRow.scenario, AttemptRow.arm, AttemptRow.block, AttemptRow.started_at), turn
        ).where(AttemptRow.run_id == run_id, col(AttemptRow.ending).is_(None))
        return [Running(*row) for row in session.execute(query.order_by(col(AttemptRow.id)))]


def one_run(store: Store, run_id: int) -> tuple[RunListed, RunRow] | None:
    """A run as the list has it, and its row; None when there is none."""
    with store.reading() as session:
        if (run := session.get(RunRow, run_id)) is None:
            return None
        ids = [run.id]
        return _listed(run, _names(session, ids), _planned(session, ids), _made(session, ids)), run


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version (hash) of a scenario, with its newest validation and what was run of it."""

    hash: str
    stored: str
    ok: bool | None
    checked: str | None
    problems: tuple[str, ...]
    expected: int | None
    quarantined: int
    controlled: int
    runs: int
    text: str = ""


def versions(store: Store, name: str | None = None) -> dict[str, list[Version]]:
    """Stored versions by scenario name, newest first."""
    newest = columns_of(func.max(ValidationRow.id)).group_by(col(ValidationRow.scenario_hash))
    with store.reading() as session:
        scenarios = session.execute(
            columns_of(ScenarioRow.hash, ScenarioRow.name, ScenarioRow.created_at, ScenarioRow.text)
            .where(*([] if name is None else [ScenarioRow.name == name]))
            .order_by(col(ScenarioRow.created_at).desc())
        ).all()
        checks = session.exec(select(ValidationRow).where(col(ValidationRow.id).in_(newest))).all()
        per_run = columns_of(PlannedRow.scenario_hash, func.count(func.distinct(PlannedRow.run_id)))
        counts = dict(session.execute(per_run.group_by(col(PlannedRow.scenario_hash))).all())
    checked = {check.scenario_hash: check for check in checks}
    found: dict[str, list[Version]] = {}
    for digest, of, stored, text in scenarios:
        version = _version(digest, stored, checked.get(digest), counts.get(digest, 0))
        found.setdefault(of, []).append(replace(version, text=text))
    return found


def _version(digest: str, stored: str, check: ValidationRow | None, runs: int) -> Version:
    if check is None:
        return Version(digest, stored, None, None, (), None, 0, 0, runs)
    return Version(
        *(digest, stored, check.ok, check.created_at, tuple(check.problems), len(check.expected)),
        *(len(check.quarantined), len(check.controlled), runs),
    )
