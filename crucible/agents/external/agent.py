"""An agent CLI at work: in the sandbox, its model behind our proxy, its own transcript read when it has ended."""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

from crucible.agents.external.connections import our_name
from crucible.agents.external.endings import Seen, ending_of
from crucible.agents.external.launch import Launch, Values, base_url
from crucible.agents.external.opening import messages_of, opening_of, system_prompt_of, tools_of
from crucible.agents.external.plans import AgentPlan
from crucible.agents.external.presets import VERSION
from crucible.agents.external.recording import events_of, remarks, untold
from crucible.agents.external.running import Finished, watch
from crucible.agents.external.tally import START_SECONDS, Tally
from crucible.agents.external.tooling import Tooling, tooling
from crucible.agents.types import Ending, Record, Task, told_budget
from crucible.errors import HarnessError
from crucible.llm.proxy import Asked, ModelProxy
from crucible.policy.rules import Decision
from crucible.redaction import redact
from crucible.transcript.events import Equipped, Started, cap_text
from crucible.transcript.neutral import NeutralRun
from crucible.transcript.opening import fingerprint
from crucible.world.types import LimitName, Program, World

VERSION_SECONDS = 90.0
"""Longest an agent may take to say its version; a cold start of some takes half a minute on a busy machine."""
TRANSCRIPT = "transcript"


class ExternalCli:
    """Plays an arm with an agent CLI. Implements Agent.

    The budget is told below the prompt, in the same words as to every other arm; the system prompt, where an arm has
    one, is its own alone. The clock runs from its first model call, as for every other arm; it has `start_seconds` to
    make that, and besides as long as its slowest tool server may take to start: it waits for those.
    """

    def __init__(self, plan: AgentPlan, start_seconds: float = START_SECONDS) -> None:
        self.plan = plan
        self.start_seconds = start_seconds

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:
        """Start the agent, let it work, end it, record what it did. AttemptError means that it does not count."""
        began = monotonic()
        version = await _version(self.plan, world)
        async with tooling(self.plan.servers, world) as tools:
            waits = max((server.start_seconds for server in self.plan.servers.values()), default=0.0)
            tally = Tally(task.budget, self.plan.upstream, self.start_seconds + waits)
            return await _Attempt(self.plan, task, world, record, tools, version, tally).run(began)


