"""What is read from the store of runs and attempts. Pages and tables are queries and nothing a process remembers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from crucible.store.tables import (
    AttemptRow,
    ChangedFileRow,
    EventRow,
    FlagRow,
    JudgementRow,
    JudgeRow,
    PlannedRow,
    RunRow,
    ScenarioRow,
    ScoreRow,
    TestReportRow,
    TotalRow,
)
from crucible.store.writes import Store


def runs(store: Store, limit: int = 50) -> list[tuple[RunRow, list[str], int, int]]:
    """The newest runs with their scenarios' names, attempts planned and attempts counted."""
    with store.reading() as session:
        found = session.exec(select(RunRow).order_by(col(RunRow.id).desc()).limit(limit)).all()
        return [(run, *_progress(session, run.id or 0)) for run in found]


def _progress(session: Session, run_id: int) -> tuple[list[str], int, int]:
    plan = session.exec(select(PlannedRow).where(PlannedRow.run_id == run_id)).all()
    hashes = sorted({row.scenario_hash for row in plan})
    names = session.exec(select(ScenarioRow.name).where(col(ScenarioRow.hash).in_(hashes))).all()
    counted = session.exec(
        select(AttemptRow.id).where(AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True))
    ).all()
    return sorted(names), len(plan), len(counted)


@dataclass(frozen=True)
class RunRecord:
    """A stored run with everything a comparison is made of. `attempts` are all of them, retries included."""

    run: RunRow
    plan: Sequence[PlannedRow]
    scenarios: dict[str, ScenarioRow]
    attempts: Sequence[AttemptRow]

    def standing(self) -> dict[tuple[str, str, int], AttemptRow]:
        """The attempt that stands for each (scenario hash, arm, block): the one with the highest retry."""
        ordered = sorted(self.attempts, key=lambda a: a.retry)
        return {(a.scenario_hash, a.arm, a.block): a for a in ordered}

    def open_slots(self) -> list[PlannedRow]:
        """What is still to run: planned attempts without one that counts."""
        standing = self.standing()
        return [p for p in self.plan if not ((a := standing.get((p.scenario_hash, p.arm, p.block))) and a.counted)]


def run_record(store: Store, run_id: int) -> RunRecord | None:
    """A run by its id; None when there is none."""
    with store.reading() as session:
        if (run := session.get(RunRow, run_id)) is None:
            return None
        plan = session.exec(
            select(PlannedRow).where(PlannedRow.run_id == run_id).order_by(col(PlannedRow.position))
        ).all()
        hashes = {row.scenario_hash for row in plan}
        scenarios = session.exec(select(ScenarioRow).where(col(ScenarioRow.hash).in_(hashes))).all()
        attempts = session.exec(
            select(AttemptRow).where(AttemptRow.run_id == run_id).order_by(col(AttemptRow.id))
        ).all()
        return RunRecord(run, plan, {s.hash: s for s in scenarios}, attempts)


def attempt_row(store: Store, attempt_id: int) -> AttemptRow:
    """One attempt's own row. Raises NoResultFound when there is none."""
    with store.reading() as session:
        return session.get_one(AttemptRow, attempt_id)


@dataclass(frozen=True)
class AttemptRecord:
    """One attempt with everything stored of it."""

    attempt: AttemptRow
    scenario: ScenarioRow
    events: Sequence[EventRow]
    files: Sequence[ChangedFileRow]
    report: TestReportRow | None
    judge: JudgeRow | None
    scores: Sequence[ScoreRow]
    total: TotalRow | None
    judgements: Sequence[JudgementRow]
    flags: Sequence[FlagRow] = ()


