"""A run while it is being read: calls are asked for and answered, then the run ends, or it does not."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralCall, NeutralRun, NeutralTokens, UnknownValue
from crucible.transcript.readers.scan import Scan


@dataclass(slots=True)
class Draft:
    """What is known so far. `close` makes a run of it and decides whether it counts.

    `heed_damage` is for streams, where a line that cannot be read may have been a call; beside a document that was read
    whole it is noise.
    """

    scan: Scan
    exit_code: int | None
    heed_damage: bool = True
    calls: list[NeutralCall] | None = field(default_factory=list)
    final_text: str | UnknownValue | None = None
    stop: str | None = None
    turns: int | None = None
    cost_usd: float | None = None
    tokens: NeutralTokens | None = None
    seconds: float | None = None
    tool_counts: dict[str, int] | None = None
    denied: list[NeutralCall] = field(default_factory=list)
    scenario_id: str | None = None
    errors: list[str] = field(default_factory=list)
    reason: str | None = None
    cap: str | None = None
    unseen: str | None = None
    complete: bool = False
    ended: bool = False
    _open: dict[str, deque[int]] = field(default_factory=dict)
    _answered: dict[str, int] = field(default_factory=dict)
    _keys: dict[tuple[str, str], int] = field(default_factory=dict)
    _damage: str | None = None
    _session: str | None = None

    def session(self, name: Any) -> None:
        """A run of that id begins here. One output is one run."""
        if isinstance(name, str):
            if self._session not in (None, name):
                self.invalid(f"two runs in one output: {self._session} and {name}")
            self._session = name

    def ask(
        self,
        tool: Any,
        args: tuple[Arguments, str | None],
        *,
        call_id: Any = None,
        parent: str | None = None,
        key: tuple[str, str] | None = None,
    ) -> int:
        """A call was asked for; it is not known to have run. A second one of the same `key` is the same call."""
        self.reopen()
        if not isinstance(tool, str) or not tool:
            self.invalid("a tool call without a name")
            tool = ""
        call = NeutralCall(tool=tool, args=args[0], executed=None, parent=parent, raw_args=args[1])
        if self.calls is None:
            self.calls = []
        if key is not None and key in self._keys:
            if args[0] is not UNKNOWN:
                self.calls[self._keys[key]] = replace(self.calls[self._keys[key]], args=args[0], raw_args=args[1])
            return self._keys[key]
        self.calls.append(call)
        index = len(self.calls) - 1
        if key is not None:
            self._keys[key] = index
        if isinstance(call_id, str):
            self._open.setdefault(call_id, deque()).append(index)
        return index

    def has_asked(self, call_id: Any) -> bool:
        """Whether a call of that id was asked for."""
        return self._index(call_id) is not None

    def answer(self, call_id: Any, ok: bool | None, result: Any, executed: bool | None = True) -> None:
        """The call of that id was answered: the first one still open, or, when none is, the last one once more.

        Some servers number calls anew in every turn, so that one id is of several calls.
        """
        index = self._index(call_id)
        if index is None:
            self.invalid(f"a result for the call {call_id!r}, which is not there: calls are missing")
            return
        if self._open.get(call_id):
            self._open[call_id].popleft()
        self._answered[call_id] = index
        self.settle(index, ok, result, executed)

    def _index(self, call_id: Any) -> int | None:
        if not isinstance(call_id, str):
            return None
        waiting = self._open.get(call_id)
        return waiting[0] if waiting else self._answered.get(call_id)

    def settle(self, index: int, ok: bool | None, result: Any, executed: bool | None = True) -> None:
        """The call of that index came out so. One that is known not to have run stays so, whatever answered it."""
        calls = self.calls or []
        ran = False if calls[index].executed is False else executed
        calls[index] = replace(calls[index], ok=ok, result=result, executed=ran)

    def deny(self, call_id: Any, tool: Any, args: tuple[Arguments, str | None]) -> None:
        """The call of that id was refused: asked for, never run. Where calls are not carried it is kept apart."""
        index = self._index(call_id)
        if self.calls is not None and index is not None:
            self.calls[index] = replace(self.calls[index], ok=False, executed=False)
            return
        name = tool if isinstance(tool, str) else ""
        call = NeutralCall(tool=name, args=args[0], ok=False, executed=False, raw_args=args[1])
        (self.denied if self.calls is None else self.calls).append(call)

    def invalid(self, reason: str) -> None:
        """The run says nothing about the agent. The first reason is the one that is kept."""
        self.reason = self.reason or reason

    def end(self, stop: str | None, *, complete: bool = True) -> None:
        """The terminal event. What comes before it has to be readable; what comes after is noise."""
        self.ended, self.complete, self.stop = True, complete, stop
        self.cap = None
        self._damage = self.scan.damage if self.heed_damage else None

    def end_capped(self, cap: str, stop: str | None) -> None:
        """The run hit a limit: it counts and did not finish. Out of money, it does not even count.

        How far a sum of money goes depends on prices and caches more than on the agent.
        """
        self.end(stop, complete=False)
        self.cap = cap
        if cap == "spend":
            self.invalid(f"stopped by its spending limit ({stop})")

    def end_failed(self, stop: str | None, reason: str) -> None:
        """The run ended by an error that is not the agent's."""
        self.end(stop, complete=False)
        self.invalid(reason)

    def reopen(self) -> None:
        """Something was done after the end: it was not the end."""
        self.ended = self.complete = False
        self.stop = self.cap = None

    def close(self, terminal: str | None) -> NeutralRun:
        """The run, valid only if it ended and all of it could be read.

        `terminal` names the event that ends a run of this format; None for a format without one, where a bad exit code
        is all there is to tell a run that broke.
        """
        if not self.ended:
            self.invalid(f"cut off: no {terminal or 'end'}{exited(self.exit_code)}")
        if self._damage is not None:
            self.invalid(self._damage)
        self._heed_exit_code(terminal)
        if self.complete and self._nothing_happened():
            self.invalid("finished without an answer and without a tool call")
        return NeutralRun(
            calls=None if self.calls is None else tuple(self.calls),
            final_text=self.final_text,
            complete=self.complete,
            stop=self.stop,
            turns=self.turns,
            cost_usd=self.cost_usd,
            tokens=self.tokens,
            seconds=self.seconds,
            valid=self.reason is None,
            tool_counts=self.tool_counts,
            denied=tuple(self.denied),
            scenario_id=self.scenario_id,
            errors=tuple(self.errors),
            reason=self.reason,
            cap=self.cap,
            unseen=self.unseen,
            skipped_lines=self.scan.skipped,
        )

    def _heed_exit_code(self, terminal: str | None) -> None:
        if not self.exit_code or not self.ended:
            return
        if terminal is None:
            self.complete = False
            self.invalid(f"the process failed{exited(self.exit_code)}")
        elif self.complete:
            self.errors.append(f"finished, but the process failed{exited(self.exit_code)}")

    def _nothing_happened(self) -> bool:
        mute = self.final_text is None or (self.final_text is not UNKNOWN and not self.final_text.strip())
        return mute and not self.calls and not self.tool_counts


def exited(code: int | None) -> str:
    """` (exit code 137)`, or nothing when the code is not known."""
    return "" if code is None else f" (exit code {code})"
