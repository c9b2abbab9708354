"""Transcripts of attempts, event by event, for stores that are filled with counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlmodel import select

from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, EventRow, FirstRequestRow, ScenarioRow
from crucible.store.writes import Store
from crucible.transcript.events import Answered, Decided, Equipped, Event, Replied, Started
from crucible.transcript.opening import as_text, fingerprint

TOOLS = [{"name": name, "description": name, "parameters": {}} for name in ("bash", "asd__find", "asd__read")]


def replied(turn: int, text: str = "x" * 10, tokens: int | None = 100, output: int | None = 10) -> Replied:
    return Replied(
        at=0, turn=turn, text=text, text_size=len(text), tool_calls=(), input_uncached=tokens, input_cached=None,
        cache_write=None, output=output, reasoning=None, cost_usd=None, raw_usage={}, seconds=0, waited_seconds=0,
    )  # fmt: skip


def answered(turn: int, tool: str, *, ok: bool = True, text: str = "", call_id: str = "c", **more: Any) -> Answered:
    return Answered(
        at=0, turn=turn, call_id=call_id, tool=tool, ok=ok, text=text, text_size=10 * len(text), seconds=0,
        **{"arguments": {}, **more},
    )  # fmt: skip


def refused(turn: int, call_id: str) -> Decided:
    return Decided(at=0, turn=turn, call_id=call_id, policy_id="P", action="block", detail="no")


def equipped() -> Equipped:
    return Equipped(
        at=0, turn=0, servers={"asd": "asd 1.2"}, offered={"asd": ("asd__find", "asd__read")}, agent=None, seconds=1.0
    )


def started(arm: str) -> Started:
    tools = TOOLS if arm == "new" else TOOLS[:1]
    opening = {
        "messages": [{"role": "system", "content": "s" * 60}, {"role": "user", "content": "t" * 40}],
        "tools": tools, "model": "openai/simulated",
    }  # fmt: skip
    names = tuple(str(tool["name"]) for tool in tools)
    sha256 = fingerprint(opening)
    return Started(at=0, turn=0, system_prompt="s", task="t", tools=names, first_request_sha256=sha256, opening=opening)


def tell(store: Store, attempt_id: int, events: Iterable[Event]) -> None:
    for seq, event in enumerate(events):
        if isinstance(event, Started) and event.opening is not None:
            store.ensure(FirstRequestRow(sha256=event.first_request_sha256, data=as_text(event.opening)))
        data = event.model_dump_json()
        store.add_events([EventRow(attempt_id=attempt_id, seq=seq, kind=event.kind, turn=event.turn, at=0, data=data)])


BUSY: tuple[Event, ...] = (
    replied(1),
    answered(1, "bash", text="b" * 100),
    replied(2),
    answered(2, "asd__find", ok=False, text="no such symbol", call_id="f"),
    replied(3),
    answered(3, "asd__find", ok=False, text="no such symbol"),
    replied(4),
    answered(4, "asd__find", text="found", arguments={"name": "x"}),
    refused(4, "w"),
    answered(4, "write_file", ok=False, text="refused", call_id="w"),
    answered(4, "asd__fnid", ok=False, arguments=None, text="There is no tool"),
    replied(5),
)
IDLE: tuple[Event, ...] = (replied(1), answered(1, "bash", text="b"), replied(2))


def with_server(store: Store, used: int, n: int = 10, name: str = "s") -> int:
    """A run whose treated arm has a server that it used in so many attempts."""
    filled = [Filled(i < 6) for i in range(n)]
    run_id = fill_run(store, {name: {"new": filled, "old": filled}}, "old")
    with store.writing() as session:
        scenario = session.get_one(ScenarioRow, f"hash-{name}")
        arm = "- {id: new, model: openai/simulated}"
        scenario.text = scenario.text.replace(arm, "- {id: new, model: openai/simulated, extra_tools: [asd]}")
        attempts = session.exec(select(AttemptRow).where(AttemptRow.run_id == run_id)).all()
        rows = [(row.id or 0, row.arm, row.block) for row in attempts]
        for row in attempts:
            row.servers = {"asd": "asd 1.2"} if row.arm == "new" else {}
    for attempt_id, arm, block in rows:
        brought = (equipped(),) if arm == "new" else ()
        tell(store, attempt_id, (*brought, started(arm), *(BUSY if arm == "new" and block <= used else IDLE)))
    return run_id
