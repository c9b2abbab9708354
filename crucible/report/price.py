"""What a run may cost, before it starts: from stored history where there is some, else the budget's ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.words import dollars
from crucible.runner.command import Chosen
from crucible.runner.models import make_model
from crucible.settings import Settings
from crucible.store.queries import past_costs
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Priced:
    """One arm of one scenario: attempts, what one costs by history, and the most it can cost; None is unknown."""

    scenario: str
    arm: str
    model: str
    attempts: int
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
    attempts = chosen.options.blocks or scenario.blocks
    if chosen.options.rehearse:
        return Priced(scenario.name, arm.id, "scripted", attempts, 0.0, 0, 0.0)
    past = past_costs(store, scenario.name, arm.model)
    expected = attempts * sum(past) / len(past) if past else None
    budget = scenario.budget
    one = make_model(arm.model, settings).cost_of(budget.max_total_tokens, min(budget.max_total_tokens, 8192))
    if budget.max_cost_usd is not None and one is not None:
        one = min(one, float(budget.max_cost_usd))
    return Priced(
        scenario.name, arm.id, arm.model, attempts, expected, len(past), None if one is None else attempts * one
    )


def price_lines(lines: Sequence[Priced]) -> Iterator[str]:
    """The price as text; an unknown part leaves the sum unknown."""
    for line in lines:
        history = (
            f"expected {dollars(line.expected_usd)} from {line.seen} stored attempts" if line.seen else "no history"
        )
        yield (
            f"{line.scenario}  {line.arm}  {line.model}: {line.attempts} attempts, {history}, "
            f"at most {dollars(line.ceiling_usd)}"
        )
    ceilings = [line.ceiling_usd for line in lines]
    known = [c for c in ceilings if c is not None]
    yield f"in all at most {dollars(sum(known) if len(known) == len(ceilings) else None)}; judging comes on top"
    yield "dry run: every check passed that costs nothing; nothing was made"
