"""The model calls of one attempt as the proxy tells of them: what was spent, what is still allowed, what was refused."""

from __future__ import annotations

from time import monotonic

from crucible.agents.external.placing import Timed
from crucible.agents.spend import Spend
from crucible.agents.types import Ending
from crucible.llm.price import most_usd
from crucible.llm.proxy import Exchange, Upstream
from crucible.llm.types import Reply
from crucible.scenario.schema import Budget

START_SECONDS = 180.0
"""Longest an agent may take to its first model call, from which on the budget's clock runs. Some load for half a minute."""


class Tally:
    """Counts. `timed` are the calls so far, in the order of their ends; `refused` the ending of the first refusal.

    `start_seconds`: longest the agent may take to its first call.
    """

    def __init__(self, budget: Budget, upstream: Upstream, start_seconds: float = START_SECONDS) -> None:
        self.start_seconds = start_seconds
        self.spend = Spend(budget)
        self.timed: list[Timed] = []
        self.refused: Ending | None = None
        self._upstream = upstream
        self._zero = monotonic()
        self._is_asked = False
        self._in_flight: list[int] = []

    def start(self) -> None:
        """The agent is started."""
        self._zero = monotonic()

    @property
    def at(self) -> float:
        """Seconds since the agent was started."""
        return round(monotonic() - self._zero, 4)

    @property
    def seconds_left(self) -> float:
        """Seconds it may go on: of the budget from its first model call on, of `start_seconds` before that."""
        return self.spend.seconds_left if self._is_asked else self.start_seconds - self.at

    def admit(self, input_tokens: int) -> str | None:
        """Whether another call fits the budget beside those in flight; else why not, in words for the agent."""
        self.spend.start()
        self._is_asked = True
        allowed = self.refused or self.spend.before_call(input_tokens, self._most, self._in_flight)
        if not isinstance(allowed, Ending):
            self._in_flight.append(input_tokens)
            return None
        self.refused = allowed
        return f"The budget of this attempt is used up: {allowed.detail}. No further model call will be answered."

    def seen(self, exchange: Exchange) -> None:
        """Account one call, whatever came of it."""
        if not exchange.refused:
            self._in_flight.pop(0)  # which of them it was matters little to the sum
        one = Timed(exchange, self.at)
        self.timed.append(one)
        if one.replied:
            self.spend.add(
                Reply(
                    exchange.text, exchange.tool_calls, exchange.usage, exchange.finish_reason, seconds=exchange.seconds
                )
            )

    @property
    def asked(self) -> int:
        """Model calls that were made."""
        return len(self.timed)

    @property
    def answered(self) -> int:
        """Model calls that came back whole."""
        return sum(one.exchange.answered for one in self.timed)

    def _most(self, input_tokens: int, output_tokens: int) -> float | None:
        return most_usd(input_tokens, output_tokens, self._upstream.price(self._upstream.wire_model, None))
