"""One night of a suite, and night after night: run what the suite names, as `crucible run` would, under its name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from crucible.runner.checks import Say
from crucible.runner.command import Options, choose, start
from crucible.runner.recorder import Progress
from crucible.runner.run import Result
from crucible.runner.suite import Schedule, Suite
from crucible.settings import Settings
from crucible.store.nights import mark_night
from crucible.store.writes import Store

LONGEST_SLEEP = 60.0
"""Seconds at a time: a clock that is set, or a machine that was asleep, is noticed after as long."""


async def one_night(
    bench: Path, suite: Suite, settings: Settings, store: Store, say: Say, progress: Progress | None, *, rehearse: bool
) -> Result:
    """Make every attempt of tonight. A night belongs to the history once it has ended; an interrupted one does not."""
    ready = choose(bench, options_of(suite, rehearse=rehearse), settings, say)
    result = await start(bench, ready, settings, store, say, progress)
    mark_night(store, result.run_id, suite.name)
    return result


def options_of(suite: Suite, *, rehearse: bool) -> Options:
    """The options of `crucible run` that a suite stands for."""
    return Options(
        names=suite.scenarios,
        blocks=suite.blocks,
        arm=suite.arm,
        models=suite.models,
        parallel=suite.parallel,
        max_cost=suite.max_cost_usd,
        judge=suite.judge,
        rehearse=rehearse,
        without_extra_tools=suite.without_extra_tools,
    )


def night_after_night(
    schedule: Schedule,
    night: Callable[[], None],
    say: Say,
    *,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> None:
    """Wait for the next beginning, run a night, and so on until interrupted. A beginning missed by a night is skipped."""
    while True:
        due = schedule.next_after(clock())
        say(f"the next night begins {due:%a %Y-%m-%d %H:%M}; Ctrl-C ends the waiting")
        while (left := (due - clock()).total_seconds()) > 0:
            sleep(min(left, LONGEST_SLEEP))
        night()
