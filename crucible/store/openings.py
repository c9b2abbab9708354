"""What attempts were first asked: whether the arms differ as declared and in nothing else."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, select

from crucible.store.tables import AttemptRow, EventRow, FirstRequestRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Opening:
    """What an attempt's agent was given at the start; `fingerprint` is of the whole of it.

    `content` is that whole (see transcript.opening); None for attempts made before it was recorded.
    """

    system_prompt: str
    task: str
    tools: frozenset[str]
    fingerprint: str
    content: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Begun:
    """A counted attempt with its opening."""

    attempt_id: int
    scenario_hash: str
    arm: str
    model: str
    opening: Opening


def openings(store: Store, run_id: int) -> dict[int, Opening]:
    """The openings of a run's attempts by attempt id; attempts that did not get that far have none."""
    with store.reading() as session:
        mine = select(AttemptRow.id).where(AttemptRow.run_id == run_id)
        return _openings(session, col(EventRow.attempt_id).in_(mine))


def begun(store: Store, run_id: int, known: Collection[int] = ()) -> list[Begun]:
    """The counted attempts of a run with their openings, oldest first, without those whose ids are known already."""
    with store.reading() as session:
        query = select(AttemptRow.id, AttemptRow.scenario_hash, AttemptRow.arm, AttemptRow.model).where(
            AttemptRow.run_id == run_id, col(AttemptRow.counted).is_(True)
        )
        new = [row for row in session.exec(query.order_by(col(AttemptRow.id))).all() if row[0] not in known]
        opened: dict[int, Opening] = {}
        if new:
            opened = _openings(session, col(EventRow.attempt_id).in_([row[0] for row in new]))
    return [Begun(i, digest, arm, model, opened[i]) for i, digest, arm, model in new if i is not None and i in opened]


def _openings(session: Session, which: Any) -> dict[int, Opening]:
    query = select(EventRow.attempt_id, EventRow.data).where(which, EventRow.kind == "started")
    said = {attempt_id: json.loads(data) for attempt_id, data in session.exec(query).all()}
    content = _contents(session, {str(one["first_request_sha256"]) for one in said.values()})
    return {attempt_id: _opening(one, content) for attempt_id, one in said.items()}


def _contents(session: Session, named: Iterable[str]) -> dict[str, dict[str, Any]]:
    query = select(FirstRequestRow).where(col(FirstRequestRow.sha256).in_(sorted(set(named))))
    return {row.sha256: json.loads(row.data) for row in session.exec(query).all()}


def _opening(said: dict[str, Any], contents: Mapping[str, Mapping[str, Any]]) -> Opening:
    named = frozenset(map(str, said["tools"])) if isinstance(said["tools"], list) else frozenset()
    sha256 = str(said["first_request_sha256"])
    return Opening(str(said["system_prompt"]), str(said["task"]), named, sha256, contents.get(sha256))
