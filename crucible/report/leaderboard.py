"""The leaderboard as tables: rank ranges first, every mean with the number of attempts it is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crucible.report.ranking import Across, Apart, Board, Rank, Ranked
from crucible.report.words import UNKNOWN, dollars, known_of, number, percent, percent_range

_NAMES = ("arm", "model")
_REST = ("95%", "score", "scored", "cost", "per success", "frontier")
LEGEND = (
    "rank: arms share a range of ranks unless the data separate them (exact tests of every pair, Holm, 5%). frontier: no "
    "other arm is at least as good and as cheap, by the values as they stand. Exploratory: nothing was declared beforehand."
)
WHY_LEFT_OUT = (
    "Such a run ends because of what was seen, so its rates lean to the extremes. crucible compare has the verdict of a run "
    "that may stop early, which accounts for that; crucible run --resume finishes one that is not over."
)


def leaderboard_view(ranked: Sequence[Ranked]) -> RenderableType:
    """A table for each scenario. Tokens and seconds, too, are in the JSON."""
    parts: list[RenderableType] = []
    for scenario, group in groupby(ranked, lambda one: one.line.label):
        mine = list(group)
        table = _table("rank", *_NAMES, "suite green", *_REST)
        for one in mine:
            _add(table, one)
        parts += [Text(f"\n{scenario}", style="bold"), table, *_alone(len(mine)), *_not_in(mine)]
    return Group(*parts, Text(LEGEND, style="dim"))


def _add(table: Table, one: Ranked) -> None:
    line = one.line
    table.add_row(
        rank_text(one.rank),
        line.arm_as_run,
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
            _as_run(one),
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
    parts += [Text(_apart(one)) for one in board.apart]
    parts += _left_out((_as_run(one), one.left_out) for one in board.arms)
    return Group(*parts, Text(LEGEND, style="dim"))


def _alone(arms: int) -> list[Text]:
    return [Text("Only one arm: there is nothing to rank it against.")] if arms == 1 else []


def rank_text(rank: Rank | None) -> str:
    """`2`, or `1-3` for an arm that may have any of these places."""
    if rank is None:
        return UNKNOWN
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def _apart(one: Apart) -> str:
    where = f"was run on {', '.join(one.scenarios)}, not on {', '.join(one.lacks)}"
    return f"Apart: {_as_run(one)} ({one.model}) {where}; not compared."


def _as_run(one: Across | Apart) -> str:
    return f"{one.arm} ({one.setup})" if one.setup else one.arm


def _not_in(ranked: Sequence[Ranked]) -> list[Text]:
    """What the numbers of a scenario leave out."""
    notes = _left_out((one.line.arm_as_run, one.line.left_out) for one in ranked)
    others = max(one.line.other_judges for one in ranked)
    if others:
        those = "another judge version is" if others == 1 else f"{others} other judge versions are"
        notes.append(Text(f"Scores: by the judge version with most of these attempts; those of {those} left out."))
    return notes


def _left_out(counts: Iterable[tuple[str, int]]) -> list[Text]:
    said = left_out_text(counts)
    return [Text(said)] if said else []


def left_out_text(counts: Iterable[tuple[str, int]]) -> str | None:
    """What the table leaves out, of (arm, number of its attempts); None when that is nothing."""
    said = [f"{count} of {arm}" for arm, count in counts if count]
    if not said:
        return None
    return f"Left out: attempts of runs that may stop early or are not over ({', '.join(said)}). {WHY_LEFT_OUT}"


def _success(cost: float | None, passed: float) -> str:
    return "no success" if not passed else dollars(cost)


def _frontier(place: bool | None) -> str:
    return UNKNOWN if place is None else "frontier" if place else ""


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in _NAMES)
    return table
