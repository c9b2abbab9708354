"""The built-in agent: a loop between a model and tools, within a budget.

Every tool call id gets exactly one result, whatever happens; usage is accounted before a reply is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from crucible.agents.calls import Answer, answer, refusal
from crucible.agents.replies import reply_event
from crucible.agents.spend import MOST_OUTPUT, Spend
from crucible.agents.types import Ending, Record, Task
from crucible.errors import Cause, ProviderError
from crucible.llm.types import Model, Reply, Request
from crucible.transcript.events import NOT_RUN, Answered, Decided, Noted, Started, cap_text
from crucible.transcript.messages import Message, ToolCall, ToolSpec
from crucible.transcript.opening import fingerprint
from crucible.world.types import ToolOutcome, World

MOST_BAD_TURNS = 5
"""Turns in a row in which every call was malformed or unknown, or the reply was cut off, before the attempt ends."""
CUT_OFF = "length"
"""The finish reason of a reply that was longer than it may be."""
GO_ON = "Your reply was cut off at its length limit before it called a tool. Go on, with a shorter reply."
MODEL_SECONDS = 180.0
"""Longest one try of a model call may take."""


MOST_NAMED = 200
"""Restored paths that are recorded of one call."""


class LoopAgent:
    """Drives a model with tools until it replies, in full, without a call or a budget ends.

    `brought` is what the arm brought beside the built-in tools, for the opening (see transcript.opening: environment).
    """

    def __init__(self, model: Model, tools: Sequence[ToolSpec], brought: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.tools = {tool.name: tool for tool in tools}
        self.brought = dict(brought or {})

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:
        """Work on the task. Raises AttemptError when the provider or the world failed."""
        return await _Conversation(self, task, world, record).run()

    def opening(self, task: Task) -> dict[str, Any]:
        """What it will first ask (see transcript.opening), told without asking anybody; the same in every attempt."""
        return {
            "messages": [{"role": message.role, "content": message.content} for message in first_messages(task)],
            "tools": [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                for tool in self.tools.values()
            ],
            "model": self.model.name,
            # A reply may be as long as this where the budget leaves room for it, which depends on the prompt.
            "parameters": {"most_output_tokens": MOST_OUTPUT, "budget": task.budget.model_dump()},
            "environment": dict(self.brought),
        }


def first_messages(task: Task) -> list[Message]:
    """What a conversation begins with."""
    return [Message("system", task.system_prompt), Message("user", task.prompt)]


class _Conversation:
    def __init__(self, agent: LoopAgent, task: Task, world: World, record: Record) -> None:
        self.agent, self.model, self.tools = agent, agent.model, agent.tools
        self.task, self.world, self.record = task, world, record
        self.messages = first_messages(task)
        self.spend = Spend(task.budget)
        self.bad_turns = 0
        self._zero = monotonic()

    async def run(self) -> Ending:
        self._record_start()
        while True:
            request = self._request()
            allowed = self.spend.before_call(self.model.estimate_tokens(request), self.model.cost_of)
            if isinstance(allowed, Ending):
                return allowed
            reply = await self._ask(self._request(max_output=allowed))
            if isinstance(reply, Ending):
                return reply
            if not reply.tool_calls and reply.finish_reason != CUT_OFF:
                return Ending("finished", Cause.AGENT, cap_text(reply.text, 400))
            ending = await self._answer_all(reply.tool_calls) if reply.tool_calls else self._let_go_on(reply)
            if ending is not None:
                return ending

    def _request(self, max_output: int | None = None) -> Request:
        return Request(
            messages=tuple(self.messages),
            tools=tuple(self.tools.values()),
            max_output_tokens=max_output,
            timeout=max(1.0, min(MODEL_SECONDS, self.spend.seconds_left)),
        )

    async def _ask(self, request: Request) -> Reply | Ending:
        self.spend.start()
        try:
            reply = await self.model.complete(request)
        except ProviderError as error:
            if error.kind == "timeout" and request.timeout < MODEL_SECONDS:
                return Ending("budget_time", Cause.BUDGET, "the time left was too short for the model's reply")
            if error.kind == "context":
                return Ending("context_full", Cause.BUDGET, "the conversation no longer fits the model's context")
            raise
        self.spend.add(reply)
        self._record_reply(reply)
        self.messages.append(Message("assistant", reply.text, reply.tool_calls))
        return reply

    async def _answer_all(self, calls: Sequence[ToolCall]) -> Ending | None:
        ending: Ending | None = None
        answers = []
        for call in calls:
            ending = ending or self.spend.out_of_time()
            answered = await self._answer(call) if ending is None else Answer(None, _not_run(ending))
            ending = ending or answered.ending
            answers.append(answered)
            self._record_answer(call, answered)
            self.messages.append(Message("tool", answered.outcome.text, tool_call_id=call.id))
        return ending or self._count_bad(answers)

    def _let_go_on(self, reply: Reply) -> Ending | None:
        """A reply that was cut off before any call has not ended the work; too many of them in a row do."""
        if not reply.text.strip():
            self.messages.pop()  # providers refuse a message that says nothing
        self.messages.append(Message("user", GO_ON))
        self.record(Noted(at=self._at, turn=self.spend.turns, what="reply_cut_off", detail=f"it was told: {GO_ON}"))
        return self._count_bad([])

    async def _answer(self, call: ToolCall) -> Answer:
        return await answer(call, self.tools, self.task.policies, self.world, self.spend.seconds_left)

    def _count_bad(self, answers: Sequence[Answer]) -> Ending | None:
        self.bad_turns = self.bad_turns + 1 if all(a.malformed for a in answers) else 0
        if self.bad_turns < MOST_BAD_TURNS:
            return None
        return Ending("bad_calls", Cause.AGENT, f"{self.bad_turns} turns in a row held no call that could be read")

    # What is recorded

    @property
    def _at(self) -> float:
        return round(monotonic() - self._zero, 4)

    def _record_start(self) -> None:
        opening = self.agent.opening(self.task)
        self.record(
            Started(
                at=self._at,
                turn=0,
                system_prompt=self.task.system_prompt,
                task=self.task.prompt,
                tools=tuple(self.tools),
                first_request_sha256=fingerprint(opening),
                opening=opening,
            )
        )

    def _record_reply(self, reply: Reply) -> None:
        usage = reply.usage
        if usage.total is None:
            self.record(
                Noted(
                    at=self._at, turn=self.spend.turns, what="usage_unknown", detail="the provider did not count tokens"
                )
            )
        self.record(
            reply_event(
                reply.text,
                reply.tool_calls,
                usage,
                at=self._at,
                turn=self.spend.turns,
                seconds=reply.seconds,
                waited=reply.waited,
                finish_reason=reply.finish_reason,
            )
        )

    def _record_answer(self, call: ToolCall, answered: Answer) -> None:
        at, turn = self._at, self.spend.turns
        for decision in answered.decisions:
            detail = f"{decision.rule} ({decision.detail})"
            self.record(
                Decided(
                    at=at,
                    turn=turn,
                    call_id=call.id,
                    policy_id=decision.policy_id,
                    action=decision.action,
                    detail=detail,
                )
            )
        outcome = answered.outcome
        self.record(
            Answered(
                at=at,
                turn=turn,
                call_id=call.id,
                tool=call.name,
                arguments=_capped(answered.arguments),
                ok=outcome.ok,
                text=cap_text(outcome.text),
                text_size=outcome.size,
                seconds=outcome.seconds,
                exit_code=outcome.exit_code,
                timed_out=outcome.timed_out,
                restored=outcome.restored[:MOST_NAMED],
                limit=outcome.limit,
            )
        )


def _not_run(ending: Ending) -> ToolOutcome:
    return refusal(f"{NOT_RUN}the attempt ended ({ending.what}: {ending.detail}).")


def _capped(arguments: dict[str, object] | None) -> dict[str, object] | None:
    if arguments is None:
        return None
    return {key: cap_text(value) if isinstance(value, str) else value for key, value in arguments.items()}
