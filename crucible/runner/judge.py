"""Judging stored attempts: a queue of its own, so that a judge's outage loses nothing.

Everything a judge is shown is read from the store, so `rejudge` needs no world and no fixture.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from crucible.agents.rehearsal import Rehearsal
from crucible.agents.scripted import ScriptedJudge
from crucible.errors import ProviderError
from crucible.judging.blinding import Blinder, secrets_of
from crucible.judging.digest import digest
from crucible.judging.facts import score_facts
from crucible.judging.judge import JudgeResult, judge_attempt, restore
from crucible.judging.total import total
from crucible.judging.types import Evidence, Facts, Judgement, Score, Scored, Suite
from crucible.judging.versions import FACTS, facts_hash, prompt_hash, rubric_hash, version_of
from crucible.llm.types import Model
from crucible.policy.signs import without_addressed
from crucible.runner.models import make_model
from crucible.scenario.load import parse_stored
from crucible.scenario.schema import Scenario
from crucible.settings import Settings
from crucible.store.queries import AttemptRecord, attempt_record
from crucible.store.tables import JudgementRow, JudgeRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now
from crucible.transcript.events import EVENT, Event, Started
from crucible.transcript.messages import Usage

log = logging.getLogger("crucible.judge")
SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class JudgeChoice:
    """Who judges: a model name, `facts`, or `scripted` in a rehearsal; and how many samples."""

    model: str
    samples: int = 1

    def version(self, scenario: Scenario) -> str:
        """The judge version for this scenario's rubric."""
        return version_of(self.model, scenario.rubric.dimensions, self.samples)


@dataclass
class JudgeQueue:
    """Judges stored attempts one at a time. `pending` are those a provider kept from being judged, with why."""

    store: Store
    choice: JudgeChoice
    settings: Settings
    rehearsals: dict[str, Rehearsal] = field(default_factory=dict)
    pending: dict[int, str] = field(default_factory=dict)
    _model: Model | None = None

    async def judge(self, attempt_id: int) -> None:
        """Judge one stored attempt and store its scores; a provider's failure leaves it pending, never a zero."""
        record = attempt_record(self.store, attempt_id)
        if record is None or not record.attempt.counted:
            return
        scenario = parse_stored(record.scenario.text)
        judge_id = self._ensure_version(scenario)
        events = [EVENT.validate_json(row.data) for row in record.events]
        try:
            result = await self._scores(record, scenario, judge_id, events)
        except ProviderError as error:
            self.pending[attempt_id] = error.message
            log.warning("attempt %s is not judged: %s", attempt_id, error.message)
            return
        self.pending.pop(attempt_id, None)
        self.store.add_judging(attempt_id, judge_id, [], *_rows(attempt_id, judge_id, scenario, result))

    async def _scores(
        self, record: AttemptRecord, scenario: Scenario, judge_id: str, events: Sequence[Event]
    ) -> JudgeResult:
        facts = facts_of(record, scenario)
        dimensions = scenario.rubric.dimensions
        if self.choice.model == FACTS:
            return JudgeResult(score_facts([d.name for d in dimensions], facts), (), ())
        attempt_id = record.attempt.id or 0
        started = next((e for e in events if isinstance(e, Started)), None)
        secrets = secrets_of(scenario, started)
        secrets = replace(secrets, models=(*secrets.models, record.attempt.model))
        return await judge_attempt(
            self._judge_model(record),
            evidence_of(
                record, scenario, digest(events, blind=Blinder(secrets), dimensions=[d.name for d in dimensions])
            ),
            dimensions,
            facts,
            secrets=secrets,
            record=lambda j: self.store.add_judging(
                attempt_id, judge_id, [_reply_row(attempt_id, judge_id, j)], [], None
            ),
            samples=self.choice.samples,
            done=[_restored(row) for row in record.judgements if row.judge_id == judge_id],
        )

    def _judge_model(self, record: AttemptRecord) -> Model:
        if self.choice.model == SCRIPTED:
            rehearsal = self.rehearsals[record.attempt.scenario_hash]
            return ScriptedJudge.of(rehearsal.session(record.attempt.arm, record.attempt.block))
        if self._model is None:
            self._model = make_model(self.choice.model, self.settings)
        return self._model

    def _ensure_version(self, scenario: Scenario) -> str:
        dimensions = scenario.rubric.dimensions
        judge_id = self.choice.version(scenario)
        is_facts = self.choice.model == FACTS
        self.store.ensure(
            JudgeRow(
                id=judge_id,
                model=self.choice.model,
                samples=0 if is_facts else self.choice.samples,
                prompt_hash=facts_hash() if is_facts else prompt_hash(),
                rubric_hash=rubric_hash(dimensions),
                created_at=now(),
            )
        )
        return judge_id


