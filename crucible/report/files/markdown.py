"""A report as Markdown for a comment on a pull request: what a reviewer needs stands open, the rest is folded.

It is short whatever the run: what does not fit is named, with the command that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crucible.report.files.about import About, beside_the_verdict, blocks, judged, lost_lines, made, subject, terms
from crucible.report.files.escaping import escaped, table
from crucible.report.files.summary import COLUMNS, arm_rows
from crucible.report.overall import Overall
from crucible.report.plain import PlainPart, PlainTable, plain_parts
from crucible.report.terminal import Beside, marks, parts

SIGNS = {
    "better": "\N{BLACK UP-POINTING TRIANGLE}",
    "worse": "\N{BLACK DOWN-POINTING TRIANGLE}",
    "equivalent": "=",
    "inconclusive": "?",
    "not tested": "\N{WHITE CIRCLE}",
}
FOLDED = ("tested", "apart", "could-see", "cost", "order", "judge", "exploratory")
"""Parts that are worth reading in a comment. Attempts and raw numbers are in other files."""
LARGEST = 8_000
"""Bytes of a comment; folded parts that would make it longer are left out."""
MOST_LINES, MOST_ROWS, MOST_NAMED = 5, 15, 3
VERDICT, SENTENCE, CELL = 800, 400, 90
"""Characters that are shown of the verdict, of another sentence, and of a cell of a table."""
_SAID_BELOW = "NOT COUNTED: "


def markdown(run: Overall, more: Beside, told: About) -> str:
    """The whole comment. What agents and scenarios wrote is escaped: it formats nothing, links nowhere, mentions nobody."""
    said = plain_parts(parts(run, more))
    shown = "\n".join(_open(run, said, told)) + "\n"
    folded = [part for part in said if part.key in FOLDED]
    return shown + _folded(folded, LARGEST - len(shown.encode()), run)


def _open(run: Overall, said: Sequence[PlainPart], told: About) -> Iterator[str]:
    word = run.verdict.word
    yield f"### {SIGNS[word]} {word}: {escaped(subject(run), SENTENCE)}"
    yield f"\n**{escaped(run.verdict.sentence, VERDICT)}**"
    for mark in _first(mark for mark in marks(run) if not mark.startswith(_SAID_BELOW)):
        yield f"\n> **{escaped(mark, SENTENCE)}**"
    for sentence in (*_first(beside_the_verdict(run)), *_uptake(run)):
        yield f"\n{escaped(sentence, SENTENCE)}"
    yield ""
    yield from table(COLUMNS, arm_rows(run), CELL)
    if told.lost:
        yield "\nNot counted for either arm:\n"
        yield from (f"- {escaped(line, SENTENCE)}" for line in _first(lost_lines(told)))
    yield from (f"\n{escaped(line, SENTENCE)}" for part in said if part.key == "itself" for line in _strings(part))
    yield f"\n<sub>{_provenance(run, told)}</sub>"


def _uptake(run: Overall) -> list[str]:
    return _first(dict.fromkeys(line for one in run.comparisons for line in one.uptake))


def _strings(part: PlainPart) -> Iterator[str]:
    return (one for one in part.content if isinstance(one, str))


def _provenance(run: Overall, told: About) -> str:
    """One line: when, what, how, and where the rest is."""
    row, every = told.run, [(one.scenario, one.scenario_hash) for one in run.comparisons]
    named = ", ".join(f"{escaped(name)} (`{digest[:12]}`)" for name, digest in every[:MOST_NAMED])
    rest = len(every) - MOST_NAMED
    facts = (
        f"Run {run.run_id} of {made(row)}",
        named + (f" and {rest} more" if rest > 0 else ""),
        escaped(f"{blocks(row)}, seed {row.seed}"),
        escaped(f"declared before it: {terms(run)}"),
        escaped(f"judge: {judged(row)}", CELL),
        escaped(f"Crucible {row.version}", CELL),
        f"all of it: `crucible compare {run.run_id} --details`, `crucible ui`",
    )
    return " · ".join(filter(None, facts))


def _folded(folded: Sequence[PlainPart], room: int, run: Overall) -> str:
    """The parts that fit, and the names of those that do not."""
    start, end = "\n<details><summary>Everything else</summary>\n", "\n</details>\n"
    room -= len((start + end).encode()) + 300  # the line that names what is left out
    made_, left = "", []
    for part in folded:
        text = "\n".join(_part(part, run)) + "\n"
        if len((made_ + text).encode()) <= room:
            made_ += text
        else:
            left.append(part.title)
    if left:
        said = f"Left out here: {'; '.join(left)}."
        made_ += f"\n{escaped(said, 200)} `crucible compare {run.run_id}` has it.\n"
    return f"{start}{made_}{end}" if made_ else ""


def _part(part: PlainPart, run: Overall) -> Iterator[str]:
    said = {*beside_the_verdict(run), *_uptake(run)}
    yield f"\n#### {escaped(part.title, SENTENCE)}"
    for one in part.content:
        if isinstance(one, PlainTable):
            yield ""
            yield from table(one.head, one.rows[:MOST_ROWS], CELL)
            if len(one.rows) > MOST_ROWS:
                yield f"\n{len(one.rows) - MOST_ROWS} rows more: `crucible compare {run.run_id}`"
        elif one not in said:
            yield f"\n{escaped(one, SENTENCE)}"


def _first(lines: Iterable[str]) -> list[str]:
    """The first few, and how many there are beside them."""
    every = list(lines)
    rest = len(every) - MOST_LINES
    return every if rest <= 0 else [*every[: MOST_LINES - 1], f"and {rest + 1} more"]
