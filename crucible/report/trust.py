"""Does the verdict on the score rest on the judge? The same comparison with all dimensions, and with measured ones only.

A judge model scores every dimension of a rubric. Some of them can also be measured (`judging.facts`), without any judge:
leaving the judge out means the weighted score of those alone, computed from the stored attempts. When the two comparisons
do not say the same, the reader must know it. A pure function of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from crucible.judging.facts import score_facts
from crucible.judging.total import total
from crucible.judging.types import Scored
from crucible.report.evidence import scores_on_these
from crucible.report.words import seldom
from crucible.runner.judge import facts_of
from crucible.scenario.load import parse_stored
from crucible.scenario.schema import Scenario
from crucible.store.facts import fact_records, judge_models
from crucible.store.queries import RunRecord, run_record, run_scores
from crucible.store.writes import Store

Word = Literal["better", "worse", "not told apart"]
Scores = Mapping[int, float]
"""Scores in [0, 1] by attempt."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way to score: `difference` of mean scores, treatment minus baseline, on these scenarios, with its exact
    permutation test and Welch's 95% interval (None where there is no spread to judge by)."""

    word: Word
    difference: float
    p_value: float
    interval: tuple[float, float] | None
    scored: int

    def text(self, treatment: str, baseline: str) -> str:
        """The side in a few words with its numbers."""
        claim = {
            "better": f"{treatment} scores better",
            "worse": f"{treatment} scores worse",
            "not told apart": f"{treatment} and {baseline} are not told apart",
        }[self.word]
        shown = "" if self.interval is None else f", 95% interval {self.interval[0]:+.2f} to {self.interval[1]:+.2f}"
        return f"{claim} ({self.difference:+.2f}{shown}, {seldom(self.p_value)}, {self.scored} attempts)"


@dataclass(frozen=True, slots=True)
class Trust:
    """A run's score with and without its judge. `judged` are the dimensions that only the judge can score.

    Both sides are None when there is nothing to compare, for `why_not`.
    """

    judges: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    treatment: str = ""
    baseline: str = ""
    with_judge: Side | None = None
    without_judge: Side | None = None
    why_not: str | None = None

    @property
    def agree(self) -> bool | None:
        """Whether both sides say the same; None when there is nothing to compare."""
        if self.with_judge is None or self.without_judge is None:
            return None
        return self.with_judge.word == self.without_judge.word

    def lines(self) -> list[str]:
        """What a reader of the score must know; empty when no model judged."""
        return list(self._lines())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "agree": self.agree}

    def _lines(self) -> Iterator[str]:
        if not self.judges:
            return
        if self.with_judge is None or self.without_judge is None:
            yield f"The score cannot be shown without the judge {', '.join(self.judges)}: {self.why_not}."
            return
        sides = [side.text(self.treatment, self.baseline) for side in (self.with_judge, self.without_judge)]
        yield f"With the judge ({', '.join(self.judges)}): {sides[0]}."
        yield f"Without it (measured: {', '.join(self.measured)}): {sides[1]}."
        if self.agree:
            yield (
                "Both name the same direction."
                if self.with_judge.word != "not told apart"
                else "Neither tells them apart."
            )
        else:
            yield f"They disagree: {self._disagreement()} See how far it can be believed: crucible agreement."

    def _disagreement(self) -> str:
        only = f" Only the judge scores {', '.join(self.judged)}." if self.judged else ""
        words = {side.word for side in (self.with_judge, self.without_judge) if side is not None}
        if words == {"better", "worse"}:
            return f"the judge turns the direction round.{only}"
        if self.with_judge is not None and self.with_judge.word != "not told apart":
            return f"the difference rests on the judge.{only}"
        return f"what is measured differs, and the judge's scores hide it.{only}"


