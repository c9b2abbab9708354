"""What a number of attempts can show: for before a run, and after it.

Chances are four in five (power 80%) at a two-sided 5%. "About" means the normal approximation.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from statistics import variance

from crucible.report.evidence import differences, least_p
from crucible.report.spread import between, fewest_attempts, within
from crucible.report.tallies import ALPHA, POWER, Pairs, Terms
from crucible.report.words import attempts_in_words
from crucible.stats.looks import operating
from crucible.stats.planning import Suite, detectable_like_these, detectable_these
from crucible.stats.power import detectable_difference, normal_attempts_needed
from crucible.stats.sequential import calibrated

MOST_FOR_POWER = 60
"""Attempts per arm above which the exact power is not worth its time on a terminal."""
WORTH = 1.2
"""The most pairs of a design that may stop early, over the fixed number that finds as much."""
SMALLER = "four times in five; smaller ones mostly stay unseen"


def what_can_be_seen(attempts: int, base: float = 0.5) -> str:
    """What that many attempts per arm can find on one scenario, in one sentence; for before a run and after."""
    if attempts > MOST_FOR_POWER:
        return f"{attempts_in_words(attempts)} per arm find a difference of about {_about(attempts, base)}."
    if least_p(attempts, attempts) >= ALPHA:
        return f"{attempts_in_words(attempts)} per arm can never tell two arms apart: even all against none is p >= {ALPHA}."
    up, down = (detectable_difference(attempts, base, way, POWER, ALPHA) for way in ("up", "down"))
    seen = [f"{sign}{100 * step:.0f}" for sign, step in (("+", up), ("-", down)) if step is not None]
    if not seen:
        none = f"no difference from {100 * base:.0f}% four times in five, however large"
        return f"{attempts_in_words(attempts)} per arm find {none}."
    found = f"{' or '.join(seen)} points from {100 * base:.0f}% {SMALLER}"
    return f"{attempts_in_words(attempts)} per arm find a difference of {found}."


def _about(attempts: float, base: float) -> str:
    """The same by the normal approximation, where the exact power is not worth its time."""
    steps = [step / 100 for step in range(1, 101)]
    seen = []
    for sign, way in (("+", 1), ("-", -1)):
        others = [(step, base + way * step) for step in steps if 0 <= base + way * step <= 1]
        enough = [step for step, other in others if normal_attempts_needed(other, base, POWER, ALPHA) <= attempts]
        seen += [f"{sign}{100 * enough[0]:.0f}"] if enough else []
    return f"{' or '.join(seen)} points from {100 * base:.0f}% {SMALLER}"


def what_a_design_can_see(most: int) -> str:
    """What a run until decided of at most `most` pairs can find on one scenario, in one sentence."""
    design = f"A run until decided of at most {most} pairs"
    if most > MOST_FOR_POWER:
        return f"{design} finds a difference of about {_about(most / WORTH, 0.5)}."
    if (step := _design_detects(most)) is None:
        return f"{design} finds no difference from 50% four times in five, however large."
    return f"{design} finds a difference of {100 * step:.0f} points from 50% {SMALLER}."


@lru_cache(maxsize=64)
def _design_detects(most: int) -> float | None:
    """The smallest difference from a rate of 50%, in whole points, that the design finds with a power of 80%."""
    low, high = 0, 51
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if operating(calibrated(most), 0.5 + middle / 100, 0.5).power >= POWER else (middle, high)
        )
    return high / 100 if high <= 50 else None


def could_see(pairs: Pairs, terms: Terms) -> list[str]:
    """What this run could have detected, claim by claim, in sentences."""
    if len(pairs) == 1 and terms.metric == "pass_rate":
        (pair,) = pairs
        return [what_can_be_seen(fewest_attempts(pairs, terms), pair.baseline.passed / pair.baseline.counted)]
    if (spread := within(pairs, terms)) is None:
        return _without_spread(pairs, terms)
    suite = Suite(len(pairs), fewest_attempts(pairs, terms), spread)
    said = [f"On {_these(pairs)}: {_detects(detectable_these(suite, POWER, ALPHA), terms)}."]
    if len(pairs) > 1:
        found = detectable_like_these(
            Suite(len(pairs), fewest_attempts(pairs, terms), spread, between(pairs, terms)), POWER, ALPHA
        )
        said.append(f"On scenarios like these: {_detects(found or 2.0, terms)}.")
    return said


def _without_spread(pairs: Pairs, terms: Terms) -> list[str]:
    """Where these scores do not tell how attempts vary; how scenarios vary they may tell all the same."""
    alone = all(len(tally.scored) < 2 for pair in pairs for tally in pair[:2])
    why = (
        "one attempt of each arm does not tell how attempts vary"
        if alone
        else "every attempt of an arm came out the same"
    )
    said = [f"On {_these(pairs)}: what could have been seen cannot be told, {why}."]
    apart = variance(differences(pairs, terms)) if len(pairs) > 1 else 0.0
    if apart > 0:
        found = detectable_like_these(Suite(len(pairs), fewest_attempts(pairs, terms), 0.0, sqrt(apart)), POWER, ALPHA)
        said.append(f"On scenarios like these: {_detects(found or 2.0, terms)}.")
    return said


def _detects(difference: float, terms: Terms) -> str:
    if difference > 1:
        return "no difference is found four times in five, however large"
    return f"a difference of {terms.amount(difference, signed=False)} is found four times in five"


def _these(pairs: Pairs) -> str:
    return "this scenario" if len(pairs) == 1 else f"these {len(pairs)} scenarios"
