"""One arm on one scenario: what was tried, counted, passed, scored and spent. Every mean says over how many it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from crucible.report.verdict import Tally
from crucible.stats.one_sample import wilson
from crucible.store.measures import Measured, Slot
from crucible.store.states import RUNNING


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
    """One arm of a comparison. `pass_rate` is over counted attempts, its interval Wilson's at 95%.

    `not_counted` are attempts by cause, `unscored` counted attempts without a total by reason, `flags` counted attempts by
    the kind of flag they carry.
    """

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
    timed_out: int = 0
    unscored: dict[str, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Side:
    """One arm's attempts on one scenario: all that were tried, and those that count in the order of their blocks."""

    arm: str
    model: str
    baseline: bool
    planned: int
    tried: tuple[Measured, ...]
    counted: tuple[Measured, ...]

    def tally(self) -> Tally:
        """The counts a verdict is made of."""
        passed = sum(bool(a.passed) for a in self.counted)
        lost = sum(not a.counted for a in self.tried)
        scores = tuple(a.total for a in self.counted)
        unjudged = sum(a.judge_id is None for a in self.counted)
        return Tally(self.arm, self.planned, len(self.counted), lost, passed, scores, unjudged)


def side(arm: str, plan: Sequence[Slot], attempts: Iterable[Measured]) -> Side:
    """The arm's part of one scenario's plan and attempts."""
    slots = [slot for slot in plan if slot.arm == arm]
    tried = tuple(a for a in attempts if a.arm == arm)
    counted = tuple(sorted((a for a in tried if a.counted), key=lambda a: a.block))
    return Side(arm, slots[0].model, slots[0].baseline, len(slots), tried, counted)


def summary(
    one: Side, dimensions: Sequence[str], flags: Mapping[int, Sequence[str]], going: str = RUNNING
) -> ArmSummary:
    """The arm in numbers. `flags` are kinds of flags by attempt; `going` is how attempts without an ending stand."""
    counted, tally = one.counted, one.tally()
    rate = wilson(tally.passed, tally.counted) if counted else None
    return ArmSummary(
        arm=one.arm,
        model=one.model,
        baseline=one.baseline,
        planned=one.planned,
        counted=tally.counted,
        not_counted=dict(Counter(a.cause or going for a in one.tried if not a.counted)),
        passed=tally.passed,
        pass_rate=tally.passed / tally.counted if counted else None,
        pass_interval=(rate.low, rate.high) if rate else None,
        total=Mean.over(a.total for a in counted),
        partial=Mean.over(a.partial for a in counted),
        dimensions={name: Mean.over(a.scores.get(name) for a in counted) for name in dimensions},
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
        timed_out=sum(a.timed_out for a in counted),
        unscored=dict(Counter(_why_unscored(a) for a in counted if a.total is None)),
        flags=dict(Counter(kind for a in counted for kind in set(flags.get(a.id, ())))),
    )


def _sum(*parts: int | None) -> int | None:
    return None if any(p is None for p in parts) else sum(p for p in parts if p is not None)


def _why_unscored(attempt: Measured) -> str:
    if attempt.judge_id is None:
        return "not judged yet"
    names: dict[str, list[str]] = {}
    for name, reason in sorted(attempt.unscored.items()):
        names.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(of)}: {reason}" for reason, of in names.items())


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


def line(slot: Slot, attempt: Measured | None, going: str = RUNNING) -> Line:
    """The slot with what came of it; without an attempt it was not made yet. `going` is how one without an ending stands,
    running or unfinished."""
    if attempt is None:
        return Line(None, slot.block, slot.arm, "not made yet", *(None,) * 11, detail="")
    return Line(
        attempt_id=attempt.id,
        block=slot.block,
        arm=slot.arm,
        ending=attempt.ending or going,
        cause=attempt.cause,
        counted=attempt.counted,
        passed=attempt.passed,
        total=attempt.total,
        partial=attempt.partial,
        similarity=attempt.similarity,
        tokens=attempt.tokens,
        cost_usd=attempt.cost_usd,
        turns=attempt.turns,
        blocked=attempt.blocked,
        session=attempt.session,
        detail=attempt.detail,
    )
