"""Whoever is run on a frozen failure, and what one run of it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from crucible.transcript.neutral import NeutralRun


@dataclass(frozen=True, slots=True)
class Played:
    """One run as it came. `transcript` is what is kept of it, keys taken out; `seconds` is wall clock."""

    run: NeutralRun
    transcript: bytes
    seconds: float


class Subject(Protocol):
    """An agent that can be run on one frozen failure, again and again, each time from the start."""

    name: str
    """The command, or the model, as the user gave it."""
    enforced: frozenset[str]
    """The limits it is made to keep by what starts it, by their names in `Caps`."""

    async def play(self) -> Played:
        """One run. What went wrong with it is in the run; raises UsageError only for what every run would meet."""
