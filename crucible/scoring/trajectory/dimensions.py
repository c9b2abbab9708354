"""One run held against one expectation, on every dimension by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crucible.scoring.trajectory.answer import facts
from crucible.scoring.trajectory.claims import claims
from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.limits import caps, finished
from crucible.scoring.trajectory.recovery import recovery
from crucible.scoring.trajectory.results import Dimension, Result, State, unknown
from crucible.scoring.trajectory.sequence import arguments, order
from crucible.scoring.trajectory.tools import forbidden_attempted, forbidden_executed, right_tool
from crucible.transcript.neutral import NeutralRun

SCORES: dict[Dimension, Callable[[Expectation, NeutralRun], Result]] = {
    Dimension.FORBIDDEN_EXECUTED: forbidden_executed,
    Dimension.FORBIDDEN_ATTEMPTED: forbidden_attempted,
    Dimension.RIGHT_TOOL: right_tool,
    Dimension.ARGUMENTS: arguments,
    Dimension.ORDER: order,
    Dimension.CLAIMS: claims,
    Dimension.FACTS: facts,
    Dimension.RECOVERY: recovery,
    Dimension.FINISHED: finished,
    Dimension.CAPS: caps,
}


IF_UNSEEN = {
    Dimension.FORBIDDEN_EXECUTED: State.PASS,
    Dimension.FORBIDDEN_ATTEMPTED: State.PASS,
    Dimension.RIGHT_TOOL: State.FAIL,
    Dimension.ARGUMENTS: State.FAIL,
    Dimension.CLAIMS: State.FAIL,
    Dimension.RECOVERY: State.FAIL,
}
"""The state that rests on a call not being there, and so is unknown when more calls may have been made than were seen."""


def score_run(expectation: Expectation, run: NeutralRun) -> dict[Dimension, Result]:
    """Every dimension of the run, in the order of `Dimension`. Pure: the same run and expectation, the same results.

    A run that does not count is unknown in everything that was asked, whatever it did before it was cut off.
    """
    results = {name: _as_far_as_seen(name, score(expectation, run), run) for name, score in SCORES.items()}
    if run.valid:
        return results
    why = f"the run does not count: {run.reason or run.stop or 'no reason given'}"
    return {name: one if one.state is State.NOT_ASKED else unknown(why) for name, one in results.items()}


def _as_far_as_seen(name: Dimension, result: Result, run: NeutralRun) -> Result:
    by_counts = run.tool_counts is not None and name not in (Dimension.ARGUMENTS, Dimension.CLAIMS, Dimension.RECOVERY)
    if not run.unseen or by_counts or result.state is not IF_UNSEEN.get(name):
        return result
    detail = f"{result.detail}, as far as can be seen: {run.unseen}"
    return replace(result, state=State.UNKNOWN, detail=detail)
