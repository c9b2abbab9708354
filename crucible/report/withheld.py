"""Why there is no verdict: nothing was tested, the run is not over, or what is missing hits one arm more than chance.

A look half-way at a run of fixed size is no test, and arms that lost different attempts are no longer comparable,
whatever the numbers say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crucible.report.tallies import ALPHA, Pairs, Tally, Terms
from crucible.stats.permutation import stratified_passes

MOST_NAMED = 3


def untested(pairs: Pairs, terms: Terms) -> str | None:
    """Nothing to compare: an arm without any attempt that counts, or without any score."""
    if not pairs:
        return "no scenario has attempts of both arms"
    for arms in zip(*((p.treatment, p.baseline) for p in pairs), strict=True):
        if not any(tally.counted for tally in arms):
            return f"{arms[0].arm} has no attempt that counts"
        if terms.metric == "score" and not any(tally.scored for tally in arms):
            return f"no attempt of {arms[0].arm} is scored"
    return None


def incomparable(pairs: Pairs, terms: Terms, *, may_stop_early: bool = False) -> str | None:
    """The run is not complete, or the arms are not comparable any more."""
    return (
        (None if may_stop_early else _incomplete(pairs))
        or (_unscored(pairs) if terms.metric == "score" else None)
        or _uneven_losses(pairs)
        or (_uneven_scores(pairs) if terms.metric == "score" else None)
    )


def _incomplete(pairs: Pairs) -> str | None:
    open_slots = _each(
        pairs, lambda t: f"{t.arm}: {t.counted} of {t.planned}" if t.counted < max(t.planned, 1) else None
    )
    return f"the run is not complete ({open_slots}), and a look half-way is no test" if open_slots else None


def _unscored(pairs: Pairs) -> str | None:
    waiting = _each(pairs, lambda t: f"{t.arm}: {t.unjudged} of {t.counted} wait" if t.unjudged else None)
    if waiting:
        return f"judging is not complete ({waiting}), and a look half-way is no test"
    empty = _each(pairs, lambda t: None if t.scored else f"{t.arm}: none of {t.counted} scored")
    return f"a scenario has no score to compare ({empty})" if empty else None


def _uneven_losses(pairs: Pairs) -> str | None:
    """Attempts that do not count, of all that were tried."""
    found = _uneven(pairs, lambda t: (t.not_counted, t.not_counted + t.counted))
    return found and f"attempts that do not count hit one arm more than chance explains ({found})"


def _uneven_scores(pairs: Pairs) -> str | None:
    found = _uneven(pairs, lambda t: (t.counted - len(t.scored), t.counted))
    return found and f"missing scores hit one arm more than chance explains ({found})"


def _uneven(pairs: Pairs, missing: Callable[[Tally], tuple[int, int]]) -> str | None:
    """By the exact permutation test, scenario by scenario, of what is missing of what was tried."""
    strata = [(*missing(p.treatment), *missing(p.baseline)) for p in pairs]
    lost = [sum(stratum[arm] for stratum in strata) for arm in (0, 2)]
    if lost == [0, 0] or not all(stratum[1] and stratum[3] for stratum in strata):
        return None
    return f"{lost[0]} against {lost[1]}" if stratified_passes(strata).p_value < ALPHA else None


def _each(pairs: Pairs, say: Callable[[Tally], str | None]) -> str:
    """What is said of every arm on every scenario, the first few of it."""
    named = len(pairs) > 1
    said = [
        f"{pair.scenario}, {text}" if named else text
        for pair in pairs
        for tally in (pair.treatment, pair.baseline)
        if (text := say(tally)) is not None
    ]
    return _first(said)


def _first(said: Iterable[str]) -> str:
    everything = list(said)
    rest = len(everything) - MOST_NAMED
    return "; ".join(everything[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
