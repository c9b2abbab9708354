"""What the comparison draws beside what it says: intervals, blocks as dots, scores as strips, costs as bars.

Only numbers that the report has; nothing is computed here but means over scenarios, as the report's tables do. Shares of 1,
US dollars, tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import ceil

from crucible.report.arms import ArmSummary, Line
from crucible.report.costs import Way
from crucible.report.exploratory import DimensionRow
from crucible.report.overall import Overall
from crucible.report.tables import Arms, by_role, known_mean
from crucible.report.verdict import Verdict
from crucible.store.states import RUNNING, UNFINISHED
from crucible.web.site import Data

MOST_BLOCKS = 150
"""Blocks of a scenario that are drawn."""
MOST_POINTS = 400
"""Scores of an arm that are drawn."""
COLUMN, RISE, HIGHEST = 0.02, 5.0, 50.0
"""Scores within a COLUMN are drawn above one another, RISE pixels each, closer where they would rise above HIGHEST."""


def arms(run: Overall) -> list[Data]:
    """Both arms, the treatment first, with the means over scenarios that the report's table shows."""
    return [_arm(list(mine)) for mine in by_role(run)]


def _arm(mine: list[ArmSummary]) -> Data:
    alone = mine[0] if len(mine) == 1 else None
    return {
        "name": " / ".join(dict.fromkeys(a.arm for a in mine)),
        "model": ", ".join(dict.fromkeys(a.model for a in mine)),
        "baseline": mine[0].baseline,
        "counted": sum(a.counted for a in mine),
        "planned": sum(a.planned for a in mine),
        "passed": sum(a.passed for a in mine),
        "pass_rate": known_mean([a.pass_rate for a in mine]),
        "pass_interval": alone.pass_interval if alone else None,
        "score": known_mean([a.total.value for a in mine]),
        "scored": sum(a.total.n for a in mine),
        "cost_usd": known_mean([a.cost_usd.value for a in mine]),
        "cost_known": sum(a.cost_usd.n for a in mine),
        "lost": sum(n for a in mine for cause, n in a.not_counted.items() if cause not in (RUNNING, UNFINISHED)),
    }


def differences(run: Overall) -> Data:
    """The difference with its interval, that of each scenario below it, and the scale they share."""
    alone = len(run.comparisons) == 1
    rows = [
        _difference(run, "on this scenario" if alone else claim.about, claim.verdict, True)
        for claim in run.claims
        if _drawn(claim.verdict)
    ]
    if not alone or not rows:
        rows += [_difference(run, one.scenario, one.verdict, False) for one in run.comparisons if _drawn(one.verdict)]
    widest = max((abs(v) for row in rows for v in (row["difference"], *(row["interval"] or ()))), default=0.0)
    scale = min(1.0, ceil(4 * max(widest, 2 * run.margin, 0.25)) / 4)
    return {"rows": rows, "scale": scale, "margin": run.margin, "ends": [run.terms.amount(v) for v in (-scale, scale)]}


def _drawn(verdict: Verdict) -> bool:
    return verdict.difference is not None


def _difference(run: Overall, name: str, verdict: Verdict, primary: bool) -> Data:
    amount = None if verdict.difference is None else run.terms.amount(verdict.difference)
    return {
        "name": name,
        "word": verdict.word,
        "difference": verdict.difference,
        "interval": verdict.interval,
        "amount": amount,
        "limits": run.terms.limits(verdict.interval) if verdict.interval else None,
        "p_value": verdict.p_value,
        "test": verdict.test,
        "primary": primary,
    }


def blocks(run: Overall) -> list[Data]:
    """Each scenario's blocks in order, in each the attempt of every arm as it stands."""
    return [grid(one.scenario, [arm.arm for arm in one.arms], one.lines) for one in run.comparisons]


def grid(scenario: str, names: list[str], lines: Iterable[Line]) -> Data:
    """A scenario's blocks."""
    found: dict[int, dict[str, Line]] = {}
    for line in lines:
        found.setdefault(line.block, {})[line.arm] = line
    shown = [
        {"block": block, "cells": [cell(name, of.get(name)) for name in names], "both": _both(names, of)}
        for block, of in sorted(found.items())[:MOST_BLOCKS]
    ]
    return {"scenario": scenario, "arms": names, "blocks": shown, "more": max(0, len(found) - MOST_BLOCKS)}


