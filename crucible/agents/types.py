"""What every agent is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from crucible.errors import Cause
from crucible.scenario.schema import Budget, Policy
from crucible.transcript.events import Event
from crucible.world.types import World


@dataclass(frozen=True, slots=True)
class Task:
    """What an arm is asked to do, and the rules it works under."""

    prompt: str
    system_prompt: str
    policies: tuple[Policy, ...]
    budget: Budget


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended: one word, whose fault, and a sentence for people."""

    what: str
    cause: Cause
    detail: str = ""


Record = Callable[[Event], None]


class Agent(Protocol):
    """Anything that attempts a task in a world."""

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:
        """Work until done or out of budget, recording every event. AttemptError means it does not count."""


NEUTRAL_PROMPT = (
    "You are a software engineer working in the repository at /workspace. Use the tools to look around, change files "
    "and run commands. Reply without a tool call when you are done, with one or two sentences on what you did."
)


def system_prompt(own: str | None, budget: Budget) -> str:
    """An arm's system prompt with the budget in the same words for every arm."""
    return f"{own or NEUTRAL_PROMPT}\n\n{told_budget(budget)}"


def told_budget(budget: Budget) -> str:
    """The budget in words."""
    parts: Sequence[str] = [
        f"{budget.max_turns} replies",
        f"{budget.max_total_tokens:,} tokens in all (input and output of every call)",
        f"{budget.max_wall_clock_seconds:g} seconds",
        *([f"{budget.max_cost_usd:g} US dollars"] if budget.max_cost_usd is not None else []),
    ]
    return f"Your budget: {', '.join(parts)}. The attempt ends when any of them is used up."
