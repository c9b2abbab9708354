"""A person scores attempts blind: which ones, what they are shown, and the conversation.

They see what a judge sees and nothing else: the task, the criteria, the change, the test report, with names of arms,
models and tools hidden by the judge's own blinding. The judge's score is never shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

from crucible.judging.blinding import Blinder, secrets_of
from crucible.judging.digest import digest
from crucible.judging.evidence import Shown, fit
from crucible.judging.types import TOP_SCORE
from crucible.runner.judge import evidence_of
from crucible.scenario.load import parse_stored
from crucible.store.labels import JudgedScore, Label, add_label, take_back_label
from crucible.store.queries import attempt_record
from crucible.store.writes import Store
from crucible.transcript.events import EVENT, Started

PASSING = 0.6
"""A score from 3 of 5 on is a pass, a judge's and a person's."""
ROOM = 40_000
"""Characters of evidence a person is shown of one attempt."""
SCALE = "0 absent or harmful, 1 barely met, 2 serious fault, 3 clear gap, 4 small flaw, 5 fully met"
KEYS = f"0-{TOP_SCORE}, t transcript, r reference, s cannot say, u undo, q quit"
_AT_ONCE = ("task", "change", "test report")


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to score. `criteria` and `evidence` are blinded."""

    attempt_id: int
    dimension: str
    criteria: str
    evidence: Shown

    def part(self, name: str) -> str:
        """One part of the evidence, under a heading that says when it was cut."""
        part = next(p for p in self.evidence.parts if p.name == name)
        return f"--- {name}{' (the middle was left out)' if part.cut else ''} ---\n{part.text.rstrip()}\n"


def pick(
    scores: Sequence[JudgedScore], known: Iterable[Label], labeller: str, count: int, random: Random
) -> list[JudgedScore]:
    """Up to `count` scores that this person has not labelled, in random order.

    Dimension, arm and the judge's pass or fail make a stratum; the next one always comes from the stratum with the fewest
    labels of anybody, so that both classes of every arm are covered however rare one of them is.
    """
    known = list(known)
    mine = {(one.attempt_id, one.dimension) for one in known if one.labeller == labeller}
    said = {(one.attempt_id, one.dimension) for one in known if one.value is not None}
    have = Counter(_stratum(score) for score in scores if (score.attempt_id, score.dimension) in said)
    left: dict[tuple[str, str, bool], list[JudgedScore]] = {}
    for score in random.sample(list(scores), len(scores)):
        if (score.attempt_id, score.dimension) not in mine:
            left.setdefault(_stratum(score), []).append(score)
    picked: list[JudgedScore] = []
    while left and len(picked) < count:
        stratum = min(left, key=lambda one: (have[one], random.random()))
        picked.append(left[stratum].pop())
        have[stratum] += 1
        if not left[stratum]:
            del left[stratum]
    random.shuffle(picked)
    return picked


def question(store: Store, score: JudgedScore) -> Question:
    """What a person is shown of a score's attempt: as the judge saw it, without the judge."""
    record = attempt_record(store, score.attempt_id)
    if record is None:
        raise LookupError(f"attempt {score.attempt_id} is not in the store")
    scenario = parse_stored(record.scenario.text)
    events = [EVENT.validate_json(row.data) for row in record.events]
    secrets = secrets_of(scenario, next((e for e in events if isinstance(e, Started)), None))
    blind = Blinder(replace(secrets, models=(*secrets.models, record.attempt.model)))
    criteria = next((d.criteria for d in scenario.rubric.dimensions if d.name == score.dimension), "")
    evidence = fit(evidence_of(record, scenario, digest(events, blind=blind)), blind, ROOM)
    return Question(score.attempt_id, score.dimension, blind(criteria), evidence)


class Session:
    """The conversation: one question after the other, each answer saved before the next is asked."""

    def __init__(self, store: Store, labeller: str, picked: Sequence[JudgedScore], say: Callable[[str], None]) -> None:
        self.store, self.labeller, self.picked, self.say = store, labeller, picked, say
        self._given: list[int] = []

    @property
    def labelled(self) -> int:
        """Answers saved and not taken back."""
        return len(self._given)

    def hold(self, ask: Callable[[str], str | None]) -> None:
        """Go through all of it; `ask` shows a prompt and gives the line typed, or None at the end of input."""
        while len(self._given) < len(self.picked):
            here = len(self._given)
            asked = question(self.store, self.picked[here])
            self._show(asked, here)
            began = monotonic()
            answer = self._answer(asked, ask)
            if answer is None:
                return
            if answer == "u":
                take_back_label(self.store, self._given.pop())
                self.say("taken back\n")
                continue
            value = None if answer == "s" else int(answer)
            seconds = round(monotonic() - began, 1)
            self._given.append(add_label(self.store, asked.attempt_id, asked.dimension, value, self.labeller, seconds))

    def _show(self, asked: Question, here: int) -> None:
        self.say(f"\n=== {here + 1} of {len(self.picked)} ===\n")
        for name in _AT_ONCE:
            self.say(asked.part(name))
        self.say(f"Score: {asked.dimension}\n{asked.criteria.rstrip()}\n{SCALE}")

    def _answer(self, asked: Question, ask: Callable[[str], str | None]) -> str | None:
        """A score, `s` or `u`; None to stop."""
        while (line := ask(f"{asked.dimension} [{KEYS}]: ")) is not None:
            key = line.strip().lower()
            if key == "q":
                return None
            if key in ("t", "r"):
                self.say(asked.part("transcript digest" if key == "t" else "reference change"))
            elif key == "u" and not self._given:
                self.say("there is nothing to take back")
            elif key in ("s", "u") or (len(key) == 1 and key in "012345"):
                return key
            else:
                self.say(f"{line.strip()[:40]!r} is none of these: {KEYS}")
        return None


def _stratum(score: JudgedScore) -> tuple[str, str, bool]:
    return score.dimension, score.arm, score.value >= PASSING
