"""The opening of an attempt: all that could set two arms apart, as it was when the first request was made.

A JSON object of these parts, each absent where it does not apply:

    messages      role and content of every message of the first request; the system prompt is followed by what the arm's
                  tool servers want models to know, if anything, which `environment` holds too
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
from collections.abc import Iterator, Mapping
from typing import Any

from crucible.transcript.events import Started

SHARED = "environment"
"""The part to which both the agent and the runner have something to say."""
INSTRUCTIONS = "instructions"
"""Of a tool server in the environment: what it said, in MCP's field of this name, that models should know."""


def instructed(prompt: str, told: Mapping[str, str]) -> str:
    """A system prompt followed by the instructions of tool servers, by name, as clients of MCP give them to models."""
    said = [f"Instructions of the tool server {name}:\n{text}" for name, text in sorted(told.items()) if text]
    return "\n\n".join([*([prompt] if prompt else []), *said]) if said else prompt


def uninstructed(prompt: str, opening: Mapping[str, Any]) -> str:
    """The system prompt without what the opening's tool servers added to it."""
    added = instructed("", instructions_of(opening))
    return prompt.removesuffix(added).removesuffix("\n\n") if added and prompt.endswith(added) else prompt


def instructions_of(opening: Mapping[str, Any]) -> dict[str, str]:
    """What an opening's tool servers want models to know, by server; of those that want anything."""
    servers = (opening.get(SHARED) or {}).get("servers")
    found = {name: one.get(INSTRUCTIONS) for name, one in _objects(servers)}
    return {name: text for name, text in found.items() if text and isinstance(text, str)}


def _objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The entries of an object that are objects; what was recorded of an agent CLI may be anything."""
    for name, one in value.items() if isinstance(value, Mapping) else ():
        if isinstance(one, Mapping):
            yield name, one


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
