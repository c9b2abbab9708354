"""An attempt through the runner: what is charged to it."""

from __future__ import annotations

from pathlib import Path

from crucible.agents.replies import reply_event
from crucible.agents.types import Ending, Record, Task
from crucible.errors import Cause
from crucible.runner.arms import Player
from crucible.transcript.messages import Usage
from crucible.world.types import World
from tests.runner.one_attempt import stored

HOUR = 3600.0
REPLY = reply_event("done", (), Usage(), at=0.0, turn=1, seconds=0.1, waited=HOUR)


class Patient:
    """An agent whose provider made it wait for an hour, by its account. Implements Agent."""

    async def attempt(self, task: Task, world: World, record: Record) -> Ending:  # noqa: ARG002 - it does no work
        """Record one reply."""
        record(REPLY)
        return Ending("finished", Cause.AGENT, "done")


def test_waiting_for_a_provider_is_neither_the_attempts_time_nor_overhead(bench: Path) -> None:
    row = stored(bench, Player(Patient()))
    assert (HOUR, 0.0, 0.0) == (row.waited_seconds, row.seconds, row.overhead_seconds)
