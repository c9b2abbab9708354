"""Simulated experiments whose truth is known, pushed through everything a real one goes through: store, decision, report.

Only the agents are missing: each attempt passes with a stated chance. What comes out is counted: how often a direction was
named, and whether it was the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from crucible.report.overall import overall
from crucible.stats import looks, sequential
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store

ALPHA = 0.05
SURE = 1e-4
"""A count this unlikely under the promise is called a broken promise."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One kind of experiment: true pass rates by scenario (treatment, baseline), attempts per arm, and how it may end.

    `score` simulates the weighted score instead: a pass is worth about 0.8, a failure about 0.3.
    """

    rates: tuple[tuple[float, float], ...]
    attempts: int
    sequential: bool = False
    score: bool = False

    @property
    def equal(self) -> bool:
        """Whether the arms are the same, so that any direction named is a false alarm."""
        return all(treatment == baseline for treatment, baseline in self.rates)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many experiments of one kind ended with which word, and the attempts per arm they took in the mean."""

    experiment: Experiment
    words: Mapping[str, int]
    mean_attempts: float

    @property
    def number(self) -> int:
        """Experiments made."""
        return sum(self.words.values())

    @property
    def named(self) -> int:
        """Experiments in which a direction was named."""
        return self.words.get("better", 0) + self.words.get("worse", 0)

    def keeps(self, promised: float = ALPHA) -> bool:
        """Whether the named directions are no more than a chance of `promised` explains (exact binomial)."""
        from scipy.stats import binom

        return bool(binom.sf(self.named - 1, self.number, promised) > SURE)

    def reaches(self, promised: float) -> bool:
        """Whether the named directions are no fewer than a chance of `promised` explains (exact binomial)."""
        from scipy.stats import binom

        return bool(binom.cdf(self.named, self.number, promised) > SURE)


def simulate(
    experiment: Experiment, number: int, seed: int, verdict: Callable[[Store, int], str] | None = None
) -> Tally:
    """Make `number` experiments of one kind in a store of their own."""
    random = Random(f"{experiment} {seed}")  # noqa: S311 - to be repeated, not a secret
    words: Counter[str] = Counter()
    attempts = 0
    with TemporaryDirectory() as folder, Store(Path(folder) / "simulated.db") as store:
        for _ in range(number):
            run_id, made = _store(store, experiment, random)
            words[(verdict or word)(store, run_id)] += 1
            attempts += made
    return Tally(experiment, dict(words), attempts / number)


def word(store: Store, run_id: int) -> str:
    """The verdict the report gives."""
    found = overall(store, run_id)
    assert found is not None
    return found.verdict.word


def _store(store: Store, experiment: Experiment, random: Random) -> tuple[int, int]:
    declared = {"primary_metric": "score" if experiment.score else "pass_rate", "blocks": experiment.attempts}
    if not experiment.sequential:
        scenarios = {
            f"s{number}": {
                arm: list(_attempts(random, rate, experiment)) for arm, rate in zip("tb", rates, strict=True)
            }
            for number, rates in enumerate(experiment.rates)
        }
        return fill_run(store, scenarios, "b", **declared), experiment.attempts
    (rates,) = experiment.rates
    pairs = list(_until_decided(random, rates, experiment.attempts))
    scenario = {arm: [Filled(pair[place]) for pair in pairs] for place, arm in enumerate("tb")}
    return fill_run(store, {"s0": scenario}, "b", sequential=True, **declared), len(pairs)


def _attempts(random: Random, rate: float, experiment: Experiment) -> Iterator[Filled]:
    for _ in range(experiment.attempts):
        passed = random.random() < rate
        score = min(1.0, max(0.0, random.gauss(0.8 if passed else 0.3, 0.1))) if experiment.score else None
        yield Filled(passed, score)


def _until_decided(random: Random, rates: tuple[float, float], most: int) -> Iterator[tuple[bool, bool]]:
    """Pair after pair until the design says stop, as `run --until-decided` does."""
    design = sequential.calibrated(most)
    passed = [0, 0]
    for pairs in range(1, most + 1):
        pair = (random.random() < rates[0], random.random() < rates[1])
        passed = [passed[0] + pair[0], passed[1] + pair[1]]
        yield pair
        if pairs >= design.first_look and looks.at_look(design, pairs, *passed).decision != "go on":
            return
