"""Everything that is read from the store. Pages and tables are these queries and nothing a process remembers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import text
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


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """One arm on one version (hash) of a scenario over all real comparisons. Sums and means are over what is known.

    The counts say how many that is. An edited scenario is another scenario: where there are several, `label` tells them apart.
    """

    scenario: str
    version: str
    arm: str
    model: str
    counted: int
    not_counted: int
    passed: int
    scored: int
    mean_total: float | None
    priced: int
    mean_cost_usd: float | None
    mean_tokens: float | None
    mean_seconds: float | None
    several_versions: bool = False

    @property
    def label(self) -> str:
        """The scenario's name, with its version where there are several."""
        return f"{self.scenario} @{self.version[:8]}" if self.several_versions else self.scenario


# Runs of an arm against itself rank nobody. An attempt's id is in every index, so this keeps the scan on the covering one.
_OF_AA = "SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id WHERE r.kind = 'aa'"
_ATTEMPTS = text(f"""
SELECT scenario, scenario_hash, arm, model,
       SUM(CASE WHEN counted THEN 1 ELSE 0 END), SUM(CASE WHEN counted THEN 0 ELSE 1 END),
       SUM(CASE WHEN counted AND passed THEN 1 ELSE 0 END),
       SUM(CASE WHEN counted AND cost_usd IS NOT NULL THEN 1 ELSE 0 END),
       AVG(CASE WHEN counted THEN cost_usd END),
       AVG(CASE WHEN counted THEN tokens END),
       AVG(CASE WHEN counted THEN seconds END)
FROM attempt WHERE rehearsal = :no AND counted IS NOT NULL AND id NOT IN ({_OF_AA})
GROUP BY scenario, scenario_hash, arm, model
""")  # noqa: S608 - put together from constants
_TOTALS = text(f"""
SELECT scenario_hash, arm, model, COUNT(value), AVG(value) FROM total t
WHERE rehearsal = :no AND NOT EXISTS (SELECT 1 FROM total l WHERE l.attempt_id = t.attempt_id AND l.seq > t.seq)
AND attempt_id NOT IN ({_OF_AA})
GROUP BY scenario, scenario_hash, arm, model
""")  # noqa: S608 - put together from constants


def leaderboard(store: Store) -> list[LeaderboardLine]:
    """Every arm of every scenario that was really compared; rehearsals and A/A runs are never in it.

    By scenario, best pass rate first.
    """
    with store.reading() as session:
        connection = session.connection()
        totals = {(r[0], r[1], r[2]): (r[3], r[4]) for r in connection.execute(_TOTALS, {"no": False})}
        lines = []
        for name, version, arm, model, counted, not_counted, passed, priced, *means in connection.execute(
            _ATTEMPTS, {"no": False}
        ):
            scored, mean_total = totals.get((version, arm, model), (0, None))
            lines.append(
                LeaderboardLine(
                    name, version, arm, model, counted, not_counted, passed, scored, mean_total, priced, *means
                )
            )
    versions = Counter(scenario for scenario, _ in {(line.scenario, line.version) for line in lines})
    told_apart = [replace(line, several_versions=True) if versions[line.scenario] > 1 else line for line in lines]
    return sorted(told_apart, key=_rank)


def _rank(line: LeaderboardLine) -> tuple[str, str, float, float, str]:
    rate = line.passed / line.counted if line.counted else -1.0
    return line.scenario, line.version, -rate, -(line.mean_total or 0.0), line.arm


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
        )
        return [c for c in session.exec(query.order_by(col(AttemptRow.id).desc()).limit(50)).all() if c is not None]
