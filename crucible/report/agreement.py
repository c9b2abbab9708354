"""Can the judge be believed? Its scores against those of people who saw the same, dimension by dimension.

A pure function of judged scores and labels. Where several people labelled the same, their lower median stands for them.

Labels are taken as often from attempts the judge passed as from those it failed, so they are no random sample: each
weighs as many attempts of its arm and class as it stands for (Begg and Greenes 1983), and counts for its effective number
(Kish 1965), when the judge's error rates are estimated. From those come the corrected pass rates (Rogan and Gladen 1978)
and their intervals (Lee et al. 2025).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import floor
from statistics import median_low
from typing import Any, Literal

from crucible.judging.types import TOP_SCORE
from crucible.report.words import percent
from crucible.runner.labelling import PASSING
from crucible.stats.agreement import cohen_kappa, krippendorff_alpha
from crucible.stats.judge_correction import Labels, corrected_interval, corrected_rate
from crucible.store.labels import JudgedScore, Label

RELY, TENTATIVE = 0.8, 0.667
ENOUGH_PER_ARM = 25
"""Labels of each class from which on an arm's own labels are used; with fewer, those of all arms together are."""
FEW, FEWEST = 50, 10
"""Labelled attempts below which the interval of kappa is rough, and below which kappa says nothing."""
NO_SPREAD = 1e-9
Light = Literal["rely on it", "tentative", "do not let a verdict depend on it", "cannot be said"]


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How often the judge passes what people pass, and fails what they fail, in [0, 1], over so many labels.

    `labels` are the effective numbers behind both; None when people passed, or failed, none of them.
    """

    passed: int
    failed: int
    labels: Labels | None


@dataclass(frozen=True, slots=True)
class Corrected:
    """One arm's pass rate on one dimension: as judged (`passed` of `judged`), and corrected for the judge's errors.

    `rate` and `interval` are None when they cannot be given, for `why_not`. `own` tells whether the errors were
    estimated from this arm's labels; else they are taken to be the same for both arms.
    """

    arm: str
    passed: int
    judged: int
    own: bool
    rate: float | None = None
    interval: tuple[float, float] | None = None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """One dimension under one judge. `table[i][j]` are attempts that people gave i and the judge j, each 0 to 5.

    `same` is the share with equal scores; `kappa` has quadratic weights and is None when all scores are alike; its interval
    is None when there is no disagreement to judge its width by. `between_people` is Krippendorff's alpha (ordinal) where
    two or more people labelled the same.
    """

    dimension: str
    judge: str
    people: tuple[str, ...]
    labelled: int
    same: float
    kappa: float | None
    interval: tuple[float, float] | None
    light: Light
    table: tuple[tuple[int, ...], ...]
    between_people: float | None
    errors: ErrorRates
    arms: tuple[Corrected, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Pair:
    score: JudgedScore
    person: int


def agreement(scores: Iterable[JudgedScore], labels: Iterable[Label]) -> list[Agreement]:
    """Every dimension that people labelled, by judge version. Labels of "cannot say" are left out."""
    given: dict[tuple[int, str], dict[str, int]] = {}
    for label in labels:
        if label.value is not None:
            given.setdefault((label.attempt_id, label.dimension), {})[label.labeller] = label.value
    ordered = sorted(scores, key=_version)
    found = (_dimension(list(mine), given) for _, mine in groupby(ordered, _version))
    return [one for one in found if one is not None]


def _version(score: JudgedScore) -> tuple[str, str, int, str]:
    return score.dimension, score.judge, score.samples, score.prompt_hash


def _dimension(scores: list[JudgedScore], given: dict[tuple[int, str], dict[str, int]]) -> Agreement | None:
    labelled = [(score, mine) for score in scores if (mine := given.get((score.attempt_id, score.dimension)))]
    pairs = [_Pair(score, median_low(mine.values())) for score, mine in labelled]
    if not pairs:
        return None
    counts = Counter((pair.person, as_label(pair.score.value)) for pair in pairs)
    size = range(TOP_SCORE + 1)
    table = tuple(tuple(counts[i, j] for j in size) for i in size)
    kappa = cohen_kappa(table, "quadratic")
    return Agreement(
        dimension=scores[0].dimension,
        judge=scores[0].judge,
        people=tuple(sorted({name for _, mine in labelled for name in mine})),
        labelled=len(pairs),
        same=sum(table[i][i] for i in size) / len(pairs),
        kappa=kappa.kappa if kappa else None,
        interval=(kappa.interval.low, kappa.interval.high) if kappa and kappa.se > NO_SPREAD else None,
        light=light_of(kappa.kappa if kappa else None, len(pairs)),
        table=table,
        between_people=_between([mine for _, mine in labelled]),
        errors=error_rates(pairs, scores),
        arms=tuple(_arm(arm, pairs, scores) for arm in sorted({score.arm for score in scores})),
    )


def light_of(kappa: float | None, labelled: int) -> Light:
    """Krippendorff's rule of thumb: 0.8 and 0.667. A handful of labels lights none."""
    if kappa is None or labelled < FEWEST:
        return "cannot be said"
    if kappa >= RELY:
        return "rely on it"
    return "tentative" if kappa >= TENTATIVE else "do not let a verdict depend on it"