class _Attempt:
    def __init__(
        self, plan: AgentPlan, task: Task, world: World, record: Record, tools: Tooling, version: str, tally: Tally
    ) -> None:
        self.plan, self.task, self.world, self.record = plan, task, world, record
        self.tools, self.version, self.tally = tools, version, tally
        self.decisions: dict[int, Decision] = {}

    async def run(self, began: float) -> Ending:
        """The attempt. `began`: when what it needs was begun to be made ready, on the clock of time.monotonic."""
        listening, port = await self.world.listen()
        values = await self._values(port)
        launch = self.plan.launch(values, self.tools.connections)
        proxy = ModelProxy(
            listening, self.plan.upstream, admit=self.tally.admit, seen=self.tally.seen, network=self.plan.network
        )
        finished, run = None, None
        try:
            async with proxy:
                self._equipped(monotonic() - began)
                finished, run = await self._let_work(launch, values)
        finally:
            # Also of an attempt that is broken off: what was spent is kept.
            self._record(proxy, values, run, known=finished is not None)
        return ending_of(self._seen(finished, run, proxy, await self._limit(finished)))

    def _equipped(self, seconds: float) -> None:
        self.record(
            Equipped(
                at=0.0,
                turn=0,
                servers=dict(self.tools.really),
                offered=self.tools.offered,
                agent=self.version,
                seconds=round(seconds, 4),
            )
        )

    async def _let_work(self, launch: Launch, values: Values) -> tuple[Finished, NeutralRun | None]:
        program = Program(self.plan.name, launch.command, launch.env, launch.files, stdin=self.plan.acp)
        running = await self.world.start(program)
        self.tally.start()
        if self.plan.acp:
            from crucible.agents.external.acp import Conversation

            held = Conversation(running, self.task, self.world, self.tally, self.tools.connections)
            self.decisions = held.calls.decisions
            return await held.hold(values.prompt)
        finished = await watch(running, lambda: self.tally.seconds_left, lambda: self.tally.refused)
        return finished, await self._transcript(finished)

    async def _values(self, port: int) -> Values:
        budget = self.task.budget
        return Values(
            prompt=f"{self.task.prompt}\n\n{told_budget(budget)}",
            model=self.plan.upstream.wire_model,
            max_turns=str(budget.max_turns),
            base_url=base_url(self.plan.api, port),
            transcript=await self._file(),
            system_prompt=self.plan.system_prompt,
            max_cost_usd=None if budget.max_cost_usd is None else f"{budget.max_cost_usd:g}",
            args=self.plan.said.args,
        )

    async def _file(self) -> str:
        """Where an agent may write its transcript: outside the workspace, in a folder that has to be made first."""
        if self.plan.source == "file":
            await self.world.execute("true", seconds=10, env={})
        return f"{self.world.outside}/{TRANSCRIPT}"

    async def _transcript(self, finished: Finished) -> NeutralRun | None:
        """What the agent's own transcript says; None when there is no reader for it."""
        from crucible.transcript.readers import read_transcript

        if self.plan.format is None:
            return None
        data = finished.output
        if self.plan.source == "file":
            data = await self.world.read_outside(TRANSCRIPT) or b""
        elif self.plan.source == "wire":
            data = _conversation(self.tally)
        return read_transcript(data, self.plan.format, finished.exit_code)

    def _record(self, proxy: ModelProxy, values: Values, run: NeutralRun | None, *, known: bool) -> None:
        asked = proxy.first_request
        if asked is None:
            return
        started = self._started(asked, values)
        self.record(started)
        for noted in untold(started.tools, self.tools.offered):
            self.record(noted)
        for event in events_of(self.tally.timed, run, self.plan.servers, self.task.policies, self.decisions):
            self.record(event)
        if known:
            for noted in remarks(self.tally.timed, run, self.tally.at, proxy.strays):
                self.record(noted)

    def _started(self, asked: Asked, values: Values) -> Started:
        opening = opening_of(asked, self._environment(values))
        return Started(
            at=0.0,
            turn=0,
            system_prompt=cap_text(redact(system_prompt_of(asked))),
            task=self.task.prompt,
            tools=tuple(our_name(tool["name"], self.plan.servers) for tool in tools_of(asked)),
            first_request_sha256=fingerprint(opening),
            opening=opening,
        )

    def _environment(self, values: Values) -> dict[str, Any]:
        """What the arm brought: its command with the places open, names of variables and files, never what is in them."""
        shown = self.plan.launch(values.template(), ())
        return {
            "sandbox": self.world.mode,
            "agent": self.version,
            "command": [redact(word) for word in shown.command],
            "variables": sorted(shown.env),
            "files": sorted(shown.files),
            **({"servers": dict(self.tools.brought)} if self.tools.brought else {}),
        }

    async def _limit(self, finished: Finished) -> LimitName | None:
        """The limit of the sandbox that ended it. A world tells of one with the next command it is asked to run."""
        if finished.exit_code:
            await self.world.execute("true", seconds=10, env={})
        return next(iter(self.world.limits_hit), None)

    def _seen(self, finished: Finished, run: NeutralRun | None, proxy: ModelProxy, limit: LimitName | None) -> Seen:
        trouble = proxy.trouble()
        return Seen(
            name=self.version,
            asked=self.tally.asked,
            answered=self.tally.answered,
            exit_code=finished.exit_code,
            said=finished.said,
            failed=trouble.last if trouble is not None and not trouble.since else None,
            refused=self.tally.refused,
            stopped=finished.stopped,
            run=run,
            limit=limit,
        )


def _conversation(tally: Tally) -> bytes:
    """The longest conversation that went over the wire, with its last reply: for agents that print no transcript."""
    replied = [one.exchange for one in tally.timed if one.replied and one.exchange.asked.dialect == "chat"]
    longest = max(replied, key=lambda e: len(messages_of(e.asked)), default=None)
    if longest is None:
        return b""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw_arguments}}
        for call in longest.tool_calls
    ]
    reply = {"role": "assistant", "content": longest.text, **({"tool_calls": calls} if calls else {})}
    return json.dumps({"messages": [*longest.asked.body.get("messages", []), reply]}).encode()


async def _version(plan: AgentPlan, world: World) -> str:
    """`name version`, as the agent says itself inside the sandbox; its name alone where nothing prints it."""
    if not plan.version:
        return plan.name
    running = await world.start(Program(f"{plan.name} version", plan.version, stdin=False))
    until = monotonic() + VERSION_SECONDS
    finished = await watch(running, lambda: until - monotonic())
    text = f"{finished.output[-4000:].decode('utf-8', 'replace')}\n{finished.said}"
    found = VERSION.search(text)
    if finished.exit_code != 0 or found is None:
        how = "did not end" if finished.exit_code is None else f"ended with exit code {finished.exit_code}"
        raise HarnessError(
            f"{plan.name} cannot say its version: {' '.join(plan.version)} {how}: {redact(text).strip()[-800:]}",
            hint="try it by hand; files it needs from elsewhere are shown to it with agent.folders",
        )
    return f"{plan.name} {found[0]}"
