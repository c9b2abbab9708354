"""A stored run as a comparison: per arm what was tried, counted, passed, scored and spent; then the difference.

A pure function of the store. Unknown is None; every mean says over how many it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.verdict import Tally, Verdict, decide
from crucible.scenario.load import parse_stored
from crucible.scenario.schema import Scenario
from crucible.stats.one_sample import wilson
from crucible.store.queries import RunRecord, first_requests, run_record, run_scores
from crucible.store.tables import AttemptRow, ScoreRow, TotalRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over the `n` values that are known, of `of`; `value` is None when none is."""

    value: float | None
    n: int
    of: int

    @classmethod
    def over(cls, values: Iterable[float | int | None]) -> Mean:
        """The mean of what is known among the values."""
        everything = list(values)
        known = [float(v) for v in everything if v is not None]
        return cls(sum(known) / len(known) if known else None, len(known), len(everything))


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm of a comparison. `pass_rate` is over counted attempts, its interval Wilson's at 95%."""

    arm: str
    model: str
    baseline: bool
    planned: int
    counted: int
    not_counted: dict[str, int]
    passed: int
    pass_rate: float | None
    pass_interval: tuple[float, float] | None
    total: Mean
    partial: Mean
    dimensions: dict[str, Mean]
    similarity: Mean
    cost_usd: Mean
    tokens: Mean
    uncached: Mean
    output: Mean
    turns: Mean
    tool_calls: Mean
    seconds: Mean
    blocked: int
    warned: int
    got_past: int


