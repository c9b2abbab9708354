"""Both arms in one row each: what counted, what passed, what it scored, cost and took. Rates are means over scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crucible.report.arms import ArmSummary, Mean
from crucible.report.cost_table import one_success
from crucible.report.overall import Overall
from crucible.report.tables import by_role, known_mean
from crucible.report.words import UNKNOWN, dollars, known_of, number, percent_range

COLUMNS = ("arm", "model", "counted", "suite green", "score", "cost per attempt", "cost of one success", "time")


def arm_rows(run: Overall) -> Iterator[tuple[str, ...]]:
    """A row for each arm that was run, the treatment first."""
    for side, mine in enumerate(by_role(run)):
        yield (
            _name(mine),
            ", ".join(dict.fromkeys(a.model for a in mine)),
            f"{sum(a.counted for a in mine)} of {sum(a.planned for a in mine)}",
            _green(mine),
            number(known_mean([a.total.value for a in mine])),
            *_spent(run, side),
        )


def _name(mine: Sequence[ArmSummary]) -> str:
    name = " / ".join(dict.fromkeys(a.arm for a in mine))
    return f"{name} (baseline)" if mine[0].baseline and name != "baseline" else name


def _green(mine: Sequence[ArmSummary]) -> str:
    rate = known_mean([a.pass_rate for a in mine])
    if rate is None:
        return UNKNOWN
    within = f"; 95%: {percent_range(mine[0].pass_interval)}" if len(mine) == 1 and mine[0].pass_interval else ""
    counts = f"{sum(a.passed for a in mine)} of {sum(a.counted for a in mine)}"
    return f"{100 * rate:.1f}%".replace(".0%", "%") + f" ({counts}{within})"


def _spent(run: Overall, side: int) -> tuple[str, str, str]:
    """Cost of an attempt, of one success, and time; unknown where the arms do not stand beside each other."""
    if run.costs is None or run.times is None:
        return UNKNOWN, UNKNOWN, UNKNOWN
    billed, took = run.costs.ways[0], run.times.way
    cost = (billed.treatment, billed.baseline)[side]
    return (
        _amount(cost, dollars(cost.value)),
        one_success(run.costs.success, side),
        _time(run, side, (took.treatment, took.baseline)[side]),
    )


def _time(run: Overall, side: int, mean: Mean) -> str:
    cut = run.times.timed_out[side] if run.times else 0
    return _amount(mean, f"{number(mean.value, 1)} s") + (f", {cut} ended by the clock" if cut else "")


def _amount(mean: Mean, text: str) -> str:
    return UNKNOWN if mean.value is None else known_of(text, mean.n, mean.of)
