"""A run for a terminal, in the order of the questions: was it tested at all, what is the verdict, how far apart are the
arms, what could have been seen, what did it cost, did the order matter; then what is exploratory, then every attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from crucible.llm.price import known_price
from crucible.report import sections
from crucible.report.aa import AaReport, aa_report
from crucible.report.comparison import Comparison
from crucible.report.cost_table import cost_table, success_says
from crucible.report.costs import NOT_COMPARED, Prices
from crucible.report.overall import Overall, overall
from crucible.report.trust import Trust, with_and_without_judge
from crucible.report.uptake_rows import token_table
from crucible.report.words import spans
from crucible.store.writes import Store

MOST_REASONS = 3
MOST_ATTEMPTS = 60
"""Attempts that are listed unless everything is asked for."""
AGAIN = "Estimated from the same attempts, without intervals; 100% only says that too few failed to see it fail."
REHEARSAL = "REHEARSAL: scripted sessions, no model was asked. It shows the machinery and says nothing about any arm."


def run_view(
    store: Store, run_id: int, prices: Prices = known_price, *, detailed: bool = False
) -> RenderableType | None:
    """The report of a run; None when there is no such run. `detailed` adds every attempt and every number."""
    found = overall(store, run_id, prices, detailed=detailed)
    if found is None:
        return None
    return overall_view(found, beside(store, found), detailed=detailed)


@dataclass(frozen=True, slots=True)
class Beside:
    """What a report says beside the run's own numbers: whether its score rests on the judge, and, of a run of an arm
    against itself, what that showed."""

    trust: Trust
    itself: AaReport | None = None


def beside(store: Store, run: Overall) -> Beside:
    """The same of a run that is already read. Without a verdict there is no second look at the scores either."""
    trust = with_and_without_judge(store, run.run_id) if run.explored else Trust(why_not=NOT_COMPARED)
    return Beside(trust, aa_report(store, run.run_id) if run.kind == "aa" else None)


def as_dict(store: Store, run: Overall) -> dict[str, Any]:
    """The report for JSON, with what it says beside the run's own numbers."""
    more = beside(store, run)
    itself = more.itself.as_dict() if more.itself else None
    return {**run.as_dict(), "judge_trust": more.trust.as_dict(), "against_itself": itself}


def overall_view(run: Overall, more: Beside, *, detailed: bool = False) -> RenderableType:
    """The report of a run that is already read."""
    head = [Text(f"\n{title(run)}", style="bold"), *(Text(mark, style="yellow") for mark in marks(run))]
    return Group(*head, *(line for part in parts(run, more, detailed=detailed) for line in part.shown()))


@dataclass(frozen=True, slots=True)
class Part:
    """One question of a report with what answers it: sentences and tables. `key` is its name for links."""

    key: str
    title: str
    content: tuple[RenderableType, ...]

    def shown(self) -> Iterator[RenderableType]:
        """A heading and what is under it."""
        yield Text(f"\n{self.title}", style="bold")
        yield from self.content


def parts(run: Overall, more: Beside, *, detailed: bool = False) -> list[Part]:
    """The report of a run, question by question; a question with nothing to answer it is left out."""
    trust = ("judge", "Does the score rest on the judge?", more.trust.lines())
    apart = f"How far apart? ({run.treatment} minus {run.baseline})" if run.treatment and run.baseline else "Results"
    exploratory = "Exploratory: adjusted for many looks, and never the verdict"
    questions: list[tuple[str, str, Iterable[RenderableType | None]]] = [
        ("tested", "Was it tested?", [sections.tested(run), *_named(run, "uptake")]),
        ("verdict", "Verdict", _verdict(run)),
        ("itself", "One arm against itself", more.itself.lines() if more.itself else []),
        ("apart", apart, _apart(run)),
        *[trust] * (run.metric == "score"),
        ("again", "More than one try", _again(run)),
        ("could-see", "What could this run see?", run.could_see),
        ("cost", "Cost", [cost_table(run), success_says(run), run.dominance, token_table(run)]),
        ("order", "Order within blocks", [run.order.text(run.terms)] if run.order else []),
        *[trust] * (run.metric != "score"),
        ("exploratory", exploratory, _exploratory(run)),
        ("attempts", "Attempts", _attempts(run, detailed)),
        ("numbers", "Every number", sections.numbers(run)),
    ]
    said = [Part(key, heading, tuple(one for one in content if one is not None)) for key, heading, content in questions]
    return [part for part in said if part.content]


