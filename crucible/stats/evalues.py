"""Open-ended comparisons: look whenever you like, add attempts for as long as you like.

An e-process starts at 1 and has mean at most 1 under "no difference" at any moment somebody chooses to stop, so it
reaches 20 with a chance of at most 5 %, ever: reject at e >= 1 / alpha, and min over time of 1/e is a p-value valid at
any time. The price for no declared maximum is some 40 % more attempts than `sequential` takes.

Pairs are one attempt of each arm, (result of A, result of B), in the order they were run. All functions give the value
after every pair. Values of independent batches multiply; values of dependent ones may only be averaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crucible.stats import _checks

if TYPE_CHECKING:
    from collections.abc import Sequence

TURNER_PRIOR = 0.18
"""Pseudo-passes and pseudo-failures of each arm; the value its authors recommend."""
MOST_STAKE = 0.75
"""Of the betting process, as a share of what may be lost: never all of it."""


def discordant(pairs: Sequence[tuple[bool, bool]]) -> list[float]:
    """Pass or fail, by the pairs in which only one arm passed: a fair coin against a Beta(1/2, 1/2) mixture.

    Two-sided. Exact at any common rate.
    """
    value, wins, losses, found = 1.0, 0, 0, []
    for a, b in _booleans(pairs):
        if a != b:
            value *= 2 * ((wins if a else losses) + 0.5) / (wins + losses + 1)
            wins, losses = wins + a, losses + b
        found.append(value)
    return found


def turner(pairs: Sequence[tuple[bool, bool]], prior: float = TURNER_PRIOR) -> list[float]:
    """Pass or fail: both arms' rates so far against their mean. Two-sided, and the most flexible of the three.

    Source: Turner, Ly and Gruenwald 2024, arXiv 2106.02693 (blocks of one attempt per arm).
    """
    prior = _checks.positive("prior", prior)
    value, passes, found = 1.0, [0, 0], []
    for done, pair in enumerate(_booleans(pairs)):
        rates = [(k + prior) / (done + 2 * prior) for k in passes]
        common = sum(rates) / 2
        for result, rate in zip(pair, rates, strict=True):
            value *= rate / common if result else (1 - rate) / (1 - common)
        passes = [k + result for k, result in zip(passes, pair, strict=True)]
        found.append(value)
    return found


def betting(pairs: Sequence[tuple[float, float]], most_stake: float = MOST_STAKE) -> list[float]:
    """Scores in [0, 1]: bets on the sign of A - B, staked by what the earlier pairs showed. Two-sided.

    Valid whatever the distribution of the scores. Source: Waudby-Smith and Ramdas 2024 (aGRAPA).
    """
    most = _checks.inside("most_stake", most_stake)
    value, total, squares, found = 1.0, 0.0, 0.0, []
    for a, b in pairs:
        stake = total / squares if squares > 0 else 0.0
        difference = _checks.rate("a score", a) - _checks.rate("a score", b)
        value *= 1 + max(-most, min(most, stake)) * difference
        total, squares = total + difference, squares + difference**2
        found.append(value)
    return found


def anytime_p_values(e_values: Sequence[float]) -> list[float]:
    """After each pair the p-value that holds at any time: the least of 1/e so far, in (0, 1]."""
    smallest, found = 1.0, []
    for value in e_values:
        smallest = min(smallest, 1 / value) if _checks.not_negative("an e-value", value) > 0 else smallest
        found.append(smallest)
    return found


def _booleans(pairs: Sequence[tuple[bool, bool]]) -> list[tuple[bool, bool]]:
    if any(result not in (0, 1) for pair in pairs for result in pair):
        raise ValueError("a pair is (A passed, B passed): True or False each")
    return [(bool(a), bool(b)) for a, b in pairs]
