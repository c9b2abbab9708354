"""What scores from measurements are made of: a run's counted attempts with their test reports, without transcripts."""

from __future__ import annotations

from sqlalchemy import func
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from crucible.store.queries import AttemptRecord
from crucible.store.tables import AttemptRow, ChangedFileRow, JudgeRow, ScenarioRow, TestReportRow, TotalRow
from crucible.store.writes import Store

MEASURED = "facts"
"""The model of the judge that is none: scores from measurements."""


def judge_models(store: Store, run_id: int) -> list[str]:
    """The judge models, if any, behind the newest scores of a run's attempts; scores from measurements have none."""
    newest = aliased(TotalRow)
    last = select(func.max(newest.seq)).where(newest.attempt_id == TotalRow.attempt_id).scalar_subquery()
    with store.reading() as session:
        query = (
            select(JudgeRow.model)
            .join(TotalRow, col(TotalRow.judge_id) == col(JudgeRow.id))
            .join(AttemptRow, col(AttemptRow.id) == col(TotalRow.attempt_id))
            .where(AttemptRow.run_id == run_id, JudgeRow.model != MEASURED, TotalRow.seq == last)
        )
        return sorted(session.exec(query.distinct()).all())


def fact_records(store: Store, run_id: int) -> list[AttemptRecord]:
    """The counted attempts of a run, in the order they were made, each without events, scores and file contents."""
    with store.reading() as session:
        attempts = session.exec(
            select(AttemptRow)
            .where(AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True))
            .order_by(col(AttemptRow.id))
        ).all()
        hashes = {attempt.scenario_hash for attempt in attempts}
        scenarios = {
            row.hash: row for row in session.exec(select(ScenarioRow).where(col(ScenarioRow.hash).in_(hashes))).all()
        }
        mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
        reports = session.exec(select(TestReportRow).where(col(TestReportRow.attempt_id).in_(mine))).all()
        graded = select(ChangedFileRow.attempt_id).where(
            col(ChangedFileRow.attempt_id).in_(mine), col(ChangedFileRow.graded).is_(True)
        )
        changed = set(session.exec(graded.distinct()).all())
        report_of = {row.attempt_id: row for row in reports}
        return [
            AttemptRecord(
                attempt=attempt,
                scenario=scenarios[attempt.scenario_hash],
                events=(),
                files=[ChangedFileRow(attempt_id=attempt.id, path="", status="", graded=True)]
                if attempt.id in changed
                else [],
                report=report_of.get(attempt.id or 0),
                judge=None,
                scores=(),
                total=None,
                judgements=(),
            )
            for attempt in attempts
        ]
