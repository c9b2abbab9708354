"""After an attempt: what of its change got past a rule, named with the call that did it."""

from __future__ import annotations

import json

from crucible.policy.protection import Protection
from crucible.runner.recorder import Recorder
from crucible.transcript.events import Answered, Decided
from crucible.world.types import Change


def audit(protection: Protection, change: Change, record: Recorder) -> None:
    """Record a `got_past` decision for every changed path that a policy protects."""
    for path in sorted(change.paths):
        policy = protection.by(path)
        if policy is not None:
            call = _culprit(path, record)
            turn, at, call_id = (call.turn, call.at, call.call_id) if call else (0, 0.0, "")
            detail = f"{path} was changed although it is protected; grading takes it from the fixture"
            record(Decided(at=at, turn=turn, call_id=call_id, policy_id=policy, action="got_past", detail=detail))


def _culprit(path: str, record: Recorder) -> Answered | None:
    """The last call whose arguments name the path, else the last bash call."""
    calls = [e for e in record.events if isinstance(e, Answered) and e.arguments is not None]
    named = [c for c in calls if path in json.dumps(c.arguments, ensure_ascii=False)]
    shell = [c for c in calls if c.tool == "bash"]
    candidates = named or shell
    return candidates[-1] if candidates else None
