"""The parts of a report without a terminal: sentences and tables as text, for pages and files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crucible.report.terminal import Part


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Titles and rows; every row has a cell for every title."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PlainPart:
    """A question, and its answer in the order it is given."""

    key: str
    title: str
    content: tuple[str | PlainTable, ...]


def plain_parts(parts: Iterable[Part]) -> list[PlainPart]:
    """The same parts, saying the same."""
    return [PlainPart(part.key, part.title, tuple(map(_plain, part.content))) for part in parts]


def _plain(content: RenderableType) -> str | PlainTable:
    if not isinstance(content, Table):
        return content.plain if isinstance(content, Text) else str(content)
    columns = [[str(cell) for cell in column.cells] for column in content.columns]
    return PlainTable(tuple(str(column.header) for column in content.columns), tuple(zip(*columns, strict=True)))
