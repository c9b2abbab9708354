"""What attempts were first asked, and which tools they used: whether the arms differ as declared and in nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import or_
from sqlmodel import col, select

from crucible.store.tables import AttemptRow, EventRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Opening:
    """What an attempt's agent was given at the start; `fingerprint` is of the whole first request."""

    system_prompt: str
    task: str
    tools: frozenset[str]
    fingerprint: str


def openings(store: Store, run_id: int) -> dict[int, Opening]:
    """The openings of a run's attempts by attempt id; attempts that did not get that far have none."""
    with store.reading() as session:
        query = select(EventRow.attempt_id, EventRow.data).where(
            col(EventRow.attempt_id).in_(select(AttemptRow.id).where(AttemptRow.run_id == run_id)),
            EventRow.kind == "started",
        )
        return {attempt_id: _opening(json.loads(data)) for attempt_id, data in session.exec(query).all()}


def _opening(said: dict[str, object]) -> Opening:
    tools = said["tools"]
    named = frozenset(map(str, tools)) if isinstance(tools, list) else frozenset()
    return Opening(str(said["system_prompt"]), str(said["task"]), named, str(said["first_request_sha256"]))


def attempts_using(store: Store, run_id: int, servers: Iterable[str]) -> dict[int, set[str]]:
    """Which of these tool servers each attempt of a run got an answer from, by attempt id."""
    names = sorted(set(servers))
    if not names:
        return {}
    found: dict[int, set[str]] = {}
    with store.reading() as session:
        query = select(EventRow.attempt_id, EventRow.data).where(
            col(EventRow.attempt_id).in_(select(AttemptRow.id).where(AttemptRow.run_id == run_id)),
            EventRow.kind == "answered",
            or_(*(col(EventRow.data).contains(f'"{name}__', autoescape=True) for name in names)),
        )
        for attempt_id, data in session.exec(query).all():
            server, mark, _ = str(json.loads(data)["tool"]).partition("__")
            if mark and server in names:
                found.setdefault(attempt_id, set()).add(server)
    return found
