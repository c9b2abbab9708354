"""The built-in loop as an agent on a frozen failure: a model, a system prompt, and stub tools over the fake context."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from crucible.agents.loop import LoopAgent
from crucible.agents.stub_tools import StubTools, StubWorld, stub_specs
from crucible.agents.types import Ending, Task
from crucible.errors import AttemptError, UsageError, nearest
from crucible.llm.types import Model
from crucible.redaction import redact_bytes
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.subject import Played
from crucible.scenario.schema import Budget
from crucible.transcript.events import Answered, Event, Replied
from crucible.transcript.neutral import NeutralCall, NeutralRun, NeutralTokens

PROMPT: Final = (
    "You are an assistant that acts through tools. Do what is asked with the tools there are, and nothing beyond it. "
    "Reply without a tool call when you are done, with one or two sentences on what you did."
)
MOST_TOKENS: Final = 1_000_000
_CAPPED: Final = {"budget_turns": "turns", "budget_tokens": "tokens"}
_NOT_COUNTED: Final = {"budget_time": "time", "budget_cost": "spend"}


@dataclass(frozen=True, slots=True)
class Setup:
    """What an arm is made of, its model apart. `without` are stub tools that are taken from it."""

    prompt: str = PROMPT
    without: tuple[str, ...] = ()
    seconds: float = 300.0


class ModelAgent:
    """A model in the built-in loop. `make_model` makes a fresh one for each run."""

    def __init__(self, name: str, make_model: Callable[[], Model], frozen: Frozen, setup: Setup) -> None:
        stubs = frozen.failure.stub_tools
        known = [stub.name for stub in stubs]
        for tool in setup.without:
            if tool not in known:
                raise UsageError(f"--without {tool}: the scenario has no such stub tool{nearest(tool, known)}")
        if not stubs and frozen.expectation.tools + frozen.expectation.forbid_tool:
            raise UsageError(
                f"{frozen.failure.slug}: a model has no tools to call here",
                hint="add stub_tools to the file, or run an agent that brings its own: --agent",
            )
        self.name = name
        self.enforced = frozenset({"turns", "tokens", "cost_usd", "seconds"})
        self._make_model, self._frozen, self._setup = make_model, frozen, setup
        self._stubs = [stub for stub in stubs if stub.name not in setup.without]

    async def play(self) -> Played:
        """One conversation over a copy of the context. A provider that fails is a run that does not count."""
        events: list[Event] = []
        began = monotonic()
        world = StubWorld(StubTools(self._frozen.failure.context, self._stubs))
        agent = LoopAgent(self._make_model(), stub_specs(self._stubs))
        ending: Ending | AttemptError
        try:
            ending = await asyncio.wait_for(agent.attempt(self._task(), world, events.append), 2 * self._setup.seconds)
        except AttemptError as error:
            ending = error
        except TimeoutError:
            ending = Ending("budget_time", AttemptError.cause, "stopped while the provider was waited for")
        seconds = monotonic() - began
        transcript = b"\n".join(event.model_dump_json().encode() for event in events)
        return Played(neutral_run(events, ending, seconds), redact_bytes(transcript), seconds)

    def _task(self) -> Task:
        failure, caps = self._frozen.failure, self._frozen.expectation.caps
        context = json.dumps(failure.context, ensure_ascii=False, indent=1)
        prompt = f"{failure.query}\n\nContext:\n{context}" if failure.context else failure.query
        budget = Budget(
            max_turns=self._frozen.turns,
            max_total_tokens=int(caps.tokens or MOST_TOKENS),
            max_wall_clock_seconds=min(self._setup.seconds, caps.seconds or self._setup.seconds),
            max_cost_usd=caps.cost_usd,
        )
        return Task(prompt, self._setup.prompt, (), budget)


def neutral_run(events: Sequence[Event], ending: Ending | AttemptError, seconds: float) -> NeutralRun:
    """Our own events as a neutral run. Out of time or money, or failed by the provider, it does not count."""
    replies = [event for event in events if isinstance(event, Replied)]
    raw = {call["id"]: call["raw_arguments"] for reply in replies for call in reply.tool_calls}
    calls = tuple(_call(event, raw.get(event.call_id)) for event in events if isinstance(event, Answered))
    stop = ending.what if isinstance(ending, Ending) else ending.ending
    reason = None
    if isinstance(ending, AttemptError):
        reason = ending.message
    elif stop in _NOT_COUNTED:
        reason = f"ended by its limit of {_NOT_COUNTED[stop]}: {ending.detail}"
    return NeutralRun(
        calls=calls,
        final_text=replies[-1].text if replies and not replies[-1].tool_calls else None,
        complete=stop == "finished",
        stop=stop,
        turns=len(replies),
        cost_usd=_sum([reply.cost_usd for reply in replies]),
        tokens=_tokens(replies),
        seconds=seconds,
        valid=reason is None,
        reason=reason,
        cap=_CAPPED.get(stop),
    )


def _call(event: Answered, raw: str | None) -> NeutralCall:
    """A call that could not be understood, or is of a tool that is not there, was asked for and never ran."""
    ran = event.arguments is not None
    args: Any = event.arguments if ran else _object(raw)
    return NeutralCall(
        event.tool, args, ok=event.ok, result=_value(event.text), executed=ran, raw_args=None if ran else raw
    )


def _object(raw: str | None) -> dict[str, Any] | None:
    value = _value(raw or "{}")
    return value if isinstance(value, dict) else None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _tokens(replies: Sequence[Replied]) -> NeutralTokens:
    inputs = [
        None if one.input_uncached is None else one.input_uncached + (one.input_cached or 0) + (one.cache_write or 0)
        for one in replies
    ]
    total_in, total_out = _sum(inputs), _sum([one.output for one in replies])
    return NeutralTokens(None if total_in is None else int(total_in), None if total_out is None else int(total_out))


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; None where any part is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
