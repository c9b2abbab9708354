"""What an attempt has used of its budget, and whether another call fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from crucible.agents.types import Ending
from crucible.errors import Cause
from crucible.llm.types import Reply
from crucible.scenario.schema import Budget

MOST_OUTPUT = 8192
"""Output tokens allowed in one reply when the budget leaves room for more."""
LEAST_OUTPUT = 64
"""A call with less room for its reply than this is not worth making."""


@dataclass
class Spend:
    """Running totals of one attempt. Time waiting for a provider's retries is not charged."""

    budget: Budget
    clock: Callable[[], float] = monotonic
    turns: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    waited: float = 0.0
    _started: float | None = None
    _growth: float = field(default=1.0)
    _last_estimate: int = 0
    _last_ceiling: float = 0.0

    def start(self) -> None:
        """The clock runs from the first model call."""
        if self._started is None:
            self._started = self.clock()

    @property
    def seconds(self) -> float:
        """Charged seconds so far."""
        return 0.0 if self._started is None else max(0.0, self.clock() - self._started - self.waited)

    @property
    def seconds_left(self) -> float:
        """Charged seconds still allowed; may be negative."""
        return float(self.budget.max_wall_clock_seconds) - self.seconds

    def before_call(
        self, estimate: int, next_cost: Callable[[int, int], float | None], in_flight: Sequence[int] = ()
    ) -> Ending | int:
        """An ending if the next call does not fit, else the most output tokens it may have.

        `estimate` guesses the input tokens; it is corrected by how far off the last guess was. `in_flight` are the guesses
        for calls that were allowed and are not yet accounted: what they will take is no longer there for this one.
        """
        estimate = int(estimate * self._growth)
        self._last_estimate = max(1, estimate)
        left = self.budget.max_total_tokens - self.tokens - estimate - int(sum(in_flight) * self._growth)
        output = min(MOST_OUTPUT, left)
        if (over := self._over(estimate, left, len(in_flight))) is not None:
            return over
        if self.budget.max_cost_usd is not None:
            output = _affordable(self.budget.max_cost_usd - self.cost_usd, estimate, output, next_cost)
            self._last_ceiling = next_cost(estimate, output) or 0.0
            if output < LEAST_OUTPUT:
                return _spent("budget_cost", f"{self.cost_usd:.4f} of {self.budget.max_cost_usd:g} US dollars used")
        return output

    def _over(self, estimate: int, left: int, in_flight: int) -> Ending | None:
        if self.turns + in_flight >= self.budget.max_turns:
            return _spent("budget_turns", f"{self.turns} of {self.budget.max_turns} turns used")
        if left < LEAST_OUTPUT:
            return _spent(
                "budget_tokens",
                f"{self.tokens:,} of {self.budget.max_total_tokens:,} tokens used; the next call needs about {estimate:,}",
            )
        return self.out_of_time()

    def out_of_time(self) -> Ending | None:
        """An ending when the wall clock is used up."""
        if self.seconds_left > 0:
            return None
        return _spent("budget_time", f"{self.seconds:.1f} of {self.budget.max_wall_clock_seconds:g} seconds used")

    def add(self, reply: Reply) -> None:
        """Account a reply, before anything in it is looked at. What the provider does not count is charged by the guess."""
        self.turns += 1
        self.waited += reply.waited
        usage = reply.usage
        self.tokens += usage.total if usage.total is not None else self._last_estimate
        self.cost_usd += self._last_ceiling if usage.cost_usd is None else usage.cost_usd
        if self._last_estimate and usage.total is not None and usage.output is not None and usage.total > usage.output:
            self._growth *= max(0.25, min(4.0, (usage.total - usage.output) / self._last_estimate))


def _affordable(dollars: float, estimate: int, output: int, next_cost: Callable[[int, int], float | None]) -> int:
    """As much of `output` as a call with `estimate` input tokens can have for so many dollars; 0 where the price is unknown."""
    least, most = next_cost(estimate, 0), next_cost(estimate, output)
    if least is None or most is None or least > dollars:
        return 0
    return output if most <= dollars else int(output * (dollars - least) / (most - least))


def _spent(what: str, detail: str) -> Ending:
    return Ending(what, Cause.BUDGET, detail)
