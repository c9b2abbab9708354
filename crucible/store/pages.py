"""Runs by the page, each in a few small queries whatever the size of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, case, func
from sqlalchemy import select as _select
from sqlmodel import Session, col, select

from crucible.store.run_search import runs_like, runs_with
from crucible.store.states import run_state
from crucible.store.tables import AttemptRow, PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store


def columns_of(*columns: Any) -> Any:
    """A query for columns and sums; the typed `select` knows few of either."""
    return _select(*columns)


@dataclass(frozen=True, slots=True)
class ArmListed:
    """One arm of a run over all its scenarios, with the names and models that it has there.

    `planned` attempts, those of them that count, and those of these whose suite is green.
    """

    name: str
    baseline: bool
    model: str
    planned: int
    counted: int
    passed: int


@dataclass(frozen=True, slots=True)
class RunListed:
    """One run of a list, its treatment before its baseline.

    `cost_usd` is the sum of what is known of attempts, `unpriced` attempts that got a reply and have no cost. `lost`
    attempts do not count; `running` ones have no ending.
    """

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
    arms: tuple[ArmListed, ...] = ()

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return run_state(self.status, self.owner)


def list_runs(
    store: Store,
    *,
    offset: int = 0,
    limit: int = 25,
    text: str = "",
    rehearsals: bool | None = None,
    scenario: str | None = None,
) -> tuple[list[RunListed], int]:
    """Runs, newest first, and how many there are in all. `text` is what was typed to find some; `scenario` a whole name."""
    wanted: list[ColumnElement[bool]] = [] if rehearsals is None else [col(RunRow.rehearsal).is_(rehearsals)]
    if text:
        wanted.append(runs_like(text))
    if scenario is not None:
        wanted.append(col(RunRow.id).in_(runs_with(col(ScenarioRow.name) == scenario)))
    with store.reading() as session:
        total = session.exec(select(func.count(col(RunRow.id))).where(*wanted)).one()
        query = select(RunRow).where(*wanted).order_by(col(RunRow.id).desc()).offset(offset).limit(limit)
        return _listed(session, session.exec(query).all()), total


def one_run(store: Store, run_id: int) -> tuple[RunListed, RunRow] | None:
    """A run as the list has it, and its row; None when there is none."""
    with store.reading() as session:
        run = session.get(RunRow, run_id)
        return None if run is None else (_listed(session, [run])[0], run)


_Key = tuple[int, str, str]
"""Run, scenario hash, arm: in the order of the index that the rows are read by."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a run plans and made of one arm on one scenario."""

    scenario: str
    arm: str
    baseline: bool
    model: str
    planned: int
    counted: int = 0
    passed: int = 0
    lost: int = 0
    running: int = 0
    unpriced: int = 0
    cost_usd: float | None = None


_TESTS = {
    "counted": col(AttemptRow.counted).is_(True),
    "passed": col(AttemptRow.counted).is_(True) & col(AttemptRow.passed).is_(True),
    "lost": col(AttemptRow.counted).is_(False),
    "running": col(AttemptRow.ending).is_(None),
    "unpriced": (col(AttemptRow.turns) > 0) & col(AttemptRow.cost_usd).is_(None),
}


def _listed(session: Session, runs: Sequence[RunRow]) -> list[RunListed]:
    ids = [run.id for run in runs]
    made = _made(session, ids)
    parts: dict[int | None, list[_Part]] = {}
    for key, (name, *planned) in _planned(session, ids).items():
        parts.setdefault(key[0], []).append(_Part(name, key[2], *planned, *made.get(key, ())))
    return [_run(run, sorted(parts.get(run.id, []), key=lambda one: one.scenario)) for run in runs]


def _planned(session: Session, ids: Sequence[int | None]) -> dict[_Key, tuple[Any, ...]]:
    """Of each arm on each scenario the scenario's name, whether it is the baseline, the model, and how many attempts."""
    of = (PlannedRow.run_id, PlannedRow.scenario_hash, PlannedRow.arm)
    baseline = func.max(case((col(PlannedRow.baseline), 1), else_=0))
    query = columns_of(*of, baseline, func.max(PlannedRow.model), func.count())
    found = session.execute(query.where(col(PlannedRow.run_id).in_(ids)).group_by(*of)).all()
    hashes = {digest for _, digest, *_ in found}
    named = columns_of(ScenarioRow.hash, ScenarioRow.name).where(col(ScenarioRow.hash).in_(hashes))
    names = dict(session.execute(named).all())
    return {(run, digest, arm): (names[digest], bool(is_b), *rest) for run, digest, arm, is_b, *rest in found}


def _made(session: Session, ids: Sequence[int | None]) -> dict[_Key, tuple[Any, ...]]:
    """Of each arm on each scenario how many attempts pass each test, and what they cost as far as known."""
    sums = (func.sum(case((test, 1), else_=0)) for test in _TESTS.values())
    of = (AttemptRow.run_id, AttemptRow.scenario_hash, AttemptRow.arm)
    query = columns_of(*of, *sums, func.sum(AttemptRow.cost_usd)).where(col(AttemptRow.run_id).in_(ids)).group_by(*of)
    return {(run, digest, arm): tuple(rest) for run, digest, arm, *rest in session.execute(query)}


def _run(run: RunRow, parts: Sequence[_Part]) -> RunListed:
    costs = [one.cost_usd for one in parts if one.cost_usd is not None]
    return RunListed(
        run=run.id or 0,
        started=run.created_at,
        ended=run.ended_at,
        status=run.status,
        scenarios=tuple(dict.fromkeys(one.scenario for one in parts)),
        planned=sum(one.planned for one in parts),
        counted=sum(one.counted for one in parts),
        lost=sum(one.lost for one in parts),
        running=sum(one.running for one in parts),
        cost_usd=sum(costs) if costs else None,
        unpriced=sum(one.unpriced for one in parts),
        rehearsal=run.rehearsal,
        kind=run.kind,
        suite=run.suite,
        sequential=run.sequential,
        sandbox=run.sandbox,
        judge=run.judge,
        owner=run.owner,
        arms=tuple(_arm(mine) for is_baseline in (False, True) if (mine := _side(parts, is_baseline))),
    )


def _side(parts: Sequence[_Part], baseline: bool) -> list[_Part]:
    return [one for one in parts if one.baseline == baseline]


def _arm(mine: Sequence[_Part]) -> ArmListed:
    return ArmListed(
        name=" / ".join(dict.fromkeys(one.arm for one in mine)),
        baseline=mine[0].baseline,
        model=", ".join(dict.fromkeys(one.model for one in mine)),
        planned=sum(one.planned for one in mine),
        counted=sum(one.counted for one in mine),
        passed=sum(one.passed for one in mine),
    )