def facts_of(record: AttemptRecord, scenario: Scenario) -> Facts:
    """What is measured of a stored attempt."""
    attempt, report = record.attempt, record.report
    state = report.state if report else None
    reported = report is not None and bool(report.passed or report.failed)
    return Facts(
        suite=_suite(state),
        tests_passed=len(report.passed) if report and reported else None,
        tests_failed=len(report.failed) if report and reported else None,
        changed=any(f.graded for f in record.files),
        size_ratio=attempt.size_ratio,
        similarity=attempt.similarity,
        turns=attempt.turns or 0,
        tool_calls=attempt.tool_calls or 0,
        tokens=attempt.tokens,
        budget_turns=scenario.budget.max_turns,
        budget_tokens=scenario.budget.max_total_tokens,
        blocked_calls=attempt.blocked or 0,
        failing_before=len(report.fixed) + _still_failing(record) if report and reported else None,
        fixed=len(report.fixed) if report and reported else None,
    )


def _suite(state: str | None) -> Suite:
    known: dict[str, Suite] = {"green": "green", "red": "red", "tampered": "tampered"}
    return known.get(state or "", "no_verdict")


def _still_failing(record: AttemptRecord) -> int:
    """Expected tests that did not pass and did not pass before either."""
    report = record.report
    return len(set(report.missing) - set(report.broke)) if report else 0


def evidence_of(record: AttemptRecord, scenario: Scenario, told: str) -> Evidence:
    """What a judge is shown of a stored attempt, before blinding and fitting."""
    return Evidence(
        task=scenario.task_prompt,
        change_diff=record.attempt.diff or "",
        test_report=_report_text(record),
        reference_diff=record.scenario.reference_text,
        digest=told,
    )


def _report_text(record: AttemptRecord) -> str:
    report = record.report
    if report is None:
        return ""
    lines = [f"The suite is {report.state}: {_one_line(report.detail)}."]
    for title, ids in (
        ("Failed", report.failed),
        ("Now passing", report.fixed),
        ("Broken by the change", report.broke),
    ):
        if ids:
            lines.append(f"{title}: {', '.join(map(_one_line, ids[:40]))}{' ...' if len(ids) > 40 else ''}")
    if left_out := [f"{_one_line(f.path)} ({f.left_out})" for f in record.files if f.left_out]:
        lines.append(f"Left out of grading: {', '.join(left_out[:20])}")
    return "\n".join(lines)


def _one_line(name: str) -> str:
    """A name as part of a line of ours: a file or a test may be called anything, line ends and orders included."""
    return without_addressed(name.replace("\r", "\\r").replace("\n", "\\n"))


def _reply_row(attempt_id: int, judge_id: str, judgement: Judgement) -> JudgementRow:
    usage = {k: v for k, v in asdict(judgement.usage).items() if k != "raw"} if judgement.usage else {}
    return JudgementRow(
        attempt_id=attempt_id,
        judge_id=judge_id,
        dimension=judgement.dimension,
        sample=judgement.sample,
        asking=judgement.asking,
        reply=judgement.raw,
        error=judgement.error,
        usage=usage,
    )


def _restored(row: JudgementRow) -> Judgement:
    return restore(
        row.dimension, row.sample, row.asking, row.reply, row.error, Usage(**row.usage) if row.usage else None
    )


def _rows(attempt_id: int, judge_id: str, scenario: Scenario, result: JudgeResult) -> tuple[list[ScoreRow], TotalRow]:
    weights = {d.name: float(d.weight) for d in scenario.rubric.dimensions}
    summed = total(result.scores, weights)
    rows = [_score_row(attempt_id, judge_id, name, weights[name], score) for name, score in result.scores.items()]
    return rows, TotalRow(
        attempt_id=attempt_id,
        judge_id=judge_id,
        seq=0,
        value=summed.value,
        partial=summed.partial,
        weight_scored=summed.weight_scored,
        missing=list(summed.missing),
        cuts=list(result.cuts),
    )


def _score_row(attempt_id: int, judge_id: str, name: str, weight: float, score: Score) -> ScoreRow:
    row = ScoreRow(
        attempt_id=attempt_id,
        judge_id=judge_id,
        dimension=name,
        weight=weight,
        value=None,
        reason=None,
        raw=None,
        samples=[],
        clamps=[],
        evidence=[],
        reasoning="",
    )
    if isinstance(score, Scored):
        row.value, row.raw, row.reasoning = score.value, score.raw, score.reasoning
        row.samples, row.asked, row.evidence = list(score.samples), score.asked, list(score.evidence)
        row.clamps = [asdict(clamp) for clamp in score.clamps]
    else:
        row.reason = score.reason
    return row