@dataclass(frozen=True, slots=True)
class Line:
    """One planned attempt as it stands."""

    attempt_id: int | None
    block: int
    arm: str
    ending: str
    cause: str | None
    counted: bool | None
    passed: bool | None
    total: float | None
    partial: float | None
    similarity: float | None
    tokens: int | None
    cost_usd: float | None
    turns: int | None
    blocked: int | None
    session: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms on one scenario in one run. `difference` is treatment minus baseline in pass rate; `verdict` has the rest."""

    scenario: str
    run_id: int
    rehearsal: bool
    unsandboxed: bool
    without_extra_tools: bool
    judge: str
    arms: tuple[ArmSummary, ...]
    difference: float | None
    verdict: Verdict
    lines: tuple[Line, ...]
    incomplete_blocks: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def comparisons(store: Store, run_id: int) -> list[Comparison]:
    """One comparison for each scenario of a run; empty when there is no such run."""
    record = run_record(store, run_id)
    if record is None:
        return []
    scores, totals = run_scores(store, run_id)
    requests = first_requests(store, run_id)
    hashes = list(dict.fromkeys(p.scenario_hash for p in record.plan))
    return [_comparison(record, digest, scores, totals, requests) for digest in hashes]


def _comparison(
    record: RunRecord,
    digest: str,
    scores: dict[int, list[ScoreRow]],
    totals: dict[int, TotalRow],
    requests: dict[int, str],
) -> Comparison:
    run, plan = record.run, [p for p in record.plan if p.scenario_hash == digest]
    scenario = parse_stored(record.scenarios[digest].text)
    dimensions = [d.name for d in scenario.rubric.dimensions]
    everything = [a for a in record.attempts if a.scenario_hash == digest]
    standing = {(arm, block): a for (h, arm, block), a in record.standing().items() if h == digest}
    arms = []
    for arm in sorted({p.arm for p in plan}, key=lambda name: (name == scenario.baseline.id, name)):
        planned = [p for p in plan if p.arm == arm]
        tried = [a for a in everything if a.arm == arm]
        arms.append(_arm(arm, planned[0].model, planned[0].baseline, len(planned), tried, dimensions, scores, totals))
    treatment, baseline = _pair(arms)
    return Comparison(
        scenario=scenario.name,
        run_id=run.id or 0,
        rehearsal=run.rehearsal,
        unsandboxed=run.sandbox == "copy",
        without_extra_tools=run.without_extra_tools and any(a.extra_tools for a in scenario.arms),
        judge=run.judge,
        arms=tuple(arms),
        difference=_difference(treatment, baseline),
        verdict=_verdict(record, scenario, treatment, baseline, everything, requests),
        lines=tuple(_line(p.block, p.arm, standing.get((p.arm, p.block)), totals) for p in plan),
        incomplete_blocks=tuple(
            sorted({p.block for p in plan if not ((a := standing.get((p.arm, p.block))) and a.counted)})
        ),
    )


def _arm(
    arm: str, model: str, baseline: bool, planned: int, tried: Sequence[AttemptRow], dimensions: Sequence[str],
    scores: dict[int, list[ScoreRow]], totals: dict[int, TotalRow],
) -> ArmSummary:  # fmt: skip
    counted = [a for a in tried if a.counted]
    passed = sum(bool(a.passed) for a in counted)
    rate = wilson(passed, len(counted)) if counted else None
    mine = [totals.get(a.id or 0) for a in counted]
    by_name = {
        name: Mean.over(
            next((s.value for s in scores.get(a.id or 0, []) if s.dimension == name), None) for a in counted
        )
        for name in dimensions
    }
    return ArmSummary(
        arm=arm,
        model=model,
        baseline=baseline,
        planned=planned,
        counted=len(counted),
        not_counted=dict(Counter(a.cause or "running" for a in tried if not a.counted)),
        passed=passed,
        pass_rate=passed / len(counted) if counted else None,
        pass_interval=(rate.low, rate.high) if rate else None,
        total=Mean.over(t.value if t else None for t in mine),
        partial=Mean.over(t.partial if t else None for t in mine),
        dimensions=by_name,
        similarity=Mean.over(a.similarity for a in counted),
        cost_usd=Mean.over(a.cost_usd for a in counted),
        tokens=Mean.over(a.tokens for a in counted),
        uncached=Mean.over(_sum(a.input_uncached, a.cache_write) for a in counted),
        output=Mean.over(a.output for a in counted),
        turns=Mean.over(a.turns for a in counted),
        tool_calls=Mean.over(a.tool_calls for a in counted),
        seconds=Mean.over(a.seconds for a in counted),
        blocked=sum(a.blocked or 0 for a in counted),
        warned=sum(a.warned or 0 for a in counted),
        got_past=sum(a.got_past or 0 for a in counted),
    )


def _sum(*parts: int | None) -> int | None:
    return None if any(p is None for p in parts) else sum(p for p in parts if p is not None)


def _pair(arms: Sequence[ArmSummary]) -> tuple[ArmSummary | None, ArmSummary | None]:
    """Treatment and baseline; either may not have been run."""
    return next((a for a in arms if not a.baseline), None), next((a for a in arms if a.baseline), None)


def _difference(treatment: ArmSummary | None, baseline: ArmSummary | None) -> float | None:
    rates = [arm.pass_rate if arm else None for arm in (treatment, baseline)]
    return None if rates[0] is None or rates[1] is None else rates[0] - rates[1]


def _verdict(
    record: RunRecord,
    scenario: Scenario,
    treatment: ArmSummary | None,
    baseline: ArmSummary | None,
    attempts: Sequence[AttemptRow],
    requests: dict[int, str],
) -> Verdict:
    if treatment is None or baseline is None:
        return Verdict("not tested", "Not tested: only one arm was run.")
    return decide(_tally(treatment), _tally(baseline), _why_not_tally(record, scenario, attempts, requests))


def _why_not_tally(
    record: RunRecord, scenario: Scenario, attempts: Sequence[AttemptRow], requests: dict[int, str]
) -> str | None:
    """A reason why the treatment was not put to the test, whatever the numbers are."""
    if record.run.rehearsal:
        return "the sessions are scripted, no model was asked"
    asked = {(a.arm, a.model, requests[a.id or 0]) for a in attempts if a.counted and a.id in requests}
    if len({arm for arm, *_ in asked}) > 1 and len({(model, request) for _, model, request in asked}) == 1:
        left_out = any(arm.extra_tools for arm in scenario.arms) and record.run.without_extra_tools
        return f"both arms were the same{': the extra tools, which set them apart, were left out' if left_out else ''}"
    return None


def _tally(arm: ArmSummary) -> Tally:
    return Tally(arm.arm, arm.planned, arm.counted, sum(arm.not_counted.values()), arm.passed)


def _line(block: int, arm: str, attempt: AttemptRow | None, totals: dict[int, TotalRow]) -> Line:
    total = totals.get(attempt.id or 0) if attempt else None
    return Line(
        attempt_id=attempt.id if attempt else None,
        block=block,
        arm=arm,
        ending=(attempt.ending or "running") if attempt else "not made yet",
        cause=attempt.cause if attempt else None,
        counted=attempt.counted if attempt else None,
        passed=attempt.passed if attempt else None,
        total=total.value if total else None,
        partial=total.partial if total else None,
        similarity=attempt.similarity if attempt else None,
        tokens=attempt.tokens if attempt else None,
        cost_usd=attempt.cost_usd if attempt else None,
        turns=attempt.turns if attempt else None,
        blocked=attempt.blocked if attempt else None,
        session=attempt.session if attempt else None,
        detail=attempt.detail if attempt else "",
    )
