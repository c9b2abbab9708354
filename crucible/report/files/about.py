"""What a file says of a run beside its report, for who has nothing but the file: when, what, how, and what is not in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crucible.report.overall import Overall, given
from crucible.report.words import attempts_in_words, spans, to_the_minute
from crucible.scenario.load import parse_stored
from crucible.scenario.schema import Scenario
from crucible.store.declared import declared
from crucible.store.live import NotCounted, not_counted
from crucible.store.tables import RunRow
from crucible.store.writes import Store


@dataclass(frozen=True)
class About:
    """A run's row, its scenarios as they were run, by hash, and the attempts that count for neither arm."""

    run: RunRow
    scenarios: Mapping[str, Scenario]
    lost: tuple[NotCounted, ...]


def about(store: Store, run_id: int) -> About:
    """Of a run that is in the store. Raises LookupError when it is not."""
    found = declared(store, run_id)
    if found is None:
        raise LookupError(f"no run {run_id}")
    scenarios = {digest: parse_stored(row.text) for digest, row in found.scenarios.items()}
    return About(found.run, scenarios, tuple(not_counted(store, run_id)))


def subject(run: Overall) -> str:
    """What was held against what: `careful against baseline on first-bug`."""
    names = [one.scenario for one in run.comparisons]
    where = ", ".join(names or ["no scenario"]) if len(names) < 4 else f"{len(names)} scenarios"
    return f"{' against '.join(filter(None, (run.treatment, run.baseline))) or 'nothing'} on {where}"


def made(row: RunRow) -> str:
    """When a run began, to the minute."""
    return to_the_minute(row.created_at)


def blocks(row: RunRow) -> str:
    """How often both arms were to be run."""
    if row.sequential:
        return f"at most {row.blocks} blocks, until decided"
    return f"{row.blocks} block{'' if row.blocks == 1 else 's'}"


def terms(run: Overall) -> str:
    """What the verdict is about, as it was declared before the first attempt."""
    metric = "pass rate" if run.metric == "pass_rate" else "weighted score"
    return f"on the {metric}, margin {run.terms.declared}"


def judged(row: RunRow) -> str:
    """Who scored it."""
    if row.judge == "facts":
        return "none, scored from measurements"
    return row.judge if row.judge_samples == 1 else f"{row.judge}, {row.judge_samples} samples"


def beside_the_verdict(run: Overall) -> Iterator[str]:
    """What the verdict does not say: the other claim, each scenario where there is no verdict on all, the cost."""
    second = run.claims[1].verdict.sentence
    if second != run.verdict.sentence:
        yield second
    if not given(run.verdict) and len(run.comparisons) > 1:
        yield from (f"{one.scenario}: {one.verdict.sentence}" for one in run.comparisons)
    if run.dominance:
        yield run.dominance


def lost_lines(told: About) -> list[str]:
    """What counts for neither arm, and why: attempts that were lost to the same reason in one line."""
    groups: dict[tuple[str, ...], list[NotCounted]] = {}
    for one in told.lost:
        groups.setdefault((one.scenario, one.arm, one.cause or "", one.detail), []).append(one)
    return [_lost(mine, several=len(told.scenarios) > 1) for mine in groups.values()]


def _lost(mine: list[NotCounted], *, several: bool) -> str:
    first, blocks_ = mine[0], sorted({one.block for one in mine})
    again = sum(one.again is not None for one in mine)
    made_again = "made again" if again == len(mine) else f"{again} made again" if again else "not made again"
    where = f"{first.scenario}, " if several else ""
    which = f"block{'' if len(blocks_) == 1 else 's'} {spans(blocks_)}"
    why = f": {first.detail.strip().splitlines()[0]}" if first.detail.strip() else ""
    return f"{attempts_in_words(len(mine))} of {first.arm} ({where}{which}; {first.cause}; {made_again}){why}"
