"""Quality and cost in one sentence: better and cheaper, better at 1.6 times the cost, cheaper and no worse, or unclear.

Each half is said only when its own interval allows it: that the treatment is no worse when the lower 90% limit of its
difference lies above minus the margin, that it is cheaper when the whole 95% interval of the cost ratio lies below 1.
"""

from __future__ import annotations

from crucible.report.costs import Way
from crucible.report.evidence import on_these
from crucible.report.tallies import Pairs, Terms
from crucible.report.verdict import Verdict

CHEAPER = {"better": "better and cheaper", "worse": "worse but cheaper"}


def dominance(treatment: str, verdict: Verdict, pairs: Pairs, terms: Terms, way: Way) -> str | None:
    """The sentence; None when no verdict was given, for then there is nothing to hold the cost against."""
    if verdict.word == "not tested" or (verdict.p_value is None and verdict.interval is None):
        return None
    quality, cost = _quality(verdict, pairs, terms), _cost(way)
    if quality == "equivalent":
        quality = f"equivalent to {pairs[0].baseline.arm}"
    if cost == "cheaper":
        said = f"{treatment} is {CHEAPER.get(verdict.word) or _cheaper(quality)}"
    elif cost == "dearer":
        said = f"{treatment} is {quality or 'not told apart'} at {way.ratio:.2g} times the cost"
    elif quality is not None:
        said = f"{treatment} is {quality}; whether it costs more or less cannot be told"
    else:
        said = "Cannot tell which arm is better, nor which costs less"
    return f"{said} ({_shown(way)})."


def _cheaper(quality: str | None) -> str:
    if quality is None:
        return "cheaper; whether it is better or worse cannot be told"
    return f"{quality} and cheaper" if quality.startswith("equivalent") else f"cheaper, {quality}"


def _quality(verdict: Verdict, pairs: Pairs, terms: Terms) -> str | None:
    if verdict.word in ("better", "worse", "equivalent"):
        return verdict.word
    close = on_these(pairs, terms).close if verdict.p_value is not None else None
    if terms.margin and close and close[0] > -terms.margin:
        return f"no worse by more than {terms.declared}"
    return None


def _cost(way: Way) -> str | None:
    if way.ratio is None or way.interval is None:
        return None
    if way.interval[1] < 1:
        return "cheaper"
    return "dearer" if way.interval[0] > 1 else None


def _shown(way: Way) -> str:
    if way.ratio is None:
        return f"{way.name}: {way.why_not}"
    within = (
        f"95% interval {way.interval[0]:.2f} to {way.interval[1]:.2f}"
        if way.interval
        else f"no interval: {way.why_not}"
    )
    return f"{way.name}: {way.ratio:.2f} times, {within}"
