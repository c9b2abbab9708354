"""Which tools were called: the right ones, and none of the forbidden ones, asked for and executed told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crucible.scoring.trajectory.arguments import IGNORE
from crucible.scoring.trajectory.difference import Difference, Kind
from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.expected import ExpectedCall, show_call
from crucible.scoring.trajectory.match import Order, match
from crucible.scoring.trajectory.naming import called_as, original, renamed, same_tool
from crucible.scoring.trajectory.results import NOT_ASKED, Result, State, failed, passed, unknown
from crucible.transcript.neutral import NeutralCall, NeutralRun

NO_CALLS = "the format does not carry tool calls"


def right_tool(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether each expected tool was called, as often as it is listed; what came of the calls does not matter here."""
    wanted = expectation.expect_tool or tuple(call.tool for call in expectation.expect_args)
    if not wanted:
        return NOT_ASKED
    if run.calls is None or (run.unseen and run.tool_counts is not None):
        return _right_by_counts(wanted, run)
    found = match(renamed(run.calls, wanted), [ExpectedCall(tool) for tool in wanted], Order.AT_LEAST, IGNORE)
    numbers = {"found": len(found.pairs), "expected": len(wanted)}
    difference = original(found.first_difference, run.calls)
    if difference is None:
        return passed(f"{', '.join(dict.fromkeys(wanted))} called", numbers)
    return failed(f"{difference}{_instead(run.calls)}", numbers, difference)


def _right_by_counts(wanted: Sequence[str], run: NeutralRun) -> Result:
    if run.tool_counts is None:
        return unknown(NO_CALLS)
    missing = [tool for tool, times in Counter(wanted).items() if times_called(run, tool) < times]
    if missing:
        return failed(f"expected {', '.join(missing)}; called: {', '.join(run.tool_counts) or 'nothing'}")
    return passed(f"{', '.join(dict.fromkeys(wanted))} called")


def times_called(run: NeutralRun, tool: str) -> int:
    """How often a tool was called, from the counts a format gives."""
    counts = (run.tool_counts or {}).items()
    return sum(count for called, count in counts if same_tool(tool, called))


def forbidden_attempted(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether a forbidden tool was asked for, by the agent or a sub-agent, executed or not."""
    if not expectation.forbid_tool:
        return NOT_ASKED
    found = _forbidden(expectation, run.calls or run.denied)
    if found:
        return failed(f"{_place(*found[0])} was asked for", {"attempts": len(found)}, _unexpected(*found[0]))
    counted = {tool: n for tool in expectation.forbid_tool if (n := times_called(run, tool))}
    if counted and not all_seen(run):
        tool, times = next(iter(counted.items()))
        return failed(f"{tool} was called ({times} in all)", {"attempts": sum(counted.values())})
    if run.calls is None and run.tool_counts is None:
        return unknown(NO_CALLS)
    return passed(f"{', '.join(expectation.forbid_tool)} not called", {"attempts": 0})


def all_seen(run: NeutralRun) -> bool:
    """Whether every call that was made is there to look at."""
    return run.calls is not None and not run.unseen


def forbidden_executed(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether a forbidden call ran. One that ran and answered with an error counts: what it did before is not known."""
    attempted = forbidden_attempted(expectation, run)
    if attempted.state is not State.FAIL:
        return attempted
    found = _forbidden(expectation, run.calls or ())
    ran = [(at, call) for at, call in found if call.executed]
    if ran:
        error = ", and answered with an error" if ran[0][1].ok is False else ""
        return failed(f"{_place(*ran[0])} ran{error}", {"executed": len(ran)}, _unexpected(*ran[0]))
    if not found or any(call.executed is None for _, call in found):
        return unknown("a forbidden tool was asked for; the format does not say whether it ran")
    return passed(f"asked for {len(found)} times and never executed", {"executed": 0})


def _forbidden(expectation: Expectation, calls: Sequence[NeutralCall]) -> list[tuple[int, NeutralCall]]:
    named = called_as(expectation.forbid_tool, calls)
    found = [(at, call) for at, call in enumerate(calls) if call.tool in named]
    return sorted(found, key=lambda one: one[1].executed is False)  # those that ran are named first


def _unexpected(at: int, call: NeutralCall) -> Difference:
    return Difference(Kind.UNEXPECTED, None, call, actual_at=at)


def _place(at: int, call: NeutralCall) -> str:
    return f"call {at + 1}, {show_call(call)}{' in a sub-agent' if call.parent else ''},"


def _instead(calls: Sequence[NeutralCall]) -> str:
    names = ", ".join(dict.fromkeys(call.tool for call in calls))
    return f" (called: {names})" if names else " (no tool was called)"
