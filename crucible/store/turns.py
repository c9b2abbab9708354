"""An attempt turn by turn: what was called and what came of it. Results of tools, which are most of a log, stay behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, or_
from sqlalchemy import select as columns_of
from sqlmodel import Session, col

from crucible.store.tables import EventRow
from crucible.store.writes import Store

SAID = 300
"""Characters of a reply that are read; of the results of calls as many again are read for those that are looked at."""
_REPLIED = ("input_uncached", "input_cached", "cache_write", "output", "text_size")
_ANSWERED = ("call_id", "tool", "arguments", "ok", "exit_code", "timed_out", "text_size", "limit")
_DECIDED = ("call_id", "action", "policy_id")
_PICKED = {"replied": _REPLIED, "answered": _ANSWERED, "decided": _DECIDED}


Picked = tuple[int, str, int, float, dict[str, Any], str | None]
"""Of an event: place, kind, turn, time, the fields that are picked, and the beginning of its text where that is read."""


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call. `seq` is its event's place in the transcript, `at` seconds since the attempt started.

    `arguments` is None when they could not be read; `refused` names the policy that refused it, or part of what it did;
    `size` is what it gave, in characters; `text` its beginning, of a call without arguments, which says what was wrong.
    """

    seq: int
    tool: str
    arguments: Mapping[str, Any] | None
    ok: bool
    exit_code: int | None = None
    timed_out: bool = False
    refused: str | None = None
    limit: str | None = None
    size: int = 0
    at: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `said` is the beginning of the reply, of `said_size` characters; `tokens` is what it was billed, None where
    that is not known; `at` is when its last event was, in seconds since the attempt started."""

    number: int
    said: str = ""
    said_size: int = 0
    tokens: int | None = None
    at: float = 0.0
    steps: tuple[Step, ...] = ()


@dataclass
class _Draft:
    said: str = ""
    said_size: int = 0
    tokens: int | None = None
    at: float = 0.0
    steps: list[tuple[int, float, dict[str, Any]]] = field(default_factory=list)


def turns_of(store: Store, attempt_id: int) -> list[Turn]:
    """The turns of an attempt in order; empty when it has none, or does not exist."""
    with store.reading() as session:
        events = _events(session, [attempt_id])
    return _turns(event for _, event in events)


def turns_of_each(store: Store, attempt_ids: Sequence[int]) -> dict[int, list[Turn]]:
    """The same of several attempts at once, by their number."""
    with store.reading() as session:
        events = _events(session, attempt_ids)
    by_attempt: dict[int, list[Picked]] = {attempt: [] for attempt in attempt_ids}
    for attempt, event in events:
        by_attempt[attempt].append(event)
    return {attempt: _turns(mine) for attempt, mine in by_attempt.items()}


def _turns(events: Iterable[Picked]) -> list[Turn]:
    drafts: dict[int, _Draft] = {}
    refused: dict[str, str] = {}
    for seq, kind, number, at, picked, text in events:
        if kind == "decided":
            if picked["action"] in ("block", "fail"):
                refused[str(picked["call_id"])] = str(picked["policy_id"])
            continue
        draft = drafts.setdefault(number, _Draft())
        draft.at = max(draft.at, at)
        if kind == "replied":
            draft.said, draft.said_size, draft.tokens = text or "", int(picked["text_size"] or 0), _billed(picked)
        else:
            draft.steps.append((seq, at, {**picked, "text": text or ""}))
    return [_turn(number, draft, refused) for number, draft in sorted(drafts.items())]


def texts_of(store: Store, attempt_id: int, seqs: Sequence[int], most: int = SAID) -> dict[int, str]:
    """The beginnings of the texts of some events, by their place in the transcript."""
    head = func.substr(func.json_extract(col(EventRow.data), "$.text"), 1, most)
    with store.reading() as session:
        in_place = session.get_bind().dialect.name == "sqlite"
        query = columns_of(EventRow.seq, head if in_place else col(EventRow.data)).where(  # type: ignore[call-overload] # any columns
            col(EventRow.attempt_id) == attempt_id, col(EventRow.seq).in_(seqs)
        )
        rows = session.execute(query).all()
    return {seq: (said or "") if in_place else json.loads(said).get("text", "")[:most] for seq, said in rows}


def _events(session: Session, attempt_ids: Sequence[int]) -> Iterable[tuple[int, Picked]]:
    """By attempt and place, each with the attempt before it."""
    in_place = session.get_bind().dialect.name == "sqlite"
    data, kind = col(EventRow.data), col(EventRow.kind)
    thin = (
        case(
            *(
                (kind == one, func.json_extract(data, *(f"$.{name}" for name in names)))
                for one, names in _PICKED.items()
            )
        ),
        case((_told_by_text(kind, data), func.substr(func.json_extract(data, "$.text"), 1, SAID))),
    )
    told = (EventRow.attempt_id, EventRow.seq, EventRow.kind, EventRow.turn, EventRow.at)
    query = (
        columns_of(*told, *(thin if in_place else (data,)))  # type: ignore[call-overload] # any columns
        .where(col(EventRow.attempt_id).in_(attempt_ids), kind.in_(_PICKED))
        .order_by(col(EventRow.attempt_id), col(EventRow.seq))
    )
    return [(attempt, _picked(row, in_place=in_place)) for attempt, *row in session.execute(query)]


def _told_by_text(kind: Any, data: Any) -> ColumnElement[bool]:
    """Replies, and answers to calls that could not be read."""
    return or_(kind == "replied", and_(kind == "answered", func.json_extract(data, "$.arguments").is_(None)))


def _picked(row: Any, *, in_place: bool) -> Picked:
    seq, kind, turn, at, said, *heads = row
    names = _PICKED[kind]
    if in_place:
        return seq, kind, turn, at, dict(zip(names, json.loads(said), strict=True)), heads[0]
    event = json.loads(said)
    told = kind == "replied" or (kind == "answered" and event.get("arguments") is None)
    text = str(event.get("text") or "")[:SAID] if told else None
    return seq, kind, turn, at, {name: event.get(name) for name in names}, text


def _turn(number: int, draft: _Draft, refused: Mapping[str, str]) -> Turn:
    steps = tuple(_step(seq, at, picked, refused) for seq, at, picked in draft.steps)
    return Turn(number, draft.said, draft.said_size, draft.tokens, draft.at, steps)


def _step(seq: int, at: float, picked: Mapping[str, Any], refused: Mapping[str, str]) -> Step:
    return Step(
        seq=seq,
        tool=str(picked["tool"]),
        arguments=picked["arguments"],
        ok=bool(picked["ok"]),
        exit_code=picked["exit_code"],
        timed_out=bool(picked["timed_out"]),
        refused=refused.get(str(picked["call_id"])),
        limit=picked["limit"],
        size=int(picked["text_size"] or 0),
        at=at,
        text=str(picked["text"]),
    )


def _billed(picked: Mapping[str, Any]) -> int | None:
    uncached, output = picked["input_uncached"], picked["output"]
    if uncached is None or output is None:
        return None
    return int(uncached + (picked["input_cached"] or 0) + (picked["cache_write"] or 0) + output)
