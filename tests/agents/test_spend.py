"""The budget: checked before each call, the reply's room capped by what is left, waiting not charged."""

from __future__ import annotations

import pytest

from crucible.agents.spend import Spend
from crucible.agents.types import Ending, told_budget
from crucible.llm.types import Reply
from crucible.scenario.schema import Budget
from crucible.transcript.messages import Usage


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def reply(tokens_in: int = 100, tokens_out: int = 10, waited: float = 0.0, cost: float | None = None) -> Reply:
    return Reply("", (), Usage(input_uncached=tokens_in, output=tokens_out, cost_usd=cost), "stop", 1.0, waited)


def free(_: int, __: int) -> float:
    return 0.0


def ended(spend: Spend, estimate: int = 100) -> str | None:
    allowed = spend.before_call(estimate, free)
    return allowed.what if isinstance(allowed, Ending) else None


def test_turns_are_counted() -> None:
    spend = Spend(Budget(max_turns=2))
    assert ended(spend) is None
    spend.add(reply())
    spend.add(reply())
    assert "budget_turns" == ended(spend)


def test_a_call_that_does_not_fit_is_not_made() -> None:
    spend = Spend(Budget(max_total_tokens=1000))
    assert "budget_tokens" == ended(spend, estimate=980)


def test_the_reply_may_be_as_long_as_what_is_left() -> None:
    assert 900 == Spend(Budget(max_total_tokens=1000)).before_call(100, free)


def test_the_guess_is_corrected_by_what_the_last_call_really_took() -> None:
    spend = Spend(Budget(max_total_tokens=5000))
    spend.before_call(1000, free)
    spend.add(reply(tokens_in=500, tokens_out=100))
    assert 5000 - 600 - 600 == spend.before_call(1200, free)


def test_unknown_usage_is_charged_by_the_guess_not_as_zero() -> None:
    spend = Spend(Budget(max_total_tokens=1000))
    spend.before_call(600, free)
    spend.add(Reply("", (), Usage(), "stop", 1.0))
    assert 600 == spend.tokens


def test_waiting_for_a_provider_is_not_charged() -> None:
    clock = Clock()
    spend = Spend(Budget(max_wall_clock_seconds=10), clock=clock)
    spend.start()
    clock.now = 60.0
    spend.add(reply(waited=55.0))
    assert spend.out_of_time() is None
    clock.now = 66.0
    assert "budget_time" == ended(spend)


def test_the_clock_runs_from_the_first_model_call() -> None:
    clock = Clock()
    spend = Spend(Budget(max_wall_clock_seconds=10), clock=clock)
    clock.now = 100.0
    spend.start()
    assert 10.0 == spend.seconds_left


@pytest.mark.parametrize(("price", "expected"), [(0.4, None), (0.6, "budget_cost"), (None, "budget_cost")])
def test_cost_is_checked_before_the_call(price: float | None, expected: str | None) -> None:
    spend = Spend(Budget(max_cost_usd=1.0))
    spend.add(reply(cost=0.5))
    allowed = spend.before_call(100, lambda _i, _o: price)
    assert expected == (allowed.what if isinstance(allowed, Ending) else None)


def test_a_reply_may_be_as_long_as_what_is_left_of_the_cost_can_pay_for() -> None:
    """Once only a reply of the least length had to be paid for, and one of the greatest could cost many times the budget."""
    spend = Spend(Budget(max_cost_usd=0.05, max_total_tokens=100_000))
    output = spend.before_call(1000, lambda i, o: i * 5e-6 + o * 75e-6)
    assert 600 == output
    spend.add(reply(1000, 600, cost=0.05))
    assert "budget_cost" == getattr(spend.before_call(100, lambda i, o: i * 5e-6 + o * 75e-6), "what", None)


def test_both_arms_are_told_the_budget_in_the_same_words() -> None:
    budget = Budget(max_turns=3, max_total_tokens=60000, max_wall_clock_seconds=300, max_cost_usd=0.5)
    assert "3 replies, 60,000 tokens in all" in told_budget(budget)
    assert "300 seconds, 0.5 US dollars" in told_budget(budget)


def test_a_reply_whose_cost_is_not_known_is_charged_at_its_ceiling() -> None:
    spend = Spend(Budget(max_cost_usd=1.0))
    assert not isinstance(spend.before_call(100, lambda _i, _o: 0.6), Ending)
    spend.add(reply(cost=None))
    assert "budget_cost" == getattr(spend.before_call(100, lambda _i, _o: 0.6), "what", None)
