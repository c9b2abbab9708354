"""The leaderboard: which arms are really ahead, and which merely look it. A pure function of the leaderboard query.

Arms are tied unless the data separate them: every pair is tested, the p-values are adjusted for their number (Holm, 5%),
and the rank of an arm runs from one more than the arms shown to be better to all but those shown to be worse. An arm on
the frontier has no rival that is at least as good and as cheap, and one of both more; that goes by the values as they
stand, without a test. These ranks are a summary of whatever was run, not a test declared beforehand: exploratory.

An arm that was run otherwise than its scenario says (without its extra tools, with other ones) is another arm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby
from statistics import fmean
from typing import Any

from crucible.stats.across import mean_rate
from crucible.stats.exact import two_arms
from crucible.stats.interval import Interval
from crucible.stats.multiplicity import holm
from crucible.stats.one_sample import wilson
from crucible.stats.permutation import stratified_passes
from crucible.store.standings import LeaderboardLine

ALPHA = 0.05
Rank = tuple[int, int]
"""First and last place an arm may have; equal when the data separate it from every other."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One arm on one scenario. `rank` and `interval` (of the pass rate, Wilson 95%) are None when nothing counted.

    `cost_per_success` is in US dollars, failed attempts paid for; None when a cost is unknown or nothing passed. `frontier`
    is None when the arm cannot be placed.
    """

    line: LeaderboardLine
    rank: Rank | None
    interval: tuple[float, float] | None
    cost_per_success: float | None
    frontier: bool | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, the stored counts and the ranking side by side."""
        attempted = self.line.counted + self.line.not_counted
        own = {k: v for k, v in asdict(self).items() if k != "line"}
        return {**asdict(self.line), "attempted": attempted, **own}


