"""How a run and its attempts stand, in the words that every page and table uses."""

from __future__ import annotations

import socket

from crucible.store.writes import is_alive, this_process

RUNNING, UNFINISHED = "running", "unfinished"


def run_state(status: str, owner: str | None) -> str:
    """The status as it was stored, but `unfinished` where that says running and the process that made the run is gone.

    A run of another machine, or of nobody, is believed: whether it goes on cannot be seen from here.
    """
    if status != RUNNING or owner in (None, this_process()) or is_elsewhere(owner):
        return status
    return RUNNING if is_alive(owner) else UNFINISHED


def is_elsewhere(owner: str | None) -> bool:
    """Whether the process that made a run is one of another machine."""
    return owner is not None and owner.rpartition(":")[0] != socket.gethostname()


def attempt_state(ending: str | None, state: str) -> str:
    """How an attempt ended; without an ending it is as `unfinished` as its run, or still running."""
    return ending or (RUNNING if state == RUNNING else UNFINISHED)
