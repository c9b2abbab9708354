"""The costs of a run as a table: three ways, tokens, time, and what one success took."""

from __future__ import annotations

from rich.table import Table

from crucible.report.arms import Mean
from crucible.report.costs import Way
from crucible.report.overall import Overall
from crucible.report.success import Success
from crucible.report.tables import by_role, heads, known_mean, noise_cell, noise_column, noise_of, table
from crucible.report.times import Times
from crucible.report.words import dollars, known_of, number, seldom


def cost_table(run: Overall) -> Table | None:
    """None where no scenario has both arms."""
    if run.costs is None or run.times is None:
        return None
    floor = noise_of(run)
    made = table("mean per attempt", *heads(run), *["ratio of geometric means"] * run.compared, *noise_column(floor))
    for way in run.costs.ways:
        ratio = [_ratio(way)] if run.compared else []
        made.add_row(
            way.name, _amount(way, way.treatment), _amount(way, way.baseline), *ratio, *noise_cell(floor, way.name)
        )
    made.add_row(
        "cost of one success", *map(dollars, run.costs.success.cost), *[_ratio(run.costs.success)] * run.compared
    )
    title, *shown, ratio_of_times = _time(run.times)
    made.add_row(title, *shown, *[ratio_of_times] * run.compared, *noise_cell(floor, title))
    for title, field in (("turns", "turns"), ("tool calls", "tool_calls")):
        made.add_row(title, *(number(known_mean([getattr(a, field).value for a in arms]), 1) for arms in by_role(run)))
    return made


def _amount(way: Way, mean: Mean) -> str:
    if mean.value is None:
        return "unknown"
    if way.unit == "US dollars":
        return known_of(dollars(mean.value), mean.n, mean.of)
    shown = f"{number(mean.value, 1)} s" if way.unit == "seconds" else f"{number(mean.value, 0)} {way.unit}"
    return known_of(shown, mean.n, mean.of)


def _ratio(way: Way | Success) -> str:
    if way.ratio is None:
        return way.why_not or ""
    within = f" ({way.interval[0]:.2f} to {way.interval[1]:.2f})" if way.interval else " (no interval)"
    return f"{way.ratio:.2f} times{within}"


def one_success(success: Success, side: int) -> str:
    """What it cost an arm (0 is the treatment), with its interval."""
    cost, within = success.cost[side], success.within[side]
    return dollars(cost) + (f" ({dollars(within[0])}-{within[1]:.4f})" if within else "")


def success_says(run: Overall) -> str | None:
    """The row of one success with its intervals, what they rest on and how they were computed; None where there is none."""
    if run.costs is None or not any(run.costs.success.within):
        return None
    found = run.costs.success
    green = (f"{k} of {n} green" for k, n in zip(found.passes, found.attempts, strict=True))
    costs = " and ".join(f"{one_success(found, side)} from {said}" for side, said in enumerate(green))
    ratio = ", and its ratio is that of the two" if found.interval else ""
    return f"One success: {costs}; 95% intervals: {found.method}; failed attempts are paid for too{ratio}."


def _time(times: Times) -> tuple[str, str, str, str]:
    if times.within is None:
        way = times.way
        cut = [f", {n} ended by the clock" if n else "" for n in times.timed_out]
        return "time", _amount(way, way.treatment) + cut[0], _amount(way, way.baseline) + cut[1], _ratio(way)
    shown = [f"{s:.1f} s, {n} ended by the clock" for s, n in zip(times.within, times.timed_out, strict=True)]
    return (
        "time, cut at a common horizon",
        shown[0],
        shown[1],
        f"log-rank {seldom(times.p_value)}" if times.p_value is not None else "",
    )
