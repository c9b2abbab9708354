"""Comparisons and the leaderboard for a terminal: plain tables, the questions that come first in the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crucible.report.comparison import ArmSummary, Comparison, Line, Mean
from crucible.report.words import UNKNOWN, dollars, known_of, number, percent, percent_range
from crucible.stats.one_sample import wilson
from crucible.store.queries import LeaderboardLine

MOST_REASONS = 3
REHEARSAL = "REHEARSAL: scripted sessions, no model was asked. It shows the machinery and says nothing about any arm."


def comparison_view(comparison: Comparison) -> RenderableType:
    """One comparison: marks and verdict first, then the attempts, then the two arms row by row."""
    parts: list[RenderableType] = [Text(f"\n{comparison.scenario}  (run {comparison.run_id})", style="bold")]
    parts += [Text(mark, style="yellow") for mark in marks(comparison)]
    verdict = Text(comparison.verdict.sentence, style="bold")
    return Group(*parts, verdict, _attempts(comparison.lines), _arms(comparison.arms))


def marks(comparison: Comparison) -> list[str]:
    """What a reader must know before any number."""
    said = []
    if comparison.rehearsal:
        said.append(REHEARSAL)
    if comparison.unsandboxed:
        said.append("UNSANDBOXED: made in plain copies; nothing but checks kept the agent in its workspace.")
    if comparison.without_extra_tools:
        said.append("WITHOUT EXTRA TOOLS: the tool servers the scenario names were left out on purpose.")
    if comparison.incomplete_blocks:
        blocks = ", ".join(map(str, comparison.incomplete_blocks))
        said.append(
            f"INCOMPLETE: block {blocks} lacks an attempt that counts; crucible run --resume {comparison.run_id}"
        )
    reasons = dict.fromkeys(line.detail for line in comparison.lines if line.counted is False)
    said += [f"NOT COUNTED: {reason}" for reason in list(reasons)[:MOST_REASONS]]
    return said


def _attempts(lines: Sequence[Line]) -> Table:
    table = _table(
        "block", "arm", "attempt", "ending", "suite", "score", "like reference", "turns", "tokens", "blocked"
    )
    for line in lines:
        table.add_row(
            str(line.block),
            line.arm,
            str(line.attempt_id or UNKNOWN),
            _ending(line),
            _suite(line),
            _score(line),
            number(line.similarity),
            number(line.turns, 0),
            number(line.tokens, 0),
            number(line.blocked, 0),
        )
    return table


def _ending(line: Line) -> str:
    return line.ending if line.counted or line.counted is None else f"{line.ending} (not counted: {line.cause})"


def _suite(line: Line) -> str:
    return UNKNOWN if line.passed is None else "green" if line.passed else "red"


def _score(line: Line) -> str:
    if line.total is not None:
        return f"{line.total:.2f}"
    return "not scored" if line.partial is None else f"partial {line.partial:.2f}"


def _arms(arms: Sequence[ArmSummary]) -> Table:
    table = _table("", *(f"{arm.arm}{' (baseline)' if arm.baseline else ''}" for arm in arms))
    rows: list[tuple[str, Callable[[ArmSummary], str]]] = [
        ("model", lambda a: a.model),
        ("attempts counted", lambda a: f"{a.counted} of {a.planned}{_not_counted(a)}"),
        ("calls blocked / warned / got past", lambda a: f"{a.blocked} / {a.warned} / {a.got_past}"),
        (
            "suite green",
            lambda a: f"{a.passed} of {a.counted} = {percent(a.pass_rate)} ({percent_range(a.pass_interval)})",
        ),
        ("score", lambda a: _mean(a.total) + (f", partial {number(a.partial.value)}" if a.partial.n else "")),
    ]
    names = list(dict.fromkeys(name for arm in arms for name in arm.dimensions))
    rows += [(f"  {name}", lambda a, n=name: _mean(a.dimensions[n])) for name in names]  # type: ignore[misc] # bound late otherwise
    rows += [
        ("like the reference", lambda a: _mean(a.similarity)),
        ("turns / calls", lambda a: f"{number(a.turns.value, 1)} / {number(a.tool_calls.value, 1)}"),
        ("tokens billed, mean", lambda a: _mean(a.tokens, 0)),
        ("  input not from cache", lambda a: _mean(a.uncached, 0)),
        ("  output", lambda a: _mean(a.output, 0)),
        ("cost as billed, mean", lambda a: known_of(dollars(a.cost_usd.value), a.cost_usd.n, a.cost_usd.of)),
        ("seconds, mean", lambda a: _mean(a.seconds, 1)),
    ]
    for title, show in rows:
        table.add_row(title, *(show(arm) for arm in arms))
    return table


def _mean(mean: Mean, digits: int = 2) -> str:
    return known_of(number(mean.value, digits), mean.n, mean.of)


def _not_counted(arm: ArmSummary) -> str:
    said = ", ".join(f"{n} {cause}" for cause, n in sorted(arm.not_counted.items()))
    return f" (not counted: {said})" if said else ""


def leaderboard_view(lines: Sequence[LeaderboardLine]) -> RenderableType:
    """Arms by scenario; every mean says over how many attempts it is."""
    table = _table(
        "scenario", "arm", "model", "suite green", "95%", "score", "scored", "not counted", "cost", "tokens", "s"
    )
    for line in lines:
        interval = wilson(line.passed, line.counted) if line.counted else None
        table.add_row(
            line.scenario,
            line.arm,
            line.model,
            f"{line.passed} of {line.counted}",
            percent_range((interval.low, interval.high) if interval else None),
            number(line.mean_total),
            f"{line.scored} of {line.counted}",
            str(line.not_counted),
            known_of(dollars(line.mean_cost_usd), line.priced, line.counted),
            number(line.mean_tokens, 0),
            number(line.mean_seconds, 1),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
