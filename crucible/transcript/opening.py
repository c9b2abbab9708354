"""The opening of an attempt: all that could set two arms apart, as it was when the first request was made.

A JSON object of these parts, each absent where it does not apply:

    messages      role and content of every message of the first request
    tools         name, description and parameters (JSON Schema) of every tool offered, in order
    model         the model's name, with the protocol it is asked in where that is not its native one
    parameters    what else the request says (most output tokens and the like)
    environment   what the arm brought: tool servers (what each really is, its command and the names of its variables),
                  the agent CLI and its version; and what it was put in: the sandbox, whether there is a network, the
                  paths nothing can write, the folders shown, the names of the variables
    files         digest of the workspace before the first call

An agent says the first part of it, what it asks its model; the runner completes it with what it made the world of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from crucible.transcript.events import Started

SHARED = "environment"
"""The part to which both the agent and the runner have something to say."""


def as_text(opening: Mapping[str, Any]) -> str:
    """The one JSON text of an opening: equal openings have equal texts."""
    return json.dumps(opening, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def fingerprint(opening: Mapping[str, Any]) -> str:
    """The SHA-256 that names an opening."""
    return hashlib.sha256(as_text(opening).encode()).hexdigest()


def completed(opening: Mapping[str, Any], surroundings: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent asked, with what the runner put it in. Both may have an `environment`; the runner knows better."""
    both = {**opening.get(SHARED, {}), **surroundings.get(SHARED, {})}
    return {**opening, **surroundings, **({SHARED: both} if both else {})}


def complete(started: Started, surroundings: Mapping[str, Any]) -> Started:
    """The event with its opening completed and named anew; as it is when it has none."""
    if started.opening is None or not surroundings:
        return started
    whole = completed(started.opening, surroundings)
    return started.model_copy(update={"opening": whole, "first_request_sha256": fingerprint(whole)})
