"""Whoever is run on a frozen failure, and what one run of it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from crucible.errors import UsageError
from crucible.transcript.neutral import NeutralRun


@dataclass(frozen=True, slots=True)
class Played:
    """One run as it came. `transcript` is what is kept of it, keys taken out; `seconds` is wall clock.

    `refused` is why no run of this agent can be judged, where only what it printed could show that.
    """

    run: NeutralRun
    transcript: bytes
    seconds: float
    refused: UsageError | None = None


class Subject(Protocol):
    """An agent that can be run on one frozen failure, again and again, each time from the start."""

    name: str
    """The command, or the model, as the user gave it."""
    enforced: frozenset[str]
    """The limits it is made to keep by what starts it, by their names in `Caps`."""

    async def play(self) -> Played:
        """One run. What went wrong with it is in the run; raises UsageError only for what keeps it from being started."""
