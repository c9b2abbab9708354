"""The first thing that is not as expected: which call was expected, which was made, and which arguments differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from crucible.scoring.trajectory.arguments import EXACT, ArgumentDifference, argument_differences
from crucible.scoring.trajectory.expected import ExpectedCall, show_call
from crucible.scoring.trajectory.values import json_equal
from crucible.transcript.neutral import UNKNOWN, NeutralCall


class Kind(StrEnum):
    """What is wrong with a call."""

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    TOOL = "tool"
    ARGUMENTS = "arguments"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the calls that were made and the expected ones.

    `actual_at` and `expected_at` are places in the two lists, from 0, None where there is no such call. `arguments` are
    empty where the calls differ in something else, or where what differs cannot be told.
    """

    kind: Kind
    expected: ExpectedCall | None
    actual: NeutralCall | None
    expected_at: int | None = None
    actual_at: int | None = None
    arguments: tuple[ArgumentDifference, ...] = ()

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self._made()} was not expected"
        want = f"expected {show_call(self.expected)}"
        if self.actual is None:
            return f"{want}, which was not called"
        if self.kind is Kind.ORDER:
            return f"{want} later: it was {self._made()}, before another expected call"
        return f"{want}, got {self._made()}{self._why()}"

    def _made(self) -> str:
        number = "" if self.actual_at is None else f"call {self.actual_at + 1}, "
        return f"{number}{show_call(self.actual)}" if self.actual else "none"

    def _why(self) -> str:
        if self.arguments:
            return ": " + "; ".join(map(str, self.arguments))
        if self.expected and self.expected.succeeds and self.actual and self.actual.ok is not True:
            return ": it answered with an error" if self.actual.ok is False else ": whether it succeeded is not known"
        if self.kind is Kind.ARGUMENTS and self.actual is not None and self.actual.args is UNKNOWN:
            return ": its arguments are not known"
        return ""


Actual = Sequence[NeutralCall]
Expected = Sequence[ExpectedCall]


def first_of_exact(actual: Actual, expected: Expected, rows: Sequence[int]) -> Difference:
    """The first place at which two lists that should be equal are not."""
    both = min(len(actual), len(expected))
    at = next((at for at in range(both) if not rows[at] >> at & 1), both)
    if at < both:
        return _between(actual, at, expected, at)
    return _missing(expected, at) if at < len(expected) else _unexpected(actual, at)


def first_in_order(actual: Actual, expected: Expected, rows: Sequence[int], pairs: Mapping[int, int]) -> Difference:
    """The first expected call that was not made after the ones before it."""
    wanted = len(pairs)
    last = max(pairs, default=-1)
    early = [at for at in range(last + 1) if at not in pairs and rows[at] >> wanted & 1]
    if early:
        return Difference(Kind.ORDER, expected[wanted], actual[early[0]], wanted, early[0])
    return _nearest(actual, range(last + 1, len(actual)), expected, wanted)


def first_in_any_order(actual: Actual, expected: Expected, pairs: Mapping[int, int], *, needs_all: bool) -> Difference:
    """The first expected call that has no partner; when none needs one, the first actual call without."""
    paired = set(pairs.values())
    missing = [at for at in range(len(expected)) if at not in paired]
    extra = [at for at in range(len(actual)) if at not in pairs]
    if missing and needs_all:
        return _nearest(actual, extra, expected, missing[0])
    at = extra[0]
    same_tool = [want for want in missing if expected[want].tool == actual[at].tool]
    near = sorted(same_tool, key=lambda want: len(_arguments(actual[at], expected[want])))
    return _between(actual, at, expected, near[0]) if near else _unexpected(actual, at)


def _nearest(actual: Actual, left: Iterable[int], expected: Expected, at: int) -> Difference:
    """An expected call beside the one that may have been made in its place: same tool, or same arguments."""
    left, want = list(left), expected[at]
    same_tool = [made for made in left if actual[made].tool == want.tool]
    if same_tool:
        return _between(actual, min(same_tool, key=lambda made: len(_arguments(actual[made], want))), expected, at)
    alike = [made for made in left if want.args and isinstance(want.args, Mapping) and _same(actual[made], want)]
    return _between(actual, alike[0], expected, at) if alike else _missing(expected, at)


def _same(made: NeutralCall, want: ExpectedCall) -> bool:
    return isinstance(made.args, Mapping) and json_equal(made.args, want.args)


def _arguments(made: NeutralCall, want: ExpectedCall) -> list[ArgumentDifference]:
    return argument_differences(made.args, want.args, want.rule or EXACT)


def _between(actual: Actual, made: int, expected: Expected, want: int) -> Difference:
    call, wish = actual[made], expected[want]
    if call.tool != wish.tool:
        return Difference(Kind.TOOL, wish, call, want, made)
    return Difference(Kind.ARGUMENTS, wish, call, want, made, tuple(_arguments(call, wish)))


def _missing(expected: Expected, at: int) -> Difference:
    return Difference(Kind.MISSING, expected[at], None, expected_at=at)


def _unexpected(actual: Actual, at: int) -> Difference:
    return Difference(Kind.UNEXPECTED, None, actual[at], actual_at=at)
