"""What it would take to tell the arms of an inconclusive run apart, or to show that they are equivalent.

Chances are four in five (power 80%) at a two-sided 5%. "About" means the normal approximation, or an estimate from this
run's own spread; the plan of a new run computes it exactly.
"""

from __future__ import annotations

from functools import lru_cache

from crucible.report.evidence import least_p
from crucible.report.reach import MOST_FOR_POWER
from crucible.report.spread import between, fewest_attempts, within
from crucible.report.tallies import ALPHA, MARGIN, POWER, Pairs, Terms
from crucible.report.words import attempts_in_words
from crucible.stats.planning import (
    Suite,
    attempts_needed_like_these,
    attempts_needed_these,
    ever_like_these,
    power_like_these,
)
from crucible.stats.power import attempts_needed, normal_attempts_needed
from crucible.stats.two_sample import miettinen_nurminen

MOST = 1000
"""Attempts or scenarios above which a number is no advice."""


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
    if (spread := within(pairs, terms)) is None:
        return ""
    size, effect = abs(difference) or terms.margin or MARGIN, between(pairs, terms)
    now = fewest_attempts(pairs, terms)
    attempts = attempts_needed_like_these(len(pairs), size, effect, spread, POWER, ALPHA)
    scenarios = _scenarios_needed(len(pairs), now, spread, effect, size)
    more = f"about {scenarios:,} scenarios" if scenarios else f"more than {MOST:,} scenarios"
    more, shown = f"{more} of {attempts_in_words(now)} per arm", terms.amount(size, signed=False)
    if attempts is None and not ever_like_these(len(pairs), size, effect, POWER, ALPHA):
        return (
            f"To find {shown} with {len(pairs)} scenarios is impossible, however many attempts are made; {more} would find it "
            "four times in five."
        )
    each = f"more than {MOST:,}" if attempts is None else f"about {max(attempts, now + 1):,}"
    return f"To find {shown} four times in five takes {more}, or {each} attempts per arm on each of these."


def _never(pairs: Pairs, terms: Terms) -> str | None:
    """Where more of the same says nothing, or these few never could have."""
    counts = [pair.counts for pair in pairs]
    if len(counts) == 1 and least_p(counts[0][1], counts[0][3]) >= ALPHA:
        n_t, n_b = counts[0][1], counts[0][3]
        number = attempts_in_words(n_t) if n_t == n_b else f"{n_t} and {n_b} attempts"
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
    fewest = fewest_attempts(pairs, terms)
    if len(pairs) == 1 and terms.metric == "pass_rate":
        k_t, n_t, k_b, n_b = pairs[0].counts
        rates = (k_t / n_t, k_b / n_b) if k_t / n_t != k_b / n_b else _apart(k_b / n_b, size)
        return max(_exact_when_small(*rates), fewest + 1)
    if (spread := within(pairs, terms)) is None:
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