def _both(names: list[str], of: dict[str, Line]) -> list[int] | None:
    """The two attempts of a block, where there are two to lay side by side."""
    ids = [of[name].attempt_id for name in names if name in of]
    made = [attempt for attempt in ids if attempt is not None]
    return made if len(made) == 2 else None


def cell(name: str, line: Line | None) -> Data:
    """An arm's attempt in a block: its state in a word, and in a sentence."""
    if line is None or line.attempt_id is None:
        return {"arm": name, "attempt": None, "state": "open", "says": "not made yet"}
    return {"arm": name, "attempt": line.attempt_id, "state": state(line), "says": _says(line)}


def state(line: Line) -> str:
    """How an attempt stands, in one word: green, red, lost (does not count), running, unfinished, open (not made)."""
    if line.attempt_id is None:
        return "open"
    if line.counted is None:
        return line.ending
    if not line.counted:
        return "lost"
    return "green" if line.passed else "red"


def _says(line: Line) -> str:
    if line.counted is None:
        return RUNNING if line.ending == RUNNING else f"{line.ending}: the process that made it is gone"
    if not line.counted:
        return f"not counted ({line.cause}): {line.detail}"
    suite = "suite green" if line.passed else "suite red"
    score = "not scored" if line.total is None else f"score {line.total:.2f}"
    return f"{suite}, {score}, ended: {line.ending}"


def strips(run: Overall) -> list[Data]:
    """Each arm's scores as they lie between 0 and 1; empty when nothing was scored."""
    lines = [line for one in run.comparisons for line in one.lines if line.counted and line.total is not None]
    found = []
    for mine in by_role(run):
        names = {arm.arm for arm in mine}
        scores = sorted(line.total for line in lines if line.arm in names and line.total is not None)
        shown = scores[:: _every(len(scores))]
        found.append({"arm": " / ".join(sorted(names)), "n": len(scores), "scores": shown, **stacked(shown)})
    return found if lines else []


def stacked(scores: Sequence[float]) -> Data:
    """Where each score is drawn: `up` is in pixels above the axis."""
    columns = Counter(int(score / COLUMN) for score in scores)
    rise = min(RISE, HIGHEST / max(1, max(columns.values(), default=1) - 1))
    points = [
        {"score": score, "up": round(rise * level, 2)}
        for _, column in groupby(scores, key=lambda score: int(score / COLUMN))
        for level, score in enumerate(column)
    ]
    return {"points": points, "height": round(12 + max((point["up"] for point in points), default=0))}


def _every(count: int) -> int:
    """Of many scores only every second, third, ... is drawn."""
    return max(1, ceil(count / MOST_POINTS))


def costs(run: Overall) -> list[Data]:
    """Each way to count, with both arms' means and the larger of them, which the bars are drawn against."""
    if run.costs is None:
        return []
    return [_cost(way) for way in run.costs.ways]


def _cost(way: Way) -> Data:
    means = (way.treatment, way.baseline)
    known = [mean.value for mean in means if mean.value is not None]
    return {
        "name": way.name,
        "unit": way.unit,
        "values": [mean.value for mean in means],
        "n": [mean.n for mean in means],
        "most": max(known, default=None),
    }


def dimensions(run: Overall) -> list[Data]:
    """Each dimension of the rubric with both arms' means over scenarios, and its test where one may be shown."""
    names = dict.fromkeys(name for one in run.comparisons for arm in one.arms for name in arm.dimensions)
    tests = {row.name: row for row in run.dimensions}
    return [_dimension(run, name, tests.get(name)) for name in names]


def _dimension(run: Overall, name: str, test: DimensionRow | None) -> Data:
    scored = [sum(a.dimensions[name].n for a in mine if name in a.dimensions) for mine in by_role(run)]
    return {
        "name": name,
        "means": [_mean(mine, name) for mine in by_role(run)],
        "scored": scored,
        "difference": test.difference if test else None,
        "holm": test.holm if test else None,
        "why_not": None if test else _untested(run, scored),
    }


def _untested(run: Overall, scored: Sequence[int]) -> str:
    if not all(scored):
        return "not scored in both arms"
    return (
        "a run that may stop early tests nothing else"
        if run.sequential
        else "no verdict was given, so nothing is tested"
    )


def _mean(mine: Arms, name: str) -> float | None:
    return known_mean([a.dimensions[name].value for a in mine if name in a.dimensions])
