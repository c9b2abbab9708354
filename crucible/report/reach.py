"""What a number of attempts could have shown, and what it would take to show a difference: for before a run and after.

Chances are four in five (power 80%) at a two-sided 5%. "About" means the normal approximation, or an estimate from this
run's own spread; the plan of a new run computes it exactly.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from statistics import fmean, variance

from crucible.report.evidence import differences, least_p
from crucible.report.tallies import ALPHA, MARGIN, POWER, Pairs, Tally, Terms
from crucible.stats.looks import operating
from crucible.stats.planning import (
    SIGMA2,
    Suite,
    attempts_needed_like_these,
    attempts_needed_these,
    detectable_like_these,
    detectable_these,
    power_like_these,
)
from crucible.stats.power import attempts_needed, detectable_difference, normal_attempts_needed
from crucible.stats.sequential import calibrated
from crucible.stats.two_sample import miettinen_nurminen

MOST_FOR_POWER = 60
"""Attempts per arm above which the exact power is not worth its time on a terminal."""
MOST = 1000
"""Attempts or scenarios above which a number is no advice."""


def what_can_be_seen(attempts: int, base: float = 0.5) -> str:
    """What that many attempts per arm can find on one scenario, in one sentence; for before a run and after."""
    if attempts > MOST_FOR_POWER:
        return f"{attempts} attempts per arm find differences well below those of {MOST_FOR_POWER}."
    if least_p(attempts, attempts) >= ALPHA:
        return f"{_attempts(attempts)} per arm can never tell two arms apart: even all against none is p >= {ALPHA}."
    up, down = (detectable_difference(attempts, base, way, POWER, ALPHA) for way in ("up", "down"))
    seen = [f"{sign}{100 * step:.0f}" for sign, step in (("+", up), ("-", down)) if step is not None]
    if not seen:
        return f"{_attempts(attempts)} per arm find no difference from {100 * base:.0f}% four times in five, however large."
    return (
        f"{_attempts(attempts)} per arm find a difference of {' or '.join(seen)} points from {100 * base:.0f}% "
        "four times in five; smaller ones mostly stay unseen."
    )


def what_a_design_can_see(most: int) -> str:
    """What a run until decided of at most `most` pairs can find on one scenario, in one sentence."""
    design = f"A run until decided of at most {most} pairs"
    if most > MOST_FOR_POWER:
        return f"{design} finds differences well below those of {MOST_FOR_POWER}."
    if (step := _design_detects(most)) is None:
        return f"{design} finds no difference from 50% four times in five, however large."
    found = f"finds a difference of {100 * step:.0f} points from 50% four times in five"
    return f"{design} {found}; smaller ones mostly stay unseen."


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
        return [what_can_be_seen(_fewest(pairs, terms), pair.baseline.passed / pair.baseline.counted)]
    if (spread := _spread(pairs, terms)) is None:
        return ["Within each arm every attempt came out the same: what could have been seen cannot be told."]
    suite = Suite(len(pairs), _fewest(pairs, terms), spread)
    said = [f"On {_these(pairs)}: {_detects(detectable_these(suite, POWER, ALPHA), terms)}."]
    if len(pairs) > 1:
        found = detectable_like_these(
            Suite(len(pairs), _fewest(pairs, terms), spread, between(pairs, terms)), POWER, ALPHA
        )
        said.append(f"On scenarios like these: {_detects(found or 2.0, terms)}.")
    return said


def to_tell_on_these(pairs: Pairs, terms: Terms, difference: float) -> str:
    """What would have decided an inconclusive result on these scenarios."""
    if terms.metric == "pass_rate" and (said := _never(pairs, terms)):
        return said
    size = abs(difference) or terms.margin or MARGIN
    needed = _needed_on_these(pairs, terms, size)
    if needed is None:
        return ""
    number = f"about {needed:,}" if needed <= MOST else f"more than {MOST:,}"
    where = "" if len(pairs) == 1 else " on each scenario"
    which = "the one seen" if difference else terms.amount(size, signed=False)
    return f"If the true difference is {which}, {number} attempts per arm{where} would find it four times in five."


def to_tell_like_these(pairs: Pairs, terms: Terms, difference: float) -> str:
    """The same for scenarios like these, where more scenarios help more than more attempts."""
    if (spread := _spread(pairs, terms)) is None:
        return ""
    size, effect = abs(difference) or terms.margin or MARGIN, between(pairs, terms)
    attempts = attempts_needed_like_these(len(pairs), size, effect, spread, POWER, ALPHA)
    scenarios = _scenarios_needed(len(pairs), _fewest(pairs, terms), spread, effect, size)
    more = f"about {scenarios:,} scenarios" if scenarios else f"more than {MOST:,} scenarios"
    if attempts is None:
        return (
            f"To find {terms.amount(size, signed=False)} with {len(pairs)} scenarios is impossible, however many attempts "
            f"are made; {more} of {_attempts(_fewest(pairs, terms))} per arm would find it four times in five."
        )
    return (
        f"To find {terms.amount(size, signed=False)} four times in five takes {more} of {_attempts(_fewest(pairs, terms))} per "
        f"arm, or about {max(attempts, _fewest(pairs, terms) + 1):,} attempts per arm on each of these."
    )


def between(pairs: Pairs, terms: Terms) -> float:
    """How much the true effect varies between scenarios: a standard deviation, by moments, 0 when luck explains it all."""
    seen = variance(differences(pairs, terms)) if len(pairs) > 1 else 0.0
    luck = fmean(
        sum(v / len(_values(t, terms)) for t in pair[:2] if (v := _variance(t, terms)) is not None) for pair in pairs
    )
    return sqrt(max(0.0, seen - luck))


def _never(pairs: Pairs, terms: Terms) -> str | None:
    """Where more of the same says nothing, or these few never could have."""
    counts = [pair.counts for pair in pairs]
    if len(counts) == 1 and least_p(counts[0][1], counts[0][3]) >= ALPHA:
        n_t, n_b = counts[0][1], counts[0][3]
        number = _attempts(n_t) if n_t == n_b else f"{n_t} and {n_b} attempts"
        return f"{number} per arm can never tell two arms apart: even all against none is p >= {ALPHA}."
    rates = {k / n for k_t, n_t, k_b, n_b in counts for k, n in ((k_t, n_t), (k_b, n_b))}
    if rates not in ({0.0}, {1.0}):
        return None
    said, needs = (
        ("Every attempt of either arm passed", "harder") if rates == {1.0} else ("No attempt passed", "easier")
    )
    takes = _attempts_to_be_equivalent(terms.margin) if len(pairs) == 1 and terms.margin else None
    same = f"; to show that they are equivalent takes {takes} attempts per arm" if takes else ""
    return f"{said}: to tell the arms apart takes {needs} scenarios{same}."


@lru_cache(maxsize=16)
def _attempts_to_be_equivalent(margin: float) -> int | None:
    """Attempts per arm, all of them alike, from which the arms are within the margin."""
    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        close = miettinen_nurminen(middle, middle, middle, middle, 1 - 2 * ALPHA)
        low, high = (low, middle) if close.high < margin else (middle, high)
    return high if high < MOST else None


def _needed_on_these(pairs: Pairs, terms: Terms, size: float) -> int | None:
    fewest = _fewest(pairs, terms)
    if len(pairs) == 1 and terms.metric == "pass_rate":
        k_t, n_t, k_b, n_b = pairs[0].counts
        rates = (k_t / n_t, k_b / n_b) if k_t / n_t != k_b / n_b else _apart(k_b / n_b, size)
        return max(_exact_when_small(*rates), fewest + 1)
    if (spread := _spread(pairs, terms)) is None:
        return None
    return max(attempts_needed_these(len(pairs), size, spread, POWER, ALPHA), fewest + 1)


@lru_cache(maxsize=1024)
def _exact_when_small(p_t: float, p_b: float) -> int:
    about = normal_attempts_needed(p_t, p_b, POWER, ALPHA)
    if about > MOST_FOR_POWER / 2:
        return round(about)
    return attempts_needed(p_t, p_b, POWER, ALPHA) or round(about)


def _apart(base: float, size: float) -> tuple[float, float]:
    """Two rates that far apart, one of them the base."""
    return (base + size, base) if base + size <= 1 else (base - size, base)


def _scenarios_needed(now: int, attempts: int, spread: float, effect: float, size: float) -> int | None:
    def enough(scenarios: int) -> bool:
        return power_like_these(Suite(scenarios, attempts, spread, effect), size, ALPHA) >= POWER

    low, high = now, MOST
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _spread(pairs: Pairs, terms: Terms) -> float | None:
    """Variance of one attempt's result within an arm, averaged. None when it cannot be told from these scores."""
    found = [v for pair in pairs for tally in pair[:2] if (v := _variance(tally, terms)) is not None]
    mean = fmean(found) if found else 0.0
    if mean > 0:
        return mean
    return SIGMA2 if terms.metric == "pass_rate" else None


def _variance(tally: Tally, terms: Terms) -> float | None:
    values = _values(tally, terms)
    return variance(values) if len(values) > 1 else None


def _values(tally: Tally, terms: Terms) -> tuple[float, ...]:
    if terms.metric == "score":
        return tally.scored
    return (1.0,) * tally.passed + (0.0,) * (tally.counted - tally.passed)


def _fewest(pairs: Pairs, terms: Terms) -> int:
    """Attempts of the arm that has fewest, on the scenario where it has fewest."""
    return min(len(_values(tally, terms)) for pair in pairs for tally in pair[:2])


def _detects(difference: float, terms: Terms) -> str:
    if difference > 1:
        return "no difference is found four times in five, however large"
    return f"a difference of {terms.amount(difference, signed=False)} is found four times in five"


def _these(pairs: Pairs) -> str:
    return "this scenario" if len(pairs) == 1 else f"these {len(pairs)} scenarios"


def _attempts(number: int) -> str:
    return f"{number} attempt{'' if number == 1 else 's'}"
