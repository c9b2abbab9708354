"""docs/reading-a-verdict.md explains every heading, row and column that a report can print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from crucible.report.terminal import run_view
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from tests.report.telling import with_server

PAGE = " ".join(
    (Path(__file__).parents[2] / "docs" / "reading-a-verdict.md").read_text().lower().replace("*", "").split()
)
ARMS = {"new", "old (baseline)", "old-again"}
PLAIN = {
    "block",
    "arm",
    "attempt",
    "ending",
    "suite",
    "turns",
    "tokens",
    "blocked",
    "points",
    "p",
    "dimension",
    "scenario",
}
"""Columns that say what they are."""


def attempts(k: int, n: int, lost: int = 0) -> list[Filled]:
    made = [Filled(i < k, 0.3 + 0.5 * (i < k) + i / 100, 0.1 + i / 99, 1000 + i, 9.0 + i) for i in range(n)]
    return made + [Filled(None)] * lost


@pytest.fixture
def views(store: Store) -> list[Group]:
    """One scenario by pass rate and by score, several, until decided (decided, not yet), A/A, rehearsal, incomplete, with tool
    servers that were seldom used."""
    fill_run(store, {"s": {"old-again": attempts(3, 6), "old": attempts(2, 6)}}, "old", kind="aa")
    one = {"s": {"new": attempts(7, 8), "old": attempts(1, 8)}}
    several = {f"s{n}": {"new": attempts(5, 6), "old": attempts(2, 6)} for n in range(3)}
    half = {"s": {"new": attempts(3, 3, lost=1), "old": attempts(1, 4)}}
    fill_run(store, one, "old")
    fill_run(store, one, "old", primary_metric="score")
    fill_run(store, several, "old")
    fill_run(store, one, "old", sequential=True, blocks=20)
    fill_run(store, half, "old", sequential=True, blocks=20)
    fill_run(store, one, "old", rehearsal=True, sandbox="copy")
    fill_run(store, half, "old", blocks=8)
    with_server(store, used=3, name="served")
    found = [run_view(store, run) for run in range(1, 10)]
    assert all(isinstance(view, Group) for view in found)
    return [view for view in found if isinstance(view, Group)]


def titles(view: Group) -> Iterator[str]:
    """Headings, columns, and the first cell of every row of a table that has no heading there."""
    for part in view.renderables:
        if isinstance(part, Text) and str(part.style) == "bold" and part.plain.startswith("\n"):
            yield part.plain.strip().partition(" (")[0].partition(":")[0]
        if isinstance(part, Table):
            yield from (str(column.header) for column in part.columns)
            if str(part.columns[0].header) not in PLAIN:
                yield from (str(cell) for cell in part.columns[0].cells)


def test_every_heading_row_and_column_is_explained(views: list[Group]) -> None:
    found = (
        {title.strip() for view in views for title in titles(view)} - ARMS - PLAIN - {"", "s", "served", "3 scenarios"}
    )
    assert len(found) > 30
    number, tool = re.compile(r"\b(2|5)\b"), re.compile(r"^of [a-z]\w+$")
    said = {tool.sub("of bash", number.sub("3", title).lower().rstrip("?")) for title in found}
    assert [] == sorted(title for title in said if title not in PAGE)


def test_every_mark_is_explained(views: list[Group]) -> None:
    console = Console(width=200, record=True, file=StringIO())
    for view in views:
        console.print(view, highlight=False)
    marks = set(re.findall(r"^([A-Z][A-Z ]+[A-Z]):", console.export_text(), re.MULTILINE))
    assert {"REHEARSAL", "UNSANDBOXED", "INCOMPLETE", "SELDOM USED"} <= marks
    assert [] == sorted(mark for mark in marks if f"{mark.lower()}" not in PAGE)
