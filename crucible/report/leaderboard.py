"""The leaderboard as tables: rank ranges first, every mean with the number of attempts it is over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crucible.report.ranking import Board, Rank, Ranked
from crucible.report.words import UNKNOWN, dollars, known_of, number, percent, percent_range

_NAMES = ("arm", "model")
_REST = ("95%", "score", "scored", "cost", "per success", "frontier")
LEGEND = (
    "rank: arms share a range of ranks unless the data separate them (exact tests of every pair, Holm, 5%). frontier: no "
    "other arm is at least as good and as cheap, by the values as they stand. Exploratory: nothing was declared beforehand."
)


def leaderboard_view(ranked: Sequence[Ranked]) -> RenderableType:
    """A table for each scenario. Tokens and seconds, too, are in the JSON."""
    parts: list[RenderableType] = []
    for scenario, group in groupby(ranked, lambda one: one.line.label):
        mine = list(group)
        table = _table("rank", *_NAMES, "suite green", *_REST)
        for one in mine:
            _add(table, one)
        parts += [Text(f"\n{scenario}", style="bold"), table, *_alone(len(mine))]
    return Group(*parts, Text(LEGEND, style="dim"))


def _add(table: Table, one: Ranked) -> None:
    line = one.line
    table.add_row(
        rank_text(one.rank),
        line.arm,
        line.model,
        f"{line.passed} of {line.counted}",
        percent_range(one.interval),
        number(line.mean_total),
        f"{line.scored} of {line.counted + line.not_counted}",
        known_of(dollars(line.mean_cost_usd), line.priced, line.counted),
        _success(one.cost_per_success, line.passed),
        _frontier(one.frontier),
    )


def board_view(board: Board) -> RenderableType:
    """Arms over the scenarios they share, and the arms left out."""
    parts: list[RenderableType] = [Text(f"Over {', '.join(board.scenarios)}; every scenario weighs the same.")]
    table = _table("rank", *_NAMES, "pass rate", *_REST)
    for one in board.arms:
        table.add_row(
            rank_text(one.rank),
            one.arm,
            one.model,
            percent(one.pass_rate),
            percent_range(one.interval),
            number(one.mean_total),
            f"{one.scored} of {one.attempted}",
            dollars(one.mean_cost_usd),
            _success(one.cost_per_success, one.pass_rate),
            _frontier(one.frontier),
        )
    parts.append(table)
    parts += _alone(len(board.arms))
    parts += [Text(_apart(one.arm, one.model, one.scenarios, one.lacks)) for one in board.apart]
    return Group(*parts, Text(LEGEND, style="dim"))


def _alone(arms: int) -> list[Text]:
    return [Text("Only one arm: there is nothing to rank it against.")] if arms == 1 else []


def rank_text(rank: Rank | None) -> str:
    """`2`, or `1-3` for an arm that may have any of these places."""
    if rank is None:
        return UNKNOWN
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def _apart(arm: str, model: str, scenarios: Sequence[str], lacks: Sequence[str]) -> str:
    return f"Apart: {arm} ({model}) was run on {', '.join(scenarios)}, not on {', '.join(lacks)}; not compared."


def _success(cost: float | None, passed: float) -> str:
    return "no success" if not passed else dollars(cost)


def _frontier(place: bool | None) -> str:
    return UNKNOWN if place is None else "frontier" if place else ""


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in _NAMES)
    return table
