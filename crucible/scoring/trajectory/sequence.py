"""The calls with their arguments, and their order: two dimensions, so that a wrong argument is not a wrong order."""

from __future__ import annotations

from dataclasses import replace

from crucible.scoring.trajectory.arguments import IGNORE
from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.expected import ExpectedCall
from crucible.scoring.trajectory.match import Match, Order, match
from crucible.scoring.trajectory.naming import original, renamed
from crucible.scoring.trajectory.results import NOT_ASKED, Result, State, failed, passed, unknown
from crucible.scoring.trajectory.tools import NO_CALLS
from crucible.transcript.neutral import NeutralRun


def arguments(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether every call of `expect_args` was made, each expected one by a call of its own."""
    if not expectation.expect_args:
        return NOT_ASKED
    if run.calls is None:
        return unknown(NO_CALLS)
    found = match(renamed(run.calls, expectation.tools), expectation.expect_args, Order.AT_LEAST)
    return _result(found, run, "all expected arguments given")


def order(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether the calls are in the order that `expect_order` allows.

    The calls of `expect_args` are put in order with their arguments as long as each of them was made. If one was not, the
    arguments are wrong and say so themselves; then only the names are put in order.
    """
    if expectation.expect_order is None:
        return NOT_ASKED
    if run.calls is None:
        return unknown(NO_CALLS)
    calls, wanted = renamed(run.calls, expectation.tools), expectation.wanted
    whole = match(calls, wanted, expectation.expect_order)
    if not whole.matched and arguments(expectation, run).state is State.FAIL:
        names = [ExpectedCall(call.tool) for call in wanted]
        whole = match(calls, names, expectation.expect_order, IGNORE)
    result = _result(whole, run, f"{expectation.expect_order.value}")
    return _as_far_as_seen(result, whole, run) if run.unseen else result


def _as_far_as_seen(result: Result, found: Match, run: NeutralRun) -> Result:
    """What still holds when more calls may have been made: they add to those that were seen, and take none away."""
    if found.order in (Order.AT_LEAST, Order.IN_ORDER):
        sure = result.state is State.PASS
    else:
        sure = not replace(found, order=Order.ONLY_FROM).possible
    return result if sure else unknown(f"{result.detail}, as far as can be seen: {run.unseen}", result.numbers)


def _result(found: Match, run: NeutralRun, good: str) -> Result:
    numbers = {"found": len(found.pairs), "expected": len(found.expected), "score": found.score}
    difference = original(found.first_difference, run.calls or ())
    if difference is None:
        return passed(good, numbers)
    return (unknown if found.possible else failed)(str(difference), numbers, difference)