@dataclass(frozen=True, slots=True)
class Across:
    """One arm over the scenarios of a board, all weighing the same: means over scenarios, sums of attempts.

    `interval` is for the mean pass rate on these scenarios. A mean that some scenario cannot give is None. `left_out` are
    attempts of runs that may stop early, on these scenarios; they are in none of the other numbers.
    """

    arm: str
    model: str
    attempted: int
    counted: int
    scored: int
    pass_rate: float
    interval: tuple[float, float]
    mean_total: float | None
    mean_cost_usd: float | None
    cost_per_success: float | None
    rank: Rank
    frontier: bool | None
    setup: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Apart:
    """An arm that was not run on all scenarios of the board, and is therefore not compared on it."""

    arm: str
    model: str
    scenarios: tuple[str, ...]
    lacks: tuple[str, ...]
    setup: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The overall leaderboard: the arms run on all of `scenarios`, best pass rate first, and those that were not."""

    scenarios: tuple[str, ...]
    arms: tuple[Across, ...]
    apart: tuple[Apart, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def rank_within(lines: Sequence[LeaderboardLine]) -> list[Ranked]:
    """Every arm ranked within its scenario. `lines` are grouped by scenario, as the query gives them."""
    return [ranked for _, mine in groupby(lines, lambda line: line.label) for ranked in _scenario(list(mine))]


def board(lines: Sequence[LeaderboardLine]) -> Board:
    """The overall leaderboard over the scenarios that the most arms share."""
    by_arm: dict[tuple[str, str, str], dict[str, LeaderboardLine]] = {}
    for line in lines:
        if line.counted:
            by_arm.setdefault((line.arm, line.model, line.setup), {})[line.label] = line
    shared = _shared([frozenset(mine) for mine in by_arm.values()])
    inside = [[mine[name] for name in sorted(shared)] for mine in by_arm.values() if shared and shared <= set(mine)]
    apart = [
        Apart(arm, model, tuple(sorted(mine)), tuple(sorted(shared - set(mine))), setup)
        for (arm, model, setup), mine in by_arm.items()
        if not shared <= set(mine)
    ]
    return Board(tuple(sorted(shared)), tuple(_across(inside)), tuple(apart))


def rank_ranges(rates: Sequence[float], p_value: Callable[[int, int], float]) -> list[Rank]:
    """The places each of these arms may have; `p_value(i, j)` tests whether arms i and j are equally good."""
    pairs = list(combinations(range(len(rates)), 2))
    adjusted = holm([p_value(i, j) for i, j in pairs])
    better, worse = [0] * len(rates), [0] * len(rates)
    for (i, j), p in zip(pairs, adjusted, strict=True):
        if p < ALPHA and rates[i] != rates[j]:
            ahead, behind = (i, j) if rates[i] > rates[j] else (j, i)
            better[behind] += 1
            worse[ahead] += 1
    return [(1 + above, len(rates) - below) for above, below in zip(better, worse, strict=True)]


def on_frontier(points: Sequence[tuple[float, float] | None]) -> list[bool | None]:
    """Of arms as (quality, cost), which no other dominates; None for one that is not known."""
    known = [point for point in points if point is not None]
    return [None if point is None else not any(_dominates(other, point) for other in known) for point in points]


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one != other


def _scenario(lines: list[LeaderboardLine]) -> list[Ranked]:
    tested = [line for line in lines if line.counted]
    ranks = dict(zip(map(id, tested), rank_ranges([_rate(line) for line in tested], _pair(tested)), strict=True))
    frontier = on_frontier([_point(line) for line in lines])
    return [
        Ranked(line, ranks.get(id(line)), _interval(line), _per_success(_cost(line), _rate(line)), place)
        for line, place in zip(lines, frontier, strict=True)
    ]


def _pair(lines: Sequence[LeaderboardLine]) -> Callable[[int, int], float]:
    return lambda i, j: two_arms(lines[i].passed, lines[i].counted, lines[j].passed, lines[j].counted)[0]


def _rate(line: LeaderboardLine) -> float:
    return line.passed / line.counted if line.counted else 0.0


def _interval(line: LeaderboardLine) -> tuple[float, float] | None:
    return _limits(wilson(line.passed, line.counted)) if line.counted else None


def _limits(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _cost(line: LeaderboardLine) -> float | None:
    """Mean cost of a counted attempt; an attempt without a known cost leaves it unknown."""
    return line.mean_cost_usd if line.priced == line.counted else None


def _per_success(cost: float | None, rate: float) -> float | None:
    return None if cost is None or rate == 0 else cost / rate


def _point(line: LeaderboardLine) -> tuple[float, float] | None:
    cost = _cost(line)
    return None if cost is None or not line.counted else (_rate(line), cost)


def _shared(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """The scenarios of one arm that, times the arms which were run on all of them, are the most attempts compared."""
    candidates = sorted(set(sets), key=sorted)

    def weight(candidate: frozenset[str]) -> tuple[int, int]:
        arms = sum(candidate <= other for other in sets)
        return (arms * len(candidate) if arms > 1 else 0), len(candidate)

    return max(candidates, key=weight, default=frozenset())


def _across(arms: list[list[LeaderboardLine]]) -> list[Across]:
    rates = [fmean(map(_rate, mine)) for mine in arms]
    ranks = rank_ranges(rates, lambda i, j: _p_over_scenarios(arms[i], arms[j]))
    costs = [_mean([_cost(line) for line in mine]) for mine in arms]
    frontier = on_frontier([None if cost is None else (rate, cost) for rate, cost in zip(rates, costs, strict=True)])
    found = [
        Across(
            arm=mine[0].arm,
            model=mine[0].model,
            attempted=sum(line.counted + line.not_counted for line in mine),
            counted=sum(line.counted for line in mine),
            scored=sum(line.scored for line in mine),
            pass_rate=rate,
            interval=_limits(mean_rate([(line.passed, line.counted) for line in mine])),
            mean_total=_mean([line.mean_total for line in mine]),
            mean_cost_usd=cost,
            cost_per_success=_per_success(cost, rate),
            rank=rank,
            frontier=place,
            setup=mine[0].setup,
            left_out=sum(line.left_out for line in mine),
        )
        for mine, rate, rank, cost, place in zip(arms, rates, ranks, costs, frontier, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.pass_rate, one.arm, one.model, one.setup))


def _p_over_scenarios(one: Sequence[LeaderboardLine], other: Sequence[LeaderboardLine]) -> float:
    strata = [(a.passed, a.counted, b.passed, b.counted) for a, b in zip(one, other, strict=True)]
    return two_arms(*strata[0])[0] if len(strata) == 1 else stratified_passes(strata).p_value


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
