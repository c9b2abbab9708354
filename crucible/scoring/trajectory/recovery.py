"""Whether calls that answered with an error were repaired later, and how often one was blindly repeated."""

from __future__ import annotations

from collections.abc import Sequence

from crucible.scoring.trajectory.expectation import ANY_TOOL, Expectation
from crucible.scoring.trajectory.expected import show_call
from crucible.scoring.trajectory.identifiers import identifiers
from crucible.scoring.trajectory.naming import same_tool
from crucible.scoring.trajectory.results import NOT_ASKED, Result, failed, passed, unknown
from crucible.scoring.trajectory.tools import NO_CALLS
from crucible.scoring.trajectory.values import json_equal
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun

Calls = Sequence[NeutralCall]


def recovery(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether every error of the tools in `recovers_from` was followed by a call that repaired it.

    A later successful call of the same tool repairs an error when it has the same arguments, or shares an identifier
    with them, or when the arguments that failed hold none. A run in which no error came shows nothing: unknown.
    `numbers`: errors, repaired, and blind_retries (the very next call was the same and failed again).
    """
    if not expectation.recovers_from:
        return NOT_ASKED
    if run.calls is None:
        return unknown(NO_CALLS)
    errors = [at for at, call in enumerate(run.calls) if call.ok is False and _named(expectation, call)]
    if not errors:
        return _no_errors(expectation, run.calls)
    repairs = {at: _repaired(run.calls, at) for at in errors}
    counts = {
        "errors": len(errors),
        "repaired": sum(repair is True for repair in repairs.values()),
        "blind_retries": sum(_blind(run.calls, at) for at in errors),
    }
    blind = f"; {counts['blind_retries']} blind retries" if counts["blind_retries"] else ""
    for state, make in ((False, failed), (None, unknown)):
        left = [at for at in errors if repairs[at] is state]
        if left:
            word = (
                "was not repaired" if state is False else "may have been repaired by a call whose arguments are unknown"
            )
            return make(f"the error of call {left[0] + 1}, {show_call(run.calls[left[0]])}, {word}{blind}", counts)
    return passed(f"{counts['repaired']} of {counts['errors']} errors repaired{blind}", counts)


def _no_errors(expectation: Expectation, calls: Calls) -> Result:
    unsaid = any(call.ok is None and _named(expectation, call) for call in calls)
    why = (
        "the format does not say which calls failed"
        if unsaid
        else "no call failed, so there was nothing to recover from"
    )
    return unknown(why, {"errors": 0})


def _named(expectation: Expectation, call: NeutralCall) -> bool:
    asked = expectation.recovers_from
    return ANY_TOOL in asked or any(same_tool(tool, call.tool) for tool in asked)


def _repaired(calls: Calls, at: int) -> bool | None:
    """Whether a later call repaired the error of call `at`; None when that turns on something unknown."""
    later = [call for call in calls[at + 1 :] if call.tool == calls[at].tool and call.ok is not False and call.executed]
    answers = [_repairs(calls[at], call) if call.ok else None for call in later]
    return True if True in answers else None if None in answers else False


def _repairs(error: NeutralCall, later: NeutralCall) -> bool | None:
    if error.args is UNKNOWN or later.args is UNKNOWN:
        return None
    if json_equal(error.args, later.args):
        return True
    concerned = identifiers(error.raw_args if error.args is None else error.args)
    return not concerned or bool(concerned.keys() & identifiers(later.args).keys())


def _blind(calls: Calls, at: int) -> bool:
    """Whether the next call of the same agent is the same call again, and fails again."""
    following = [call for call in calls[at + 1 :] if call.parent == calls[at].parent]
    if not following:
        return False
    again = following[0]
    same = again.tool == calls[at].tool and isinstance(again.args, dict) and json_equal(again.args, calls[at].args)
    return same and again.ok is False
