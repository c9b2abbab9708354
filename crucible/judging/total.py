"""The weighted total of one attempt. A missing dimension makes it missing; it is never taken for a zero."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crucible.judging.types import Score, Scored


@dataclass(frozen=True, slots=True)
class Total:
    """The total in [0, 1], or the part of it that is known.

    `value` is None while a dimension is missing. Then `partial` is the weighted mean over the dimensions that were
    scored (None when none was), to be shown as partial with `weight_scored`, the share of the weight it stands on.
    """

    value: float | None
    partial: float | None
    missing: tuple[str, ...]
    weight_scored: float


def total(scores: Mapping[str, Score], weights: Mapping[str, float]) -> Total:
    """Combine scores by weight. Raises ValueError for a weight that is not above 0 or a score without a weight."""
    _check(scores, weights)
    scored = {name: score.value for name in weights if isinstance(score := scores.get(name), Scored)}
    missing = tuple(name for name in weights if name not in scored)
    mean = _mean(scored, weights) if scored else None
    if not missing:
        return Total(mean, None, (), 1.0)
    share = math.fsum(weights[name] for name in scored) / math.fsum(weights.values())
    return Total(None, mean, missing, share)


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return math.fsum(weights[name] * value for name, value in values.items()) / math.fsum(
        weights[name] for name in values
    )


def _check(scores: Mapping[str, Score], weights: Mapping[str, float]) -> None:
    if not weights or not all(math.isfinite(weight) and weight > 0 for weight in weights.values()):
        raise ValueError("every dimension needs a finite weight above 0, and there must be one dimension at least")
    if unknown := sorted(set(scores) - set(weights)):
        raise ValueError(f"scores without a weight: {', '.join(unknown)}")
