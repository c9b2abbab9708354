"""Uptake as rows and a small table of a run's report: what was offered, what was called, what was lost, where tokens went.

Counts are sums over scenarios; means of tokens are over the attempts in which they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from crucible.report.calls import Calls, together
from crucible.report.difference import UNKNOWN_START
from crucible.report.overall import Overall
from crucible.report.tables import heads, table
from crucible.report.token_split import Split, mean_split
from crucible.report.use import ArmUse
from crucible.report.words import UNKNOWN, attempts_in_words, percent

Uses = Sequence[ArmUse]
Show = Callable[[Uses], str]
MOST_TOOLS = 3
"""Tools whose output has a row of its own."""


def uptake_rows(run: Overall) -> Iterator[tuple[str, list[str]]]:
    """Rows for the table of what was tested, each with a cell per arm; only those that have something to say."""
    roles = uses_by_role(run)
    if not any(use.of for uses in roles for use in uses):
        return
    extra = any(use.servers for uses in roles for use in uses)
    called = any(use.every.called for uses in roles for use in uses)
    rows: list[tuple[str, Show, bool]] = [
        ("first requests", _beginnings, True),
        ("extra tools offered", _offered, extra),
        ("extra tools used", _used, extra),
        ("turns with extra tools", _turns, extra),
        ("lost turns, extra tools", lambda uses: _lost(together(use.extra for use in uses)), extra),
        ("lost turns", lambda uses: _lost(together(use.every for use in uses)), called),
    ]
    for title, show, said in rows:
        if said:
            yield title, [show(uses) for uses in roles]


def uses_by_role(run: Overall) -> list[Uses]:
    """The treatment on every scenario, then the baseline; a role that was not run is left out."""
    roles: list[list[ArmUse]] = [[], []]
    for one in run.comparisons:
        baselines = {arm.arm for arm in one.arms if arm.baseline}
        for use in one.use:
            roles[use.arm in baselines].append(use)
    return [uses for uses in roles if uses]


def _beginnings(uses: Uses) -> str:
    if any(use.beginnings is None and use.of for use in uses):
        return UNKNOWN_START
    made = [use for use in uses if use.of]
    if (most := max((use.beginnings or 0 for use in made), default=0)) > 1:
        return f"{most} different ones"
    largest = max((use.characters or 0 for use in made), default=0)
    attempts = sum(use.of for use in made)
    return f"the same in all {attempts}, {largest / 1000:.1f} KB" if made else UNKNOWN


def _offered(uses: Uses) -> str:
    return "; ".join(dict.fromkeys(server.text() for use in uses for server in use.servers)) or "none"


def _used(uses: Uses) -> str:
    if not any(use.servers for use in uses):
        return UNKNOWN
    calls = together(use.extra for use in uses)
    used = f"in {sum(use.used for use in uses)} of {attempts_in_words(sum(use.of for use in uses))}"
    return f"{used}: {calls.called} calls, {calls.succeeded} succeeded" if calls.called else used


def _turns(uses: Uses) -> str:
    calls = together(use.extra for use in uses)
    if not any(use.servers for use in uses) or not calls.turns:
        return UNKNOWN
    first = together(attempt.extra for use in uses for attempt in use.attempts).first
    return f"{percent(calls.share)}" + (f", first in turn {first}" if first is not None else "")


def _lost(calls: Calls) -> str:
    if not calls.called:
        return UNKNOWN
    kinds = ("errors", "refused", "unread", "repeats")
    failed = ", ".join(_many(getattr(calls, kind), kind) for kind in kinds if getattr(calls, kind))
    return f"{calls.lost_turns} of {calls.turns_with} with calls" + (f" ({failed})" if failed else "")


def _many(number: int, kind: str) -> str:
    return f"{number} {kind.removesuffix('s') if number == 1 else kind}"


def token_table(run: Overall) -> Table | None:
    """Where the tokens of an attempt went; None where nothing is known of any arm."""
    roles = uses_by_role(run)
    means = [mean_split([attempt.tokens for use in uses for attempt in use.attempts]) for uses in roles]
    if not any(known for _, known in means):
        return None
    made = table("where the tokens went (estimated)", *heads(run))
    for title, of in _token_rows([split for split, _ in means]):
        made.add_row(title, *(_tokens(split, of) for split, _ in means))
    counts = [(known, sum(use.of for use in uses)) for (_, known), uses in zip(means, roles, strict=True)]
    if any(known != of for known, of in counts):
        made.add_row("known of", *(f"{known} of {attempts_in_words(of)}" for known, of in counts))
    return made


def _token_rows(splits: Sequence[Split | None]) -> Iterator[tuple[str, Callable[[Split], float]]]:
    yield "system prompt and task", lambda split: split.prompt
    yield "tool schemas", lambda split: split.schemas
    yield "tool output", lambda split: split.returned
    for tool in _largest([split for split in splits if split is not None]):
        yield f"  of {tool}", _of_tool(tool)
    yield "its own replies, read again", lambda split: split.replies
    yield "model output (counted)", lambda split: split.output


def _of_tool(tool: str) -> Callable[[Split], float]:
    return lambda split: split.results.get(tool, 0.0)


def _largest(splits: Sequence[Split]) -> list[str]:
    """The tools whose output took most, of both arms together."""
    whole: dict[str, float] = {}
    for split in splits:
        for tool, tokens in split.results.items():
            whole[tool] = whole.get(tool, 0.0) + tokens
    return sorted(whole, key=lambda tool: -whole[tool])[:MOST_TOOLS] if len(whole) > 1 else []


def _tokens(split: Split | None, of: Callable[[Split], float]) -> str:
    if split is None:
        return UNKNOWN
    whole, part = split.input + split.output, of(split)
    return f"{part:,.0f} ({percent(part / whole)})" if whole else "0"