def as_label(value: float) -> int:
    """A score in [0, 1] on the scale of labels; a half is rounded up."""
    return floor(value * TOP_SCORE + 0.5)


def _between(labels: Sequence[dict[str, int]]) -> float | None:
    people = sorted({name for mine in labels for name in mine})
    ratings = [[mine.get(name) for mine in labels] for name in people]
    return krippendorff_alpha(ratings, "ordinal") if any(len(mine) > 1 for mine in labels) else None


def error_rates(pairs: Sequence[_Pair], scores: Sequence[JudgedScore]) -> ErrorRates:
    """From labels picked evenly from what the judge passed and failed to its rates among all scores."""
    passing = [pair for pair in pairs if pair.person >= PASSING * TOP_SCORE]
    failing = [pair for pair in pairs if pair.person < PASSING * TOP_SCORE]
    if not passing or not failing:
        return ErrorRates(len(passing), len(failing), None)
    all_of, labelled = Counter(map(_class, scores)), Counter(_class(pair.score) for pair in pairs)
    weight = {one: all_of[one] / labelled[one] for one in labelled}
    sensitivity, n_pass = _share([(weight[_class(p.score)], _judged_pass(p.score)) for p in passing])
    specificity, n_fail = _share([(weight[_class(p.score)], not _judged_pass(p.score)) for p in failing])
    return ErrorRates(len(passing), len(failing), Labels(sensitivity, n_pass, specificity, n_fail))


def _share(weighted: Sequence[tuple[float, bool]]) -> tuple[float, int]:
    """A weighted share, and the number of equally weighted ones that would say as much, at least 1."""
    total = sum(weight for weight, _ in weighted)
    effective = total**2 / sum(weight**2 for weight, _ in weighted)
    right = sum(weight for weight, is_right in weighted if is_right) / total
    return min(1.0, right), max(1, floor(effective + 1e-9))


def _class(score: JudgedScore) -> tuple[str, bool]:
    return score.arm, _judged_pass(score)


def _judged_pass(score: JudgedScore) -> bool:
    return score.value >= PASSING


def _arm(arm: str, pairs: Sequence[_Pair], scores: Sequence[JudgedScore]) -> Corrected:
    mine = [score for score in scores if score.arm == arm]
    own_pairs = [pair for pair in pairs if pair.score.arm == arm]
    errors = error_rates(own_pairs, mine)
    own = min(errors.passed, errors.failed) >= ENOUGH_PER_ARM
    return corrected(arm, sum(map(_judged_pass, mine)), len(mine), errors if own else error_rates(pairs, scores), own)


def corrected(arm: str, passed: int, judged: int, errors: ErrorRates, own: bool) -> Corrected:
    """One arm's pass rate behind the judged one. Refused for a judge that is no better than chance."""
    if errors.labels is None:
        kind = "passed" if not errors.passed else "failed"
        return Corrected(arm, passed, judged, own, why_not=f"nothing that was labelled was {kind} by people")
    sensitivity, specificity = errors.labels.sensitivity, errors.labels.specificity
    try:
        rate = corrected_rate(passed / judged, sensitivity, specificity)
        found = corrected_interval(passed / judged, judged, errors.labels)
    except ValueError:
        why_not = (
            f"the judge is no better than chance: it passes {percent(sensitivity)} of what people pass and fails "
            f"{percent(specificity)} of what they fail"
        )
        return Corrected(arm, passed, judged, own, why_not=why_not)
    return Corrected(arm, passed, judged, own, rate, (found.low, found.high))