def title(run: Overall) -> str:
    """What was run, and what was declared before it."""
    names = [one.scenario for one in run.comparisons]
    where = names[0] if len(names) == 1 else f"{len(names)} scenarios"
    metric = "pass rate" if run.metric == "pass_rate" else "weighted score"
    declared = f"declared before it: on the {metric}, margin {run.terms.declared}"
    return f"{where}  (run {run.run_id}; {declared})"


def marks(run: Overall) -> list[str]:
    """What a reader must know before any number."""
    said, every = [], run.comparisons
    if any(one.rehearsal for one in every):
        said.append(REHEARSAL)
    if any(one.unsandboxed for one in every):
        said.append("UNSANDBOXED: made in plain copies; nothing but checks kept the agent in its workspace.")
    if any(one.without_extra_tools for one in every):
        said.append("WITHOUT EXTRA TOOLS: the tool servers the scenario names were left out on purpose.")
    said += [f"SELDOM USED: {_where(one, run)}{text}." for one in every for text in one.seldom][:MOST_REASONS]
    said += [_incomplete(one, run) for one in every if one.incomplete_blocks][:MOST_REASONS]
    lines = (line for one in every for line in one.lines)
    reasons = dict.fromkeys(line.detail for line in lines if line.counted is False and line.detail)
    return said + [f"NOT COUNTED: {reason}" for reason in list(reasons)[:MOST_REASONS]]


def _where(one: Comparison, run: Overall) -> str:
    return f"{one.scenario}, " if len(run.comparisons) > 1 else ""


def _incomplete(one: Comparison, run: Overall) -> str:
    where = _where(one, run)
    lack = "block {} lacks" if len(one.incomplete_blocks) == 1 else "blocks {} lack"
    blocks = lack.format(spans(one.incomplete_blocks))
    how = "it is still being made" if one.running else f"crucible run --resume {run.run_id}"
    return f"INCOMPLETE: {where}{blocks} an attempt that counts; {how}"


def _verdict(run: Overall) -> Iterator[RenderableType]:
    """The primary claim first; the other beside it where it says something of its own."""
    first, second = run.claims
    yield Text(first.verdict.sentence, style="bold")
    if second.verdict.sentence != first.verdict.sentence:
        yield Text(second.verdict.sentence)
    given = first.p_value is not None or first.interval is not None
    if not given and len(run.comparisons) > 1:
        yield from (f"  {one.scenario}: {one.verdict.sentence}" for one in run.comparisons)


def _apart(run: Overall) -> Iterator[RenderableType]:
    if all(arm.counted == 0 for one in run.comparisons for arm in one.arms):
        return
    yield sections.differences(run)
    yield from _named(run, "noise")


def _again(run: Overall) -> Iterator[RenderableType]:
    if (made := sections.reliability(run)) is not None:
        yield made
        yield AGAIN


def _exploratory(run: Overall) -> Iterator[RenderableType | None]:
    yield sections.dimensions(run)
    yield sections.scenarios(run)
    if len(run.scenarios) > 1:
        yield f"Per scenario: {run.scenarios_summary}."


def _attempts(run: Overall, detailed: bool) -> Iterator[RenderableType]:
    total = sum(len(one.lines) for one in run.comparisons)
    if total > MOST_ATTEMPTS and not detailed:
        yield f"{total:,} attempts; list them with: crucible compare {run.run_id} --details"
        return
    for one in run.comparisons:
        if len(run.comparisons) > 1:
            yield Text(one.scenario)
        yield sections.attempts(one.lines)


def _named(run: Overall, field: str) -> Iterator[str]:
    """Sentences of each scenario, with its name where there are several; the same one is said once."""
    by_line: dict[str, list[str]] = {}
    for one in run.comparisons:
        for text in getattr(one, field):
            by_line.setdefault(text, []).append(one.scenario)
    for text, names in by_line.items():
        everywhere = len(names) == len(run.comparisons)
        yield text if everywhere else f"{', '.join(names)}: {text}"
