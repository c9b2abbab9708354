"""What came of an attempt's tool calls: how many, how many succeeded, how many turns were lost. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from crucible.store.traces import Call, Trace


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of some tools in one attempt, or in several together.

    Of `called`, `succeeded` came back without an error; the others are `errors` the tool itself gave, `refused` by a policy,
    or `unread`: no such tool, arguments that could not be read, or not run any more. `repeats` are failed calls that had
    failed before with the same arguments. `turns_with` of all `turns` held such a call; `lost_turns` are those of them in
    which none succeeded. `first` is the turn of the first call that reached its tool, None when none did.
    """

    turns: int = 0
    called: int = 0
    succeeded: int = 0
    errors: int = 0
    refused: int = 0
    unread: int = 0
    repeats: int = 0
    turns_with: int = 0
    lost_turns: int = 0
    first: int | None = None

    @property
    def reached(self) -> int:
        """Calls that the tool itself answered."""
        return self.succeeded + self.errors

    @property
    def share(self) -> float | None:
        """The share of turns with such a call; None when there was no turn."""
        return self.turns_with / self.turns if self.turns else None


def calls_of(trace: Trace, mine: Callable[[str], bool]) -> Calls:
    """Of the tools that `mine` says yes to."""
    calls = [call for call in trace.calls if mine(call.tool)]
    reached = [call for call in calls if call.reached]
    turns = {call.turn for call in calls}
    return Calls(
        turns=len(trace.replies),
        called=len(calls),
        succeeded=sum(call.ok for call in calls),
        errors=sum(not call.ok for call in reached),
        refused=sum(call.refused for call in calls if not call.ok),
        unread=sum(not call.ok and not call.refused and not call.read for call in calls),
        repeats=_repeats(calls),
        turns_with=len(turns),
        lost_turns=len(turns - {call.turn for call in calls if call.ok}),
        first=min((call.turn for call in reached), default=None),
    )


def _repeats(calls: Sequence[Call]) -> int:
    failed = [(call.tool, call.arguments) for call in calls if not call.ok]
    return len(failed) - len(set(failed))


def together(many: Iterable[Calls]) -> Calls:
    """The sums; `first` is the median of the attempts that have one, the lower of the middle two."""
    many = list(many)
    firsts = sorted(one.first for one in many if one.first is not None)
    sums = {name: sum(getattr(one, name) for one in many) for name in _SUMS}
    return Calls(**sums, first=firsts[(len(firsts) - 1) // 2] if firsts else None)


_SUMS = (
    *("turns", "called", "succeeded", "errors", "refused", "unread"),
    *("repeats", "turns_with", "lost_turns"),
)
