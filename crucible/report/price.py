"""What a run may cost, before it starts: from stored history where there is some, else the budget's ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.plan_lines import expected_attempts
from crucible.report.words import dollars
from crucible.runner.command import Chosen
from crucible.runner.models import make_model
from crucible.settings import Settings
from crucible.store.queries import past_costs
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Priced:
    """One arm of one scenario: the most attempts, those expected, what they cost by history, and the most they can cost.

    None is unknown. A run until decided expects fewer attempts than its most: the larger of the means with a difference
    of 30 points and with none.
    """

    scenario: str
    arm: str
    model: str
    attempts: int
    expected_attempts: float | None
    expected_usd: float | None
    seen: int
    ceiling_usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def price_run(chosen: Chosen, settings: Settings, store: Store) -> list[Priced]:
    """A line for each arm of each scenario. Rehearsals cost nothing and are not priced."""
    scenarios = [loaded.scenario for loaded in chosen.loaded]
    arms = [(scenario, arm) for scenario in scenarios for arm in scenario.arms if chosen.options.arm in (None, arm.id)]
    return [_priced(chosen, settings, store, scenario, arm) for scenario, arm in arms]


def _priced(chosen: Chosen, settings: Settings, store: Store, scenario: Any, arm: Any) -> Priced:
    attempts, likely = scenario.blocks, expected_attempts(scenario, chosen.options.declared)
    if chosen.options.rehearse:
        return Priced(scenario.name, arm.id, "scripted", attempts, likely, 0.0, 0, 0.0)
    past = past_costs(store, scenario.name, arm.model)
    expected = likely * sum(past) / len(past) if past and likely is not None else None
    budget = scenario.budget
    one = make_model(arm.model, settings).cost_of(budget.max_total_tokens, min(budget.max_total_tokens, 8192))
    if budget.max_cost_usd is not None and one is not None:
        one = min(one, float(budget.max_cost_usd))
    most = None if one is None else attempts * one
    return Priced(scenario.name, arm.id, arm.model, attempts, likely, expected, len(past), most)


def price_lines(lines: Sequence[Priced]) -> Iterator[str]:
    """The price as text; an unknown part leaves the sum unknown."""
    for line in lines:
        history = (
            f"expected {dollars(line.expected_usd)} from {line.seen} stored attempts" if line.seen else "no history"
        )
        attempts = f"{line.attempts} attempts"
        if line.expected_attempts != line.attempts:
            likely = "an unknown number" if line.expected_attempts is None else f"about {line.expected_attempts:.0f}"
            attempts = f"at most {attempts}, {likely} expected"
        yield (f"{line.scenario}  {line.arm}  {line.model}: {attempts}, {history}, at most {dollars(line.ceiling_usd)}")
    ceilings = [line.ceiling_usd for line in lines]
    known = [c for c in ceilings if c is not None]
    yield f"in all at most {dollars(sum(known) if len(known) == len(ceilings) else None)}; judging comes on top"
    yield "dry run: every check passed that costs nothing; nothing was made"
