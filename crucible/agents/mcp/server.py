"""One tool server of an attempt: prepared, started, asked and ended.

Until its tools are listed, whatever is wrong with it is a HarnessError. After that it is the result of a call: how
reliable a server is belongs to what is compared, and an agent that ends its server must not void its attempt.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.results import outcome_of, text_outcome
from crucible.agents.mcp.session import CUT_OFF, AnsweredError, Hello, Session, load
from crucible.agents.mcp.transport import Traffic, stdio_streams
from crucible.errors import HarnessError, SandboxError
from crucible.redaction import guard, redact
from crucible.world.types import Program, Running, ToolOutcome, World

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

T = TypeVar("T")

HTTP_PATH = "/mcp"
_POLL_SECONDS = 0.02
_REAP_SECONDS = 1.0
_LEAST_SECONDS = 0.1
_SAID = 2000
_READ_BYTES = 64 * 1024


class ToolServer:
    """A tool server in a world. `start` once, then calls, then `close`, which is always safe.

    After `start`: `hello` is who it says it is, `listed` its tools as they came.
    """

    def __init__(self, plan: ServerPlan, world: World, environment: Mapping[str, str] = os.environ) -> None:
        self.plan = plan
        self.hello = Hello("", "", "")
        self.listed: list[dict[str, Any]] = []
        self.traffic = Traffic()
        self._world = world
        self._environment = environment
        self._running: Running | None = None
        self._session: Session | None = None
        self._drained: set[asyncio.Task[str]] = set()

    async def start(self) -> None:
        """Run what prepares it, start it, shake hands and list its tools. Raises HarnessError that names it."""
        load()
        try:
            await self._prepare()
            session, self.hello = await self._within(self.plan.start_seconds, "did not shake hands", self._connect())
            self.listed = await self._within(self.plan.list_seconds, "did not list its tools", session.list_tools())
        except SandboxError:
            raise
        except HarnessError as error:
            raise HarnessError(f"tool server {self.plan.name}: {redact(error.message)}", hint=error.hint) from error

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> ToolOutcome:
        """Call one of its tools by the server's own name for it, within its deadline and `seconds`."""
        began = monotonic()
        limit = max(_LEAST_SECONDS, min(self.plan.call_seconds, seconds))
        if self._session is None:
            raise HarnessError(f"tool server {self.plan.name} is not started")
        timed_out = cut_off = False
        try:
            async with asyncio.timeout(limit):
                result = await self._session.call(tool, arguments)
            return outcome_of(result, monotonic() - began, text_errors=self.plan.text_errors)
        except TimeoutError:
            timed_out, told = True, f"{tool} of tool server {self.plan.name} did not answer within {limit:g} seconds"
        except AnsweredError as error:
            told, cut_off = f"error: {error}", error.code in CUT_OFF
        if (ended := await self._ended(cut_off=cut_off)) is not None:
            told = f"tool server {self.plan.name} {ended}"
        return text_outcome(told, monotonic() - began, ok=False, timed_out=timed_out)

    async def close(self) -> None:
        """Leave it and end it."""
        try:
            if self._session is not None:
                await self._session.close()
        finally:
            for task in self._drained:
                task.cancel()
            if self._running is not None:
                await self._running.stop()

    # Starting

    async def _prepare(self) -> None:
        for number, command in enumerate(self.plan.prepare):
            await self._within(
                self.plan.start_seconds,
                f"was not prepared: {' '.join(command)} did not end",
                self._run_to_end(self._program(command, first=number == 0, stdin=False)),
            )

    async def _run_to_end(self, program: Program) -> None:
        """Run a program until it ends; what it leaves running, such as a daemon that holds its index, goes on."""
        running = await self._world.start(program)
        printed = self._drain(running)
        code: int | None = None
        try:
            while (code := await running.exit_code()) is None:  # noqa: ASYNC110 - the world has nothing to wait for
                await asyncio.sleep(_POLL_SECONDS)
            if code:
                await asyncio.wait({printed}, timeout=_REAP_SECONDS)
                said = _tail(running.said() or (printed.result() if printed.done() else ""))
                raise HarnessError(f"was not prepared: {' '.join(program.command)} {exited(code)}{said}")
        finally:
            if code != 0:
                await running.stop()

    async def _connect(self) -> tuple[Session, Hello]:
        session = await self._open()
        return session, await session.shake_hands()

    async def _open(self) -> Session:
        """Start the program and enter its streams."""
        plan = self.plan
        if plan.url is not None:
            session = self._session = Session(self._over_http(plan.url, None))
        else:
            program = self._program(plan.command or (), first=not plan.prepare, stdin=plan.port is None)
            running = self._running = await self._world.start(program)
            if plan.port is None:
                session = self._session = Session(stdio_streams(running.reader, running.writer, self.traffic))
            else:
                self._drain(running)
                await self._listening(plan.port)
                url = f"http://127.0.0.1:{plan.port}{HTTP_PATH}"
                session = self._session = Session(self._over_http(url, self._world))
        await session.open()
        return session

    def _over_http(self, url: str, inside: World | None) -> AbstractAsyncContextManager[TransportStreams]:
        from crucible.agents.mcp.over_http import http_streams

        longest = max(self.plan.start_seconds, self.plan.list_seconds, self.plan.call_seconds)
        return http_streams(url, longest, inside)

    async def _listening(self, port: int) -> None:
        """Wait until something listens there, or the program has ended."""
        while (ended := await self._exit()) is None:
            try:
                _, writer = await self._world.dial(port)
            except SandboxError:
                raise
            except HarnessError:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                writer.close()
                return
        raise HarnessError(ended)

    def _program(self, command: tuple[str, ...], *, first: bool, stdin: bool) -> Program:
        """The program of a command. The files are written with the first one: what prepares a server may edit them."""
        missing = [name for name in self.plan.env_from if name not in self._environment]
        if missing:
            raise HarnessError(
                f"needs {', '.join(missing)}, not set in your environment", hint=f"export {missing[0]}=..."
            )
        taken = {name: self._environment[name] for name in self.plan.env_from}
        guard(taken.values())
        files = self.plan.files if first else {}
        return Program(self.plan.name, command, env={**self.plan.env, **taken}, files=files, stdin=stdin)

    def _drain(self, running: Running) -> asyncio.Task[str]:
        """Read what a program prints, so that it never waits to be read; the end of it."""

        async def drain() -> str:
            kept = b""
            while data := await running.reader.read(_READ_BYTES):
                kept = (kept + data)[-_SAID:]
            return redact(kept.decode("utf-8", "replace"))

        task = asyncio.create_task(drain())
        self._drained.add(task)
        task.add_done_callback(self._drained.discard)
        return task

    async def _within(self, seconds: float, failed: str, step: Awaitable[T]) -> T:
        """The step's result within its deadline; what went wrong otherwise, with all that the server said."""
        try:
            async with asyncio.timeout(seconds):
                return await step
        except TimeoutError:
            happened = f"{failed} within {seconds:g} seconds"
        except AnsweredError as error:
            ended = await self._ended(cut_off=error.code in CUT_OFF)
            happened = f"{failed}: {str(error)[:_SAID]}" if ended is None else f"{failed}: it {ended}"
            raise HarnessError(happened + ("" if ended else self._said()) + self._noise()) from error
        raise HarnessError(happened + self._said() + self._noise())

    # Why it does not answer

    async def _ended(self, *, cut_off: bool) -> str | None:
        """What became of a server that answers no more; None while it may.

        `cut_off`: it looks as if it had ended, which takes a moment to be seen.
        """
        if self.traffic.broken is not None:
            if self._running is not None:
                await self._running.stop()
            return f"{self.traffic.broken} and was ended"
        until = monotonic() + (_REAP_SECONDS if self._running and (cut_off or self.traffic.ended) else 0)
        while (exit_ := await self._exit()) is None and monotonic() < until:  # noqa: ASYNC110 - as in _run_to_end
            await asyncio.sleep(_POLL_SECONDS)
        if exit_ is None and self.traffic.ended:
            return f"closed its output{self._said()}"
        lost = None if self._session is None else self._session.why_lost
        return exit_ if exit_ is not None or lost is None else f"is lost: {lost}"

    async def _exit(self) -> str | None:
        """How its program exited; None while it runs, or where there is none."""
        code = None if self._running is None else await self._running.exit_code()
        return None if code is None else exited(code) + self._said()

    def _said(self) -> str:
        return "" if self._running is None else _tail(self._running.said())

    def _noise(self) -> str:
        count, first = self.traffic.noise, redact(self.traffic.first)
        return f"\n{count} lines of its standard output are no messages, the first: {first!r}" if count else ""


def exited(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _tail(said: str) -> str:
    said = redact(said).strip()[-_SAID:]
    return f"; it said:\n{said}" if said else ""
