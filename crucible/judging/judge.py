"""Asking a judge: one call for each dimension and sample, a refused reply asked for once more, nothing lost.

The only module here that calls a model. What a reply is worth is decided in `parse`, what a score may be in `clamps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from crucible.errors import ProviderError
from crucible.judging import protocol
from crucible.judging.blinding import Blinder, Secrets
from crucible.judging.clamps import clamp
from crucible.judging.evidence import BUDGET_CHARS, Shown, fit
from crucible.judging.parse import CUT_OFF, Refused, parse, read
from crucible.judging.types import TOP_SCORE, Evidence, Facts, Judgement, NotScored, ParsedReply, Score, Scored
from crucible.llm.types import Model, Reply, Request
from crucible.scenario.schema import Dimension
from crucible.transcript.messages import Message, Usage

ASKINGS = 2
"""How often one sample is asked for: once, and once more after a refusal."""
OUTPUT_TOKENS = 4_096
"""Room for one reply; a judge may think before it answers."""
OUTPUT_TOKENS_AFTER_CUT = 8_192
"""Room for the second reply when the first was cut off."""

Record = Callable[[Judgement], None]


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """The scores of one attempt, all judgements they rest on (earlier ones too), and what was cut from the evidence."""

    scores: dict[str, Score]
    judgements: tuple[Judgement, ...]
    cuts: tuple[str, ...]


async def judge_attempt(
    model: Model,
    evidence: Evidence,
    dimensions: Sequence[Dimension],
    facts: Facts,
    *,
    secrets: Secrets,
    record: Record,
    samples: int = 1,
    done: Iterable[Judgement] = (),
    budget_chars: int = BUDGET_CHARS,
) -> JudgeResult:
    """Judge one attempt on every dimension, `samples` times each, and clamp the medians by the facts.

    `record` is called with each new judgement before anything else happens, so that a ProviderError or a cancellation,
    which are never turned into scores, lose nothing: give the recorded judgements back as `done`, and only what is
    missing is asked. Evidence larger than the judge's context is the one provider error that no waiting mends: those
    dimensions are not scored. Raises ValueError when `samples` is below 1.
    """
    if samples < 1:
        raise ValueError(f"a judge needs at least one sample, got {samples}")
    blind = Blinder(secrets)
    shown = fit(evidence, blind, budget_chars, [dimension.name for dimension in dimensions])
    session = _Session(model, shown, blind, record, list(done))
    for sample in range(1, samples + 1):
        for dimension in dimensions:
            await session.settle(dimension, sample)
    judgements = tuple(session.judgements)
    return JudgeResult(scores_from(judgements, [d.name for d in dimensions], facts, samples), judgements, shown.cuts)


def scores_from(
    judgements: Iterable[Judgement], dimensions: Iterable[str], facts: Facts, samples: int
) -> dict[str, Score]:
    """The scores that judgements amount to: clamped medians, or not scored with every reason. Pure."""
    kept = [judgement for judgement in judgements if judgement.sample <= samples]
    return {name: _score(name, [j for j in kept if j.dimension == name], facts, samples) for name in dimensions}


def restore(dimension: str, sample: int, asking: int, raw: str, error: str | None, usage: Usage | None) -> Judgement:
    """A stored judgement as it was; its quotes were checked when it was made. Raises ValueError if it was never one."""
    return Judgement(dimension, sample, asking, raw, read(raw) if error is None else None, error, usage)


class _Session:
    """The questions about one attempt, over one shared prefix."""

    def __init__(self, model: Model, shown: Shown, blind: Blinder, record: Record, judgements: list[Judgement]) -> None:
        self.judgements = judgements
        self._model = model
        self._shown = shown
        self._blind = blind
        self._record = record
        self._prefix = protocol.prefix(shown, protocol.choose_marker(shown.texts))

    async def settle(self, dimension: Dimension, sample: int) -> None:
        """Ask until this sample has a valid reply or no more may be asked; what was asked before counts."""
        earlier = [j for j in self.judgements if (j.dimension, j.sample) == (dimension.name, sample)]
        while not _settled(earlier):
            judgement = await self._ask(dimension, sample, earlier)
            self._record(judgement)
            self.judgements.append(judgement)
            earlier.append(judgement)

    async def _ask(self, dimension: Dimension, sample: int, earlier: list[Judgement]) -> Judgement:
        asking = len(earlier) + 1
        try:
            reply = await self._model.complete(self._request(dimension, earlier))
        except ProviderError as error:
            if error.kind != "context":
                raise
            reason = f"the evidence does not fit the judge's context: {error.message}"
            return Judgement(dimension.name, sample, asking, "", None, reason, None)
        return _judgement(dimension.name, sample, asking, reply, self._shown)

    def _request(self, dimension: Dimension, earlier: list[Judgement]) -> Request:
        again: list[Message] = []
        for judgement in earlier:
            again.extend(protocol.ask_again(judgement.raw, judgement.error or ""))
        was_cut = any(judgement.error == CUT_OFF for judgement in earlier)
        return Request(
            messages=(*self._prefix, protocol.question(dimension, self._blind), *again),
            max_output_tokens=OUTPUT_TOKENS_AFTER_CUT if was_cut else OUTPUT_TOKENS,
            response_schema=protocol.SCHEMA,
        )


def _settled(earlier: Sequence[Judgement]) -> bool:
    if not earlier:
        return False
    last = earlier[-1]
    return last.parsed is not None or last.usage is None or len(earlier) >= ASKINGS


def _judgement(dimension: str, sample: int, asking: int, reply: Reply, shown: Shown) -> Judgement:
    parsed = parse(reply.text, reply.finish_reason, shown.texts)
    if isinstance(parsed, Refused):
        return Judgement(dimension, sample, asking, reply.text, None, parsed.reason, reply.usage)
    return Judgement(dimension, sample, asking, reply.text, parsed, None, reply.usage)


def _score(dimension: str, judgements: list[Judgement], facts: Facts, samples: int) -> Score:
    replies = [judgement.parsed for judgement in sorted(judgements, key=_order) if judgement.parsed is not None]
    if not replies:
        return NotScored(_why_not(judgements))
    middle = median(reply.score for reply in replies)
    raw = middle / TOP_SCORE
    value, clamps = clamp(dimension, raw, facts)
    speaker: ParsedReply = min(replies, key=lambda reply: abs(reply.score - middle))
    return Scored(
        value, raw, clamps, speaker.evidence, speaker.reasoning, tuple(reply.score for reply in replies), asked=samples
    )


def _why_not(judgements: list[Judgement]) -> str:
    if not judgements:
        return "the judge was not asked"
    reasons = dict.fromkeys(judgement.error or "" for judgement in sorted(judgements, key=_order))
    return f"no valid reply (times asked: {len(judgements)}): {'; '.join(reasons)}"


def _order(judgement: Judgement) -> tuple[int, int]:
    return judgement.sample, judgement.asking
