"""An agent that speaks the Agent Client Protocol: asked over its streams, its requests for permission answered by the policies.

We offer it no file system and no terminal of ours: it works in the sandbox like every other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from crucible import __version__
from crucible.agents.external.acp_calls import Calls
from crucible.agents.external.acp_lines import SAID, Lines
from crucible.agents.external.connections import Connection
from crucible.agents.external.running import MOST_OUTPUT, REFUSED_SECONDS, Finished
from crucible.agents.external.tally import Tally
from crucible.agents.types import Ending, Task
from crucible.errors import Cause, HarnessError
from crucible.policy.rules import Decision, decide
from crucible.redaction import redact
from crucible.scenario.schema import PATH_ARGUMENT
from crucible.transcript.neutral import NeutralRun, NeutralTokens
from crucible.world.types import Running, World

if TYPE_CHECKING:
    from acp.client.connection import ClientSideConnection
    from acp.schema import PermissionOption, PromptResponse, RequestPermissionResponse, ToolCallUpdate

_POLL_SECONDS = 0.1
_CAPS = {"max_tokens": "tokens", "max_turn_requests": "turns"}


class Conversation:
    """One session with an agent: opened, asked once, and watched to its end."""

    def __init__(self, running: Running, task: Task, world: World, tally: Tally, servers: Sequence[Connection]) -> None:
        self.calls = Calls([server.name for server in servers])
        self.policy_ending: Ending | None = None
        self._running, self._task, self._world, self._tally = running, task, world, tally
        self._servers = servers
        self._streams = Lines(running)
        self._session: str | None = None

    async def hold(self, prompt: str) -> tuple[Finished, NeutralRun]:
        """Ask, wait, end the agent. Raises HarnessError for one that does not initialize."""
        from acp.client.connection import ClientSideConnection

        began = monotonic()
        connection = ClientSideConnection(self, self._streams)  # type: ignore[arg-type] # what is not offered is absent
        try:
            await self._open(connection)
            asking = asyncio.create_task(self._ask(connection, prompt))
            stopped = await self._watch(asking)
            if stopped is not None and self._session is not None and not asking.done():
                await self._cancel(connection, asking)
            code = await self._running.exit_code()
            run = self.calls.run(**_outcome(asking))
            return Finished(b"", code, self._running.said(), monotonic() - began, stopped), run
        finally:
            await connection.close()
            await self._running.stop()

    async def _open(self, connection: ClientSideConnection) -> None:
        from acp import PROTOCOL_VERSION, RequestError
        from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation

        nothing = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
        )
        step = "initialize"
        seconds = self._tally.start_seconds
        try:
            async with asyncio.timeout(seconds):
                await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=nothing,
                    client_info=Implementation(name="crucible", version=__version__),
                )
                step = "open a session"
                opened = await connection.new_session(cwd=await self._folder(), mcp_servers=_mcp(self._servers))
                self._session = opened.session_id
        except TimeoutError:
            raise self._did_not(step, f" within {seconds:g} seconds") from None
        except (RequestError, ConnectionError, ValueError) as error:
            raise self._did_not(step, f": {redact(str(error))}") from error

    def _did_not(self, step: str, how: str) -> HarnessError:
        said = redact(self._running.said()).strip()[-SAID:] or self._streams.noise
        return HarnessError(f"the agent did not {step}{how}; it said: {said or 'nothing'}")

    async def _folder(self) -> str:
        """The workspace as the agent sees it: without a sandbox it is wherever the copy lies."""
        return (await self._world.execute("pwd", seconds=10, env={})).output.strip()

    async def _ask(self, connection: ClientSideConnection, prompt: str) -> PromptResponse:
        from acp import text_block

        return await connection.prompt(session_id=self._session or "", prompt=[text_block(prompt)])

    async def _watch(self, asking: asyncio.Task[PromptResponse]) -> Ending | None:
        refused_at: float | None = None
        while not asking.done():
            await asyncio.wait([asking], timeout=_POLL_SECONDS)
            if asking.done():
                break
            if self._tally.refused is not None:
                refused_at = refused_at or monotonic()
                if monotonic() - refused_at > REFUSED_SECONDS:
                    return self._tally.refused
            if self._streams.full:
                return Ending("output_limit", Cause.AGENT, f"it sent more than {MOST_OUTPUT // 1024**2} MiB")
            if self._tally.seconds_left <= 0:
                return Ending("budget_time", Cause.BUDGET, "its time was up")
            if self.policy_ending is not None:
                return self.policy_ending
        return self.policy_ending

    async def _cancel(self, connection: ClientSideConnection, asking: asyncio.Task[PromptResponse]) -> None:
        asking.cancel()
        await asyncio.wait([asking])
        try:
            async with asyncio.timeout(1):
                await connection.cancel(session_id=self._session or "")
        except (TimeoutError, OSError):
            return

    # What an agent asks of its client

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002 - the protocol's names
        """Take what the agent tells of its work."""
        self.calls.take(update)

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - the protocol's names
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: Any,
    ) -> RequestPermissionResponse:
        """Answer by the policies: what none of them forbids is allowed."""
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        self.calls.take(tool_call)
        decision = await self._decide(tool_call.tool_call_id)
        if decision is not None and decision.action == "fail":
            self.policy_ending = Ending(
                "policy_fail", Cause.AGENT, f"{decision.policy_id}: {decision.rule} ({decision.detail})"
            )
        wanted = ("allow_once", "allow_always") if decision is None else ("reject_once", "reject_always")
        chosen = next((option for kind in wanted for option in options if option.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def _decide(self, call_id: str) -> Decision | None:
        """The strongest policy that forbids a call; those that only warn are recorded with the result."""
        tool, arguments, paths = self.calls.as_builtin(call_id)
        found: list[Decision] = []
        for path in (*paths, *(() if paths else (None,))):
            resolved = {} if path is None else {PATH_ARGUMENT: await self._world.resolve(path)}
            found += [d for d in decide(self._task.policies, tool, {**arguments, **resolved}) if d.action != "warn"]
        if found:
            self.calls.refuse(call_id, found[0])
        return found[0] if found else None


def _mcp(servers: Sequence[Connection]) -> list[Any]:
    from acp.schema import EnvVariable, HttpMcpServer, McpServerStdio

    return [
        HttpMcpServer(type="http", name=one.safe_name, url=one.url, headers=[])
        if one.url is not None
        else McpServerStdio(
            name=one.safe_name,
            command=one.command[0],
            args=list(one.command[1:]),
            env=[EnvVariable(name=name, value=value) for name, value in one.env.items()],
        )
        for one in servers
    ]


def _outcome(asking: asyncio.Task[PromptResponse]) -> dict[str, Any]:
    """How the one prompt ended, as a run says it."""
    if asking.cancelled() or not asking.done():
        return {"complete": False, "valid": False, "reason": "cut off: it was ended before it had answered"}
    error = asking.exception()
    if error is not None:
        gone = isinstance(error, ConnectionError)
        reason = "cut off: the agent ended before it had answered" if gone else f"the prompt failed: {error}"
        return {"complete": False, "valid": False, "reason": redact(reason), "stop": None if gone else "error"}
    response = asking.result()
    stop, usage = response.stop_reason, response.usage
    tokens = None if usage is None else NeutralTokens(input=usage.input_tokens, output=usage.output_tokens)
    done = stop == "end_turn"
    return {
        "complete": done,
        "stop": stop,
        "cap": _CAPS.get(stop),
        "tokens": tokens,
        "valid": done or stop in _CAPS,
        "reason": None if done or stop in _CAPS else f"it stopped with {stop}",
    }
