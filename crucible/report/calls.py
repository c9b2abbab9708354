"""What came of an attempt's tool calls: how many, how many succeeded, how many turns were lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from crucible.store.traces import Call


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


def calls_of(calls: Sequence[Call], turns: int) -> Calls:
    """Of some calls of an attempt that took so many turns."""
    if not calls:
        return Calls(turns=turns)
    failed = [call for call in calls if not call.ok]
    refused, unread = sum(call.refused for call in failed), sum(not call.refused and not call.read for call in failed)
    made_in = {call.turn for call in calls}
    return Calls(
        turns=turns,
        called=len(calls),
        succeeded=len(calls) - len(failed),
        errors=len(failed) - refused - unread,
        refused=refused,
        unread=unread,
        repeats=len(failed) - len({(call.tool, call.arguments) for call in failed}),
        turns_with=len(made_in),
        lost_turns=len(made_in - {call.turn for call in calls if call.ok}),
        first=min((call.turn for call in calls if call.reached), default=None),
    )


def together(many: Iterable[Calls]) -> Calls:
    """The sums; `first` is the median of the attempts that have one, the lower of the middle two."""
    many = list(many)
    firsts = sorted(one.first for one in many if one.first is not None)
    sums = {name: sum(map(attrgetter(name), many)) for name in _SUMS}
    return Calls(**sums, first=firsts[(len(firsts) - 1) // 2] if firsts else None)


_SUMS = (
    *("turns", "called", "succeeded", "errors", "refused", "unread"),
    *("repeats", "turns_with", "lost_turns"),
)