def with_and_without_judge(store: Store, run_id: int) -> Trust:
    """The comparison of scores both ways. A run of scripted sessions, or without a judge model, has nothing to say."""
    judges = tuple(judge_models(store, run_id))
    record = run_record(store, run_id) if judges else None
    if record is None or record.run.rehearsal:
        return Trust(why_not="no model judged this run")
    scenarios = {digest: parse_stored(row.text) for digest, row in record.scenarios.items()}
    arms = {p.arm: p.baseline for p in record.plan}
    treatment, baseline = (next((a for a, is_b in arms.items() if is_b is which), "") for which in (False, True))
    _, totals = run_scores(store, run_id)
    judged_scores = {attempt: row.value for attempt, row in totals.items() if row.value is not None}
    measured_scores, measured = _measured(store, run_id, scenarios)
    every = list(dict.fromkeys(d.name for s in scenarios.values() for d in s.rubric.dimensions))
    found = Trust(judges, tuple(n for n in every if n not in measured), measured, treatment, baseline)
    return _compared(found, record, judged_scores, measured_scores)


def compare(strata: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Side:
    """Scores of treatment and baseline, scenario by scenario, each with at least one."""
    found = scores_on_these(tuple((tuple(t), tuple(b)) for t, b in strata))
    words: dict[int, Word] = {1: "better", 0: "not told apart", -1: "worse"}
    return Side(
        word=words[found.toward],
        difference=found.difference,
        p_value=1.0 if found.p_value is None else found.p_value,
        interval=found.interval,
        scored=sum(len(scores) for stratum in strata for scores in stratum),
    )


def _compared(found: Trust, record: RunRecord, judged: Scores, measured: Scores) -> Trust:
    both = [_strata(record, scores, found.treatment, found.baseline) for scores in (judged, measured)]
    sides = [compare(strata) if strata is not None else None for strata in both]
    why_not = None
    if not found.measured:
        why_not = "nothing in its rubric can be measured"
    elif sides[0] is None:
        why_not = "an arm has no attempt that the judge scored on every dimension"
    elif sides[1] is None:
        why_not = "an arm has no attempt on which every measured dimension is known"
    if why_not is not None:
        sides = [None, None]
    return Trust(
        found.judges, found.judged, found.measured, found.treatment, found.baseline, sides[0], sides[1], why_not
    )


def _strata(
    record: RunRecord, scores: Scores, treatment: str, baseline: str
) -> list[tuple[list[float], list[float]]] | None:
    """Scores per scenario and arm; None when some arm has none on some scenario."""
    found: dict[str, tuple[list[float], list[float]]] = {digest: ([], []) for digest in record.scenarios}
    for attempt in record.attempts:
        if (
            attempt.counted
            and attempt.arm in (treatment, baseline)
            and (value := scores.get(attempt.id or 0)) is not None
        ):
            found[attempt.scenario_hash][attempt.arm == baseline].append(value)
    strata = list(found.values())
    return strata if strata and all(a and b for a, b in strata) else None


def _measured(store: Store, run_id: int, scenarios: Mapping[str, Scenario]) -> tuple[Scores, tuple[str, ...]]:
    """Each attempt's score over the dimensions that can be measured, and their names."""
    values: dict[int, float] = {}
    names: dict[str, None] = {}
    rows = [(r, scenarios[r.attempt.scenario_hash]) for r in fact_records(store, run_id)]
    scored = [(r, s, score_facts([d.name for d in s.rubric.dimensions], facts_of(r, s))) for r, s in rows]
    for _, _, scores in scored:
        names.update((name, None) for name, score in scores.items() if isinstance(score, Scored))
    for record, scenario, scores in scored:
        mine = [d for d in scenario.rubric.dimensions if d.name in names]
        weighted = _weighted({d.name: float(d.weight) for d in mine}, [scores[d.name] for d in mine])
        if weighted is not None:
            values[record.attempt.id or 0] = weighted
    return values, tuple(names)


def _weighted(weights: Mapping[str, float], scores: Iterable[Any]) -> float | None:
    return total(dict(zip(weights, scores, strict=True)), weights).value if weights else None
