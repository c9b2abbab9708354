"""Night after night: has the pass rate dropped? An alarm with a promise, instead of a p-value per night.

The Shiryaev-Roberts e-detector adds up the evidence for a drop at each past night. Alarming when it reaches `threshold`
gives at least that many nights between false alarms on average, whatever the true rate is, as long as it is not below
`base`: so `base` should be a cautious lower limit of the baseline (`one_sample.clopper_pearson_lower` at 0.8). For a
false alarm every T nights over several charts together, the threshold of each is T times their number. One bad night is
never an alarm by itself; what an alarm starts is a confirmation floor of last good against now.

Source: Shin, Ramdas and Rinaldo 2022, arXiv 2203.03532.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, log1p

from crucible.stats import _checks

DROPS = (0.1, 0.2, 0.4)
"""Drops of the rate that are listened for, with equal weight."""
LOWEST = 0.01
"""A rate that a drop leads to is taken as at least this: a chance of 0 would forget everything at the first pass."""
MOST_LOG = 600.0
"""Evidence beyond it, far above any threshold, is held there: it can only be too small."""


@dataclass(frozen=True, slots=True)
class Detector:
    """`base` in (0, 1): the rate that must be kept; `evidence` per drop of `DROPS`, at least 0; nights seen so far."""

    base: float
    evidence: tuple[float, ...] = (0.0,) * len(DROPS)
    nights: int = 0

    def __post_init__(self) -> None:
        _checks.inside("base", self.base)

    @property
    def value(self) -> float:
        """The evidence for a drop at some past night; alarm when it reaches the threshold."""
        return sum(self.evidence) / len(self.evidence)


def after_night(detector: Detector, passes: int, attempts: int) -> Detector:
    """The detector after one more night, from what it was and that night's counts alone."""
    passes, attempts = _checks.counts(passes, attempts)
    ratios = [_likelihood_ratio(passes, attempts, detector.base, drop) for drop in DROPS]
    evidence = tuple(
        min(exp(MOST_LOG), (so_far + 1) * ratio) for so_far, ratio in zip(detector.evidence, ratios, strict=True)
    )
    return replace(detector, evidence=evidence, nights=detector.nights + 1)


def alarm(detector: Detector, threshold: float = 365.0) -> bool:
    """Whether the evidence reaches the threshold: on average at least that many nights apart when nothing dropped."""
    return detector.value >= _checks.positive("threshold", threshold)


def _likelihood_ratio(passes: int, attempts: int, base: float, drop: float) -> float:
    """Of the dropped rate to the base; at most 1 on average at any true rate from the base upwards."""
    lower = max(min(LOWEST, base / 2), base - drop)
    logarithm = passes * log(lower / base) + (attempts - passes) * (log1p(-lower) - log1p(-base))
    return exp(min(MOST_LOG, logarithm))
