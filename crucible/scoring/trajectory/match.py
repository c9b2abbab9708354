"""Hold the calls an agent made against the calls that were expected.

    match(actual, expected, "at-least")

An order is named by what it allows:

    exact       the expected calls, in their order, and no others
    same-calls  the expected calls, in any order, and no others
    at-least    the expected calls, in any order, and any others
    only-from   no others than the expected calls; some may be missing
    in-order    the expected calls, in their order, and any others in between

An expected call that is listed twice has to be made twice. Where the order does not count, calls are paired by maximum
bipartite matching, always with the actual call first: no pair is missed because another was made before it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from crucible.scoring.trajectory.arguments import EXACT, ArgsMode, ArgsRule, Check, fits
from crucible.scoring.trajectory.assignment import in_order, longest_common, maximum_matching
from crucible.scoring.trajectory.difference import Difference, first_in_any_order, first_in_order, first_of_exact
from crucible.scoring.trajectory.expected import ExpectedCall
from crucible.scoring.trajectory.values import frozen
from crucible.transcript.neutral import UNKNOWN, NeutralCall

Rule = ArgsRule | ArgsMode | str | Check


class Order(StrEnum):
    """What the actual calls may be, beside the expected ones."""

    EXACT = "exact"
    SAME_CALLS = "same-calls"
    AT_LEAST = "at-least"
    ONLY_FROM = "only-from"
    IN_ORDER = "in-order"


@dataclass(frozen=True)
class Match:
    """The result of `match`; what it takes to explain it is worked out when asked for."""

    order: Order
    actual: Sequence[NeutralCall]
    expected: Sequence[ExpectedCall]
    sure: Sequence[int]
    maybe: Sequence[int]

    @cached_property
    def matched(self) -> bool:
        """Whether the calls are as expected. Arguments that are unknown do not count as right."""
        return self._holds(self.sure)

    @cached_property
    def possible(self) -> bool:
        """Whether they would be, if the unknown arguments were right; the same as `matched` when all are known."""
        return self.matched or (self.maybe is not self.sure and self._holds(self.maybe))

    @cached_property
    def score(self) -> float:
        """How much of it is as expected, in [0, 1]; 1 exactly when it matched.

        at-least and in-order: the share of the expected calls that were made; only-from: the share of the made calls
        that were expected; exact and same-calls: twice the pairs over the calls of both sides. Without any call, 1.
        Pairs are in the same order on both sides where the order counts.
        """
        sequence = self.order in (Order.EXACT, Order.IN_ORDER)
        pairs = longest_common(self.sure, len(self.expected)) if sequence else len(self.pairs)
        if self.order is Order.ONLY_FROM:
            return pairs / len(self.actual) if self.actual else 1.0
        if self.order in (Order.AT_LEAST, Order.IN_ORDER):
            return pairs / len(self.expected) if self.expected else 1.0
        both = len(self.actual) + len(self.expected)
        return 2 * pairs / both if both else 1.0

    @cached_property
    def pairs(self) -> Mapping[int, int]:
        """Which actual call (index) goes with which expected one (index)."""
        return self._pairs(self.sure)

    @cached_property
    def first_difference(self) -> Difference | None:
        """The first thing that is not as expected; None when it matched."""
        if self.matched:
            return None
        if self.order is Order.EXACT:
            return first_of_exact(self.actual, self.expected, self.sure)
        if self.order is Order.IN_ORDER:
            return first_in_order(self.actual, self.expected, self.sure, self.pairs)
        others = self.order is not Order.ONLY_FROM
        return first_in_any_order(self.actual, self.expected, self.pairs, needs_all=others)

    def _pairs(self, rows: Sequence[int]) -> Mapping[int, int]:
        if self.order is Order.EXACT:
            return {at: at for at, row in enumerate(rows) if row >> at & 1}
        return in_order(rows, len(self.expected)) if self.order is Order.IN_ORDER else maximum_matching(rows)

    def _holds(self, rows: Sequence[int]) -> bool:
        made, wanted = len(self.actual), len(self.expected)
        if self.order in (Order.EXACT, Order.SAME_CALLS) and made != wanted:
            return False
        pairs = len(self.pairs if rows is self.sure else self._pairs(rows))
        return pairs == (made if self.order is Order.ONLY_FROM else wanted)


def match(
    actual: Sequence[NeutralCall],
    expected: Sequence[NeutralCall | ExpectedCall],
    order: Order | str = Order.EXACT,
    args: Rule = EXACT,
    by_tool: Mapping[str, Rule] | None = None,
) -> Match:
    """Hold `actual` against `expected`.

    `args` says how arguments are compared, `by_tool` says it for single tools, and an `ExpectedCall` with a rule for
    itself. An expected call without arguments (UNKNOWN) expects nothing of them. ValueError for an unknown order or mode.
    """
    rules = {tool: ArgsRule.of(rule) for tool, rule in (by_tool or {}).items()}
    default = ArgsRule.of(args)
    wanted = [_wanted(call, rules, default) for call in expected]
    sure, maybe = _rows(actual, wanted)
    return Match(Order(order), actual, wanted, sure, maybe)


def _wanted(call: NeutralCall | ExpectedCall, rules: Mapping[str, ArgsRule], default: ArgsRule) -> ExpectedCall:
    """The expected call with its own rule, else its tool's, else the one for all."""
    if isinstance(call, ExpectedCall):
        return call if call.rule else replace(call, rule=rules.get(call.tool, default))
    return ExpectedCall(call.tool, call.args, rules.get(call.tool, default))


def _rows(actual: Sequence[NeutralCall], expected: Sequence[ExpectedCall]) -> tuple[list[int], list[int]]:
    """For each actual call the expected ones it fits, as bits: surely, and as far as is known.

    Expected calls whose arguments have to be equal are found by a key, so that equality costs no comparison.
    """
    special = any(
        (want.rule is not EXACT and want.rule != EXACT) or want.succeeds or not isinstance(want.args, Mapping)
        for want in expected
    )
    if special or any(call.args is UNKNOWN for call in actual):
        return _rows_compared(actual, expected)
    keyed: dict[Hashable, int] = {}
    for at, want in enumerate(expected):
        key = (want.tool, frozen(want.args))
        keyed[key] = keyed.get(key, 0) | 1 << at
    tools = {want.tool for want in expected}
    sure = [keyed.get((call.tool, frozen(call.args)), 0) if call.tool in tools else 0 for call in actual]
    return sure, sure


def _rows_compared(actual: Sequence[NeutralCall], expected: Sequence[ExpectedCall]) -> tuple[list[int], list[int]]:
    wanted: dict[str, list[int]] = {}
    for at, want in enumerate(expected):
        wanted.setdefault(want.tool, []).append(at)
    sure, maybe = [], []
    for call in actual:
        certain = possible = 0
        for at in wanted.get(call.tool, ()):
            fit = _fits(call, expected[at])
            certain |= (fit is True) << at
            possible |= (fit is not False) << at
        sure.append(certain)
        maybe.append(possible)
    return sure, sure if sure == maybe else maybe


def _fits(call: NeutralCall, want: ExpectedCall) -> bool | None:
    """Whether a call of the tool will do; None where that turns on something unknown."""
    fit = fits(call.args, want.args, want.rule or EXACT)
    if fit is False or not want.succeeds or call.ok is True:
        return fit
    return call.ok