def attempt_record(store: Store, attempt_id: int, judge_id: str | None = None) -> AttemptRecord | None:
    """An attempt by its id, with the scores of one judge version (the newest unless named); None when there is none."""
    with store.reading() as session:
        if (attempt := session.get(AttemptRow, attempt_id)) is None:
            return None
        total = _total(session, attempt_id, judge_id)
        judge_id = total.judge_id if total else judge_id
        return AttemptRecord(
            attempt=attempt,
            scenario=session.get_one(ScenarioRow, attempt.scenario_hash),
            events=_of(session, EventRow, attempt_id, EventRow.seq),
            files=_of(session, ChangedFileRow, attempt_id, ChangedFileRow.path),
            report=session.get(TestReportRow, attempt_id),
            judge=session.get(JudgeRow, judge_id) if judge_id else None,
            scores=[
                s for s in _of(session, ScoreRow, attempt_id, ScoreRow.dimension) if total and s.judge_id == judge_id
            ],
            total=total,
            judgements=_of(session, JudgementRow, attempt_id, JudgementRow.id),
            flags=_of(session, FlagRow, attempt_id, FlagRow.seq),
        )


def _of(session: Session, table: Any, attempt_id: int, order: Any) -> Sequence[Any]:
    found: Sequence[Any] = session.exec(select(table).where(table.attempt_id == attempt_id).order_by(order)).all()
    return found


def _total(session: Session, attempt_id: int, judge_id: str | None) -> TotalRow | None:
    query = select(TotalRow).where(TotalRow.attempt_id == attempt_id).order_by(col(TotalRow.seq).desc())
    if judge_id is not None:
        query = query.where(TotalRow.judge_id == judge_id)
    return session.exec(query).first()


def run_scores(store: Store, run_id: int) -> tuple[dict[int, list[ScoreRow]], dict[int, TotalRow]]:
    """Newest scores and totals of a run's attempts, by attempt id."""
    with store.reading() as session:
        mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
        totals = session.exec(
            select(TotalRow).where(col(TotalRow.attempt_id).in_(mine)).order_by(col(TotalRow.seq))
        ).all()
        latest = {total.attempt_id: total for total in totals}
        scores: dict[int, list[ScoreRow]] = {}
        for score in session.exec(select(ScoreRow).where(col(ScoreRow.attempt_id).in_(mine))).all():
            if latest[score.attempt_id].judge_id == score.judge_id:
                scores.setdefault(score.attempt_id, []).append(score)
        return scores, latest


def first_requests(store: Store, run_id: int) -> dict[int, str]:
    """Fingerprint of what each attempt of a run first asked its model, by attempt id."""
    with store.reading() as session:
        mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
        started = select(EventRow).where(col(EventRow.attempt_id).in_(mine), EventRow.kind == "started")
        return {row.attempt_id: json.loads(row.data)["first_request_sha256"] for row in session.exec(started).all()}


def unjudged(store: Store, run_id: int, judge_id: str, scenario_hash: str) -> list[int]:
    """Counted attempts of a run on one scenario that this judge version has not judged, oldest first."""
    with store.reading() as session:
        judged = select(TotalRow.attempt_id).where(TotalRow.judge_id == judge_id)
        query = select(AttemptRow.id).where(
            AttemptRow.run_id == run_id,
            AttemptRow.scenario_hash == scenario_hash,
            col(AttemptRow.counted).is_(True),
            col(AttemptRow.id).not_in(judged),
        )
        return [i for i in session.exec(query.order_by(col(AttemptRow.id))).all() if i is not None]


def spent(store: Store, run_id: int) -> tuple[float, int]:
    """US dollars a run's attempts cost as far as known, retries included, and how many that got a reply have no known cost."""
    with store.reading() as session:
        replied = select(AttemptRow.cost_usd).where(AttemptRow.run_id == run_id, col(AttemptRow.turns) > 0)
        costs = session.exec(replied).all()
        return sum(c for c in costs if c is not None), sum(c is None for c in costs)


def past_costs(store: Store, scenario: str, model: str) -> list[float]:
    """What counted attempts of this model on a scenario of this name have cost, newest first; for pricing a run."""
    with store.reading() as session:
        query = select(AttemptRow.cost_usd).where(
            AttemptRow.scenario == scenario,
            AttemptRow.model == model,
            col(AttemptRow.counted).is_(True),
            col(AttemptRow.cost_usd).is_not(None),
            col(AttemptRow.rehearsal).is_(False),
            col(AttemptRow.run_id).not_in(select(RunRow.id).where(RunRow.kind == "control")),
        )
        return [c for c in session.exec(query.order_by(col(AttemptRow.id).desc()).limit(50)).all() if c is not None]
