"""Replies that were not made for this run: a session seen before, or one that says itself that it came from a cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from crucible.transcript.readers.scan import Scan

_SESSION: Final = ("session_id", "sessionId", "thread_id", "conversation_id")
_CACHED: Final = ("cached", "cache_hit", "from_cache", "replayed")
_HEAD: Final = 50
"""Values of a transcript that are looked at: agents name their session at once, or in their only object."""


@dataclass
class Replays:
    """Remembers the sessions of a series of runs."""

    _sessions: dict[str, int] = field(default_factory=dict)

    def found(self, number: int, transcript: bytes) -> str | None:
        """Why a run does not count, or None: an agent that goes on with an old session is not run from the start."""
        sessions: dict[str, None] = {}
        for value in islice(Scan(transcript).events(), _HEAD):
            if any(value.get(key) is True for key in _CACHED):
                return "its replies came from a cache, as it says itself"
            sessions |= dict.fromkeys(_session(value))
        for session in sessions:
            earlier = self._sessions.setdefault(session, number)
            if earlier != number:
                return f"a replay: its session {session[:80]} is that of run {earlier}"
        return None


def _session(event: dict[str, Any]) -> list[str]:
    return [value for key in _SESSION if isinstance(value := event.get(key), str) and value]
