"""What the tables of a run's report share: their look, their columns, and means over scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.table import Table

from crucible.report.arms import ArmSummary
from crucible.report.noise import NoiseFloor
from crucible.report.overall import Overall
from crucible.report.words import UNKNOWN

Arms = Sequence[ArmSummary]
IDENTICAL = "identical arms"
MEASURED_AS = {"as billed": "cost", "tokens billed": "tokens", "time": "seconds"}
"""Rows, by the measure of a noise floor that stands behind them where it is not called the same."""


def table(*columns: str) -> Table:
    """A plain table that is no wider than what is in it."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def by_role(run: Overall) -> list[Arms]:
    """The treatment on every scenario, then the baseline; a role that was not run is left out."""
    roles = [[arm for one in run.comparisons for arm in one.arms if arm.baseline is which] for which in (False, True)]
    return [arms for arms in roles if arms]


def heads(run: Overall) -> list[str]:
    """Column titles for the arms."""
    return [name + baseline for name, baseline in ((run.treatment, ""), (run.baseline, " (baseline)")) if name]


def known_mean(values: Sequence[float | None]) -> float | None:
    """Of values that are all known; else it is not."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def noise_of(run: Overall) -> NoiseFloor | None:
    """What stands behind the differences of a run on one scenario; what several do together is not known from each."""
    return run.comparisons[0].noise_floor if run.compared and len(run.comparisons) == 1 else None


def noise_column(floor: object) -> list[str]:
    """Its title, where there is anything to stand in it."""
    return [IDENTICAL] if floor else []


def noise_cell(floor: NoiseFloor | None, title: str) -> list[str]:
    """In what range the differences of identical arms lie, for the row of that title."""
    return [floor.within(MEASURED_AS.get(title, title)) or UNKNOWN] if floor else []
