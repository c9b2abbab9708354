"""What reports read of every event of a run: it lies in an index, reads the same without it, and old stores get it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as listen
from sqlmodel import Session, select

from crucible.store.filling import Filled, fill_run
from crucible.store.looks import complete_pairs
from crucible.store.measures import run_measures
from crucible.store.openings import openings
from crucible.store.queries import run_record
from crucible.store.tables import EventRow
from crucible.store.traces import ANSWERED, DECIDED, EQUIPPED, REPLIED, thinned, traces
from crucible.store.writes import Store
from tests.store.test_store import attempt, planned, run, scenario, take_down

ALL = (EQUIPPED, REPLIED, ANSWERED, DECIDED)
EVENTS: list[dict[str, Any]] = [
    {"kind": "equipped", "offered": {"asd": ["asd__find"]}},
    {"kind": "started", "system_prompt": "s", "task": "t", "tools": ["bash"], "first_request_sha256": "f"},
    {"kind": "replied", "text": "ä\n", "tool_calls": [{"id": "c"}], "input_uncached": 9, "output": None},
    {"kind": "decided", "call_id": "c", "action": "block"},
    {"kind": "answered", "call_id": "c", "tool": "bash", "ok": False, "arguments": {"b": [1.5, None], "a": "\0"}, "text": "x"},
    {"kind": "answered", "call_id": "d", "tool": 'a"b', "ok": True, "arguments": {"a": 1}, "text": 'y "\\'},
    {"kind": "answered", "call_id": "e", "tool": "bash", "ok": False, "arguments": None, "text": ""},
    {"kind": "ended", "ending": "finished"},
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        fill_run(opened, {"s": {"new": [Filled(True)] * 2, "old": [Filled(False)] * 2}}, "old")
        opened.add_events(row(number, seq, told) for number in (2, 1, 3) for seq, told in enumerate(EVENTS))
        yield opened


def row(number: int, seq: int, told: dict[str, Any]) -> EventRow:
    return EventRow(attempt_id=number, seq=seq, kind=told["kind"], turn=seq, at=seq, data=json.dumps(told))


def read(session: Session) -> list[tuple[Any, ...]]:
    return [told for thin in ALL for told in thinned(session, 1, thin)]


@pytest.mark.skipif(
    sqlite3.sqlite_version_info < (3, 40), reason="older ones look into the event for what the index has"
)
def test_no_event_is_parsed_for_a_report(store: Store) -> None:
    """SQLite's own plan of every query: rows in the order of the index, no function called, nothing sorted."""
    seen: list[tuple[str, Any]] = []
    listen.listen(
        store.engine, "before_cursor_execute", lambda _c, _cursor, text, given, *_: seen.append((text, given))
    )
    with store.reading() as session:
        read(session)
    queries = [(text, given) for text, given in seen if text.startswith("SELECT")]
    assert len(ALL) == len(queries)
    with sqlite3.connect(store.where) as raw:
        for text, given in queries:
            steps = {step[1] for step in raw.execute(f"EXPLAIN {text}", given)}
            assert not steps & {"Function", "PureFunc", "SorterOpen"}
            assert any("event_thin" in step[3] for step in raw.execute(f"EXPLAIN QUERY PLAN {text}", given))


def test_what_the_index_has_is_what_the_events_say(store: Store) -> None:
    with store.reading() as session:
        indexed = read(session)
        rows = session.exec(select(EventRow).order_by(EventRow.attempt_id, EventRow.seq)).all()  # type: ignore[arg-type] # columns
    whole = [
        (r.attempt_id, r.turn, *thin.whole(json.loads(r.data))) for thin in ALL for r in rows if r.kind == thin.kind
    ]
    assert whole == indexed
    (first, second, third) = traces(store, 1)[1].calls
    assert ("bash", True, '{"a": "\\u0000", "b": [1.5, null]}', True) == (
        first.tool, first.refused, first.arguments, first.read,
    )  # fmt: skip
    assert ('a"b', 4, "", True) == (second.tool, second.shown, second.arguments, second.read)
    assert ("null", False) == (third.arguments, third.read)


def test_an_old_store_reads_the_same_with_the_index_it_gets(store: Store) -> None:
    before = traces(store, 1), openings(store, 1)
    take_down(store, "0004")
    with store.reading() as session:
        unindexed = read(session)
    with Store(store.where) as again, again.reading() as session:
        assert unindexed == read(session)
        assert before == (traces(again, 1), openings(again, 1))
        assert 1 == len(session.connection().exec_driver_sql("PRAGMA index_info(event_thin)").all()[:1])


def test_events_of_other_kinds_need_not_be_json(store: Store) -> None:
    store.add_events([EventRow(attempt_id=1, seq=50, kind="noted", turn=0, at=0, data="not JSON")])
    assert 3 == len(traces(store, 1)[1].calls)


def test_pairs_are_of_the_attempts_that_stand_up_to_the_first_block_that_is_not_complete(tmp_path: Path) -> None:
    """Block 1 was made again, block 3 lacks an attempt that counts, block 4 is not looked at."""
    ended = [  # arm, block, counted, passed
        ("b", 2, True, True), ("a", 1, False, True), ("b", 1, True, True), ("a", 1, True, False), ("a", 2, True, True),
        ("a", 3, True, True), ("b", 3, False, True), ("a", 4, True, True), ("b", 4, True, True),
    ]  # fmt: skip
    with Store(tmp_path / "store.db") as store:
        store.ensure(scenario())
        places = [(arm, block) for block in (4, 2, 1, 3) for arm in "ba"]
        run_id = store.create_run(run(), [planned(n, *place) for n, place in enumerate(places)])
        for arm, block, counted, passed in ended:
            made = store.start_attempt(attempt(run_id, arm, block))
            store.finish_attempt(made, {"ending": "finished", "counted": counted, "passed": passed})
        for record in (run_measures(store, run_id), run_record(store, run_id)):
            assert record is not None
            assert [(False, True), (True, True)] == complete_pairs(record, "hash-s")
            assert [] == complete_pairs(record, "hash-other")
