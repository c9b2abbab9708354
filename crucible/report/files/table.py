"""Every planned attempt of a run as one row of a CSV file. What is not known is empty, never 0."""

from __future__ import annotations

import csv
import io

from crucible.report.arms import Line
from crucible.report.overall import Overall

COLUMNS = ("run", "scenario", "scenario_hash", "rehearsal", "baseline", *Line.__dataclass_fields__)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table(run: Overall) -> str:
    """The whole file, with titles. A text that a spreadsheet would take for a formula is marked as text."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in run.comparisons:
        baselines = {arm.arm for arm in one.arms if arm.baseline}
        for line in one.lines:
            first = (run.run_id, one.scenario, one.scenario_hash, one.rehearsal, line.arm in baselines)
            values = (*first, *(getattr(line, name) for name in Line.__dataclass_fields__))
            writer.writerow([_cell(value) for value in values])
    return made.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12g}"  # a sum of prices is no longer in its last digits
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
