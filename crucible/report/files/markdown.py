"""A report as Markdown, short enough for a comment on a pull request: verdict first, the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crucible.report.overall import Overall
from crucible.report.plain import PlainPart, PlainTable, plain_parts
from crucible.report.terminal import Beside, marks, parts, title

OPEN = ("tested", "apart")
"""Parts that stand unfolded, in the order of the report; the verdict is above them."""
MOST_ROWS = 40
SIGNS = {"better": "\N{BLACK UP-POINTING TRIANGLE}", "worse": "\N{BLACK DOWN-POINTING TRIANGLE}", "equivalent": "="}
_MEANS_SOMETHING = re.compile(r"([\\`*_{}\[\]<>#|~@!$&])")


def markdown(run: Overall, more: Beside) -> str:
    """The whole comment. What agents and scenarios wrote is escaped: it formats nothing, links nowhere, mentions nobody."""
    return "\n".join(_lines(run, plain_parts(parts(run, more)), marks(run))) + "\n"


def _lines(run: Overall, said: Sequence[PlainPart], marked: Sequence[str]) -> Iterator[str]:
    word = run.verdict.word
    yield f"### {SIGNS.get(word, '?')} {word}: {escaped(title(run))}"
    yield ""
    yield f"**{escaped(run.verdict.sentence)}**"
    for mark in marked:
        yield f"\n> **{escaped(mark)}**"
    for part in said:
        if part.key in OPEN:
            yield f"\n#### {escaped(part.title)}\n"
            yield from _content(part)
    for part in said:
        if part.key not in OPEN:
            yield f"\n<details><summary>{escaped(part.title)}</summary>\n"
            yield from _content(part)
            yield "\n</details>"


def _content(part: PlainPart) -> Iterator[str]:
    for one in part.content:
        yield ""
        if isinstance(one, PlainTable):
            yield from _table(one)
        else:
            yield escaped(one.strip())


def _table(table: PlainTable) -> Iterator[str]:
    yield _row(table.head)
    yield _row(["---"] * len(table.head), plain=True)
    yield from (_row(row) for row in table.rows[:MOST_ROWS])
    if len(table.rows) > MOST_ROWS:
        yield f"\nand {len(table.rows) - MOST_ROWS} rows more"


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return f"| {' | '.join(cell if plain else escaped(cell) or ' ' for cell in cells)} |"


def escaped(text: str) -> str:
    """Text that means only itself, on one line. A zero-width space after `@` keeps a name from being called."""
    line = " ".join(text.split())
    return _MEANS_SOMETHING.sub(lambda m: f"\\{m.group()}" + ("\u200b" if m.group() == "@" else ""), line)
