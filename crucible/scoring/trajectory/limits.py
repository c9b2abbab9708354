"""Whether the run came to its end, and what it used on the way."""

from __future__ import annotations

from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.results import NOT_ASKED, Result, failed, passed, unknown
from crucible.transcript.neutral import NeutralRun


def finished(_expectation: Expectation, run: NeutralRun) -> Result:
    """Whether the agent ended its work by itself. Asked of every run: one that was cut short shows nothing by silence."""
    how = f"ended by {run.stop}" if run.stop else "ended by itself" if run.complete else "no reason given"
    how += f", at its limit of {run.cap}" if run.cap else ""
    if run.complete is None:
        return unknown(f"the format does not say whether the run was finished ({how})")
    return passed(how) if run.complete else failed(f"not finished: {how}")


def caps(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether the run kept within the limits; a limit on what the format does not count is unknown."""
    limits = expectation.caps.asked()
    if not limits:
        return NOT_ASKED
    used = {name: _used(run, name) for name in limits}
    over = [f"{name} {used[name]:g}, at most {limit:g}" for name, limit in limits.items() if (used[name] or 0) > limit]
    unsaid = [name for name in limits if used[name] is None or (name == "calls" and run.unseen)]
    numbers = {name: value for name, value in used.items() if value is not None}
    if over:
        return failed("; ".join(over), numbers)
    if unsaid:
        return unknown(f"the format does not say {', '.join(unsaid)}", numbers)
    return passed("; ".join(f"{name} {used[name]:g} of {limit:g}" for name, limit in limits.items()), numbers)


def _used(run: NeutralRun, name: str) -> float | None:
    if name == "calls":
        counted = None if run.tool_counts is None else sum(run.tool_counts.values())
        return counted if run.calls is None else len(run.calls)
    if name == "tokens":
        return None if run.tokens is None else run.tokens.total
    value: float | None = getattr(run, name)
    return value
