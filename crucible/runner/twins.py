"""One arm against itself: a scenario whose two arms are the same set-up, so that all that differs is chance."""

from __future__ import annotations

from dataclasses import replace

from crucible.agents.rehearsal import Rehearsal, Session
from crucible.scenario.load import LoadedScenario

AGAIN = "-again"


def twinned(loaded: LoadedScenario, arm_id: str) -> LoadedScenario:
    """The same scenario, file and hash, with that arm twice: itself as the baseline, and `<arm>-again`."""
    arm = loaded.scenario.arm(arm_id).model_copy(update={"baseline": True})
    twin = arm.model_copy(update={"id": f"{arm_id}{AGAIN}", "baseline": False})
    return replace(loaded, scenario=loaded.scenario.model_copy(update={"arms": (twin, arm)}))


def twin_rehearsal(rehearsal: Rehearsal, arm_id: str) -> Rehearsal:
    """The rehearsal in which both twins play the sessions of that arm."""
    mine = [session for session in rehearsal.sessions if session.arm == arm_id]
    again = [session.model_copy(update={"arm": f"{arm_id}{AGAIN}"}) for session in mine]
    sessions: tuple[Session, ...] = (*mine, *again)
    return rehearsal.model_copy(update={"sessions": sessions})
