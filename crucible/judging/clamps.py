"""Clamps: what was measured bounds what may be judged. Pure, and recorded beside the raw score."""

from __future__ import annotations

import math

from crucible.judging.types import CORRECTNESS, MINIMALITY, Clamp, Facts

NOT_GREEN_CAP = 0.3
"""Highest correctness while the suite is not green."""
FREE_SIZE_RATIO = 1.5
"""A change up to this many times the size of the reference is not held to be large."""


def clamp(dimension: str, raw: float, facts: Facts) -> tuple[float, tuple[Clamp, ...]]:
    """The score after every cap of its dimension, and the caps that lowered it, lowest last.

    Raises ValueError unless `raw` is in [0, 1]: `max(0, min(1, nan))` is 1.0 in Python.
    """
    if not (math.isfinite(raw) and 0 <= raw <= 1):
        raise ValueError(f"a raw score must be a finite number from 0 to 1, got {raw!r}")
    biting = [cap for cap in caps(dimension, facts) if cap.cap < raw]
    biting.sort(key=lambda cap: -cap.cap)
    return min([raw, *(cap.cap for cap in biting)]), tuple(biting)


def caps(dimension: str, facts: Facts) -> list[Clamp]:
    """The caps the facts put on a dimension, whether or not a score reaches them."""
    if dimension == CORRECTNESS:
        return _correctness_caps(facts)
    if dimension == MINIMALITY:
        return _minimality_caps(facts)
    return []


def size_cap(ratio: float) -> float:
    """Highest minimality at a size ratio: 1 up to 1.5 times the reference, then 1.5 / ratio: it never rises."""
    return 1.0 if ratio <= FREE_SIZE_RATIO else FREE_SIZE_RATIO / ratio


def _correctness_caps(facts: Facts) -> list[Clamp]:
    found = []
    if facts.suite == "tampered":
        found.append(Clamp("suite_tampered", 0.0, "what the suite reported was not made by running the tests"))
    elif facts.suite != "green":
        why = "the suite is red" if facts.suite == "red" else "the suite gave no verdict, so it is not green"
        found.append(Clamp("suite_not_green", NOT_GREEN_CAP, why))
    if not facts.changed:
        found.append(Clamp("nothing_changed", 0.0, "nothing was changed"))
    return found


def _minimality_caps(facts: Facts) -> list[Clamp]:
    if not facts.changed:
        return [Clamp("nothing_changed", 0.0, "nothing was changed, so there is no change to be minimal")]
    if facts.size_ratio is None:
        return []
    why = f"the change is {facts.size_ratio:.2f} times the size of the reference"
    return [Clamp("size_ratio", size_cap(facts.size_ratio), why)]
