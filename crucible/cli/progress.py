"""Live progress: per attempt in flight its arm, turn, tokens and cost. To stderr; plain lines where there is no terminal."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from crucible.transcript.events import Answered, Decided, Ended, Event, Replied

_ACTIONS = {"block": "refused", "fail": "ended", "warn": "warned", "got_past": "got past, found afterwards,"}


@dataclass
class _Attempt:
    label: str
    began: float
    turn: int = 0
    calls: int = 0
    tokens: float | None = 0
    cost: float | None = 0
    doing: str = "starting"

    @property
    def spent(self) -> str:
        """Tokens and cost; what a provider does not say is unknown, not left out of a sum."""
        tokens = "tokens unknown" if self.tokens is None else f"{self.tokens:,.0f} tokens"
        return f"{tokens}, {'cost unknown' if self.cost is None else f'${self.cost:.4f}'}"


class Watch:
    """Shows events as they come. A context manager; it never raises into the run."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.attempts: dict[int, _Attempt] = {}
        self.done = 0
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def event(self, attempt_id: int, event: Event, label: str = "") -> None:
        """Take one event of an attempt."""
        attempt = self.attempts.setdefault(attempt_id, _Attempt(label, monotonic()))
        match event:
            case Replied():
                attempt.turn = event.turn
                attempt.tokens = _plus(attempt.tokens, event.billed)
                attempt.cost = _plus(attempt.cost, event.cost_usd)
                attempt.doing = event.tool_calls[0]["name"] if event.tool_calls else "finishing"
            case Answered():
                attempt.calls += 1
                attempt.doing = f"{event.tool} {'ok' if event.ok else 'refused or failed'}"
            case Decided():
                self._say(
                    f"attempt {attempt_id} {attempt.label}: {_ACTIONS[event.action]} by {event.policy_id}: {event.detail}"
                )
            case Ended():
                self._ended(attempt_id, attempt, event)
        if self._live:
            self._live.update(self._table())

    def _ended(self, attempt_id: int, attempt: _Attempt, event: Ended) -> None:
        self.done += 1
        del self.attempts[attempt_id]
        seconds = monotonic() - attempt.began
        self._say(
            f"attempt {attempt_id} {attempt.label}: {event.ending}, {attempt.turn} turns, {attempt.calls} calls, "
            f"{attempt.spent}, {seconds:.1f} s"
        )

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for attempt_id, attempt in self.attempts.items():
            table.add_row(
                f"attempt {attempt_id}",
                attempt.label,
                f"turn {attempt.turn}",
                attempt.spent,
                f"{monotonic() - attempt.began:.0f} s",
                attempt.doing,
            )
        return table


def _plus(total: float | None, part: float | None) -> float | None:
    """A sum with an unknown part is unknown."""
    return None if total is None or part is None else total + part
