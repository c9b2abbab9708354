"""Uptake: what of a treatment's tools was offered, called, answered and lost, and where the tokens went, from the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sqlmodel import col, select

from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Text
from crucible.report.calls import Calls as Counted
from crucible.report.calls import calls_of, together
from crucible.report.overall import Overall, overall
from crucible.report.terminal import run_view
from crucible.report.token_split import Sizes, mean_split, sizes, split
from crucible.report.use import Offered
from crucible.runner.command import Options, choose, start
from crucible.settings import load_settings
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import AttemptRow, EventRow, RunRow
from crucible.store.traces import ANSWERED, DECIDED, EQUIPPED, REPLIED, Call, Reply, Trace, thinned, traces
from crucible.store.writes import Store
from crucible.transcript.events import Event
from tests.report.telling import IDLE, TOOLS, answered, equipped, refused, replied, started, tell, with_server


def read(store: Store, run_id: int) -> Overall:
    found = overall(store, run_id)
    assert found is not None
    return found


def shown(store: Store, run_id: int) -> str:
    console = Console(width=160, record=True, file=StringIO())
    console.print(run_view(store, run_id), highlight=False)
    return " ".join(console.export_text().split())


# Counting calls


def test_calls_are_counted_by_what_came_of_them() -> None:
    """An error is an answer; a call refused, unknown or unreadable never reached its tool; a repeat fails as before."""
    calls = (
        Call(1, "a", True, 5),
        Call(2, "a", False, 5, arguments="{}"),
        Call(2, "a", False, 5, arguments='{"x": 1}'),
        Call(3, "a", False, 5, arguments="{}"),
        Call(3, "a", False, 5, refused=True, arguments="[]"),
        Call(4, "a", False, 5, read=False, arguments="null"),
        Call(4, "b", True, 5),
    )
    assert Counted(5, 6, 1, 3, 1, 1, 1, 4, 3, 1) == calls_of([call for call in calls if call.tool == "a"], 5)
    every = calls_of(calls, 5)
    assert (7, 2, 5, 4, 2) == (every.called, every.succeeded, every.turns, every.turns_with, every.lost_turns)
    assert 0.8 == every.share
    assert every.called == every.succeeded + every.errors + every.refused + every.unread
    assert (None, None, 0) == (Counted().share, calls_of((), 1).first, Counted().reached)


def test_together_calls_are_summed_and_the_first_use_is_the_median() -> None:
    found = together(
        [Counted(turns=4, called=2, first=9), Counted(turns=6, first=None), Counted(first=1), Counted(first=3)]
    )
    assert (10, 2, 3) == (found.turns, found.called, found.first)
    assert Counted() == together([])


# Where the tokens went


def test_input_is_divided_in_proportion_to_what_was_sent() -> None:
    """Turn 1 sends 100 characters of prompt and 300 of schemas; turn 2 also a reply of 100 and a result of 500."""
    trace = Trace(1, (Reply(1, 400, 20, 100), Reply(2, 1000, 30, 50)), (Call(1, "bash", True, 500),))
    found = split(trace, Sizes(100, 300))
    assert found is not None
    assert (1400, 50) == (found.input, found.output)
    assert (100 + 100, 300 + 300) == (found.prompt, found.schemas)
    assert ({"bash": 500.0}, 500.0, 100.0) == (dict(found.results), found.returned, found.replies)


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**5)), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from("abc"), st.integers(0, 10**5)), max_size=20),
    st.integers(0, 10**5),
)
def test_the_parts_add_up_to_what_the_provider_counted(
    replies: list[tuple[int, int, int]], calls: list[tuple[int, str, int]], start_size: int
) -> None:
    trace = Trace(
        1,
        tuple(Reply(turn, *reply) for turn, reply in enumerate(replies, 1)),
        tuple(Call(turn, tool, True, size) for turn, tool, size in calls),
    )
    found = split(trace, Sizes(start_size, start_size // 2))
    assert found is not None
    parts = found.prompt + found.schemas + found.returned + found.replies
    assert sum(reply[0] for reply in replies) == found.input == pytest.approx(parts)
    assert min(found.prompt, found.schemas, found.returned, found.replies) >= 0


@pytest.mark.parametrize(
    ("trace", "start"),
    [
        (Trace(1, (Reply(1, None, 5, 1),)), Sizes(1, 1)),
        (Trace(1, (Reply(1, 5, 5, 1), Reply(2, 5, None, 1))), Sizes(1, 1)),
        (Trace(1), Sizes(1, 1)),
        (Trace(1, (Reply(1, 5, 5, 1),)), None),
    ],
)
def test_what_is_not_known_is_not_divided(trace: Trace, start: Sizes | None) -> None:
    """No count, no turn, no record of the start: None, and no part in a mean."""
    assert split(trace, start) is None
    known = split(Trace(2, (Reply(1, 8, 2, 1),)), Sizes(1, 1))
    assert (known, 1) == mean_split([None, known])
    assert (None, 0) == mean_split([None])


def test_sizes_are_of_all_messages_and_all_schemas() -> None:
    opening = {
        "messages": [{"role": "system", "content": "abc"}, {"role": "user", "content": "de"}],
        "tools": TOOLS[:1],
    }
    assert Sizes(5, len('{"description":"bash","name":"bash","parameters":{}}')) == sizes(opening)
    assert Sizes(0, 0) == sizes({})


# From the store


def test_a_trace_holds_lengths_in_place_of_texts(store: Store) -> None:
    """Characters as the model was shown them; arguments of failed calls only; whatever the store's database."""
    run_id = with_server(store, 1, 1)
    trace = traces(store, run_id)[1]
    assert [1, 2, 3, 4, 5] == [reply.turn for reply in trace.replies]
    assert {(100, 10, 12)} == {(reply.input, reply.output, reply.said) for reply in trace.replies}
    assert [(100, ""), (14, "{}"), (14, "{}"), (5, ""), (7, "{}"), (16, "null")] == [
        (call.shown, call.arguments) for call in trace.calls
    ]
    assert [True, True, True, True, False, False] == [call.reached for call in trace.calls]
    assert ({"asd": "asd 1.2"}, {"asd": ("asd__find", "asd__read")}) == (trace.servers, trace.offered)
    assert None is traces(store, run_id)[2].offered


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "plain", 'ä "quoted" \n\\ 😀', "x" * 70_000])
def test_an_event_thinned_in_the_store_reads_as_one_that_was_sent_whole(store: Store, text: str) -> None:
    """Another database than SQLite sends whole events; both ways count the same."""
    events: list[Event] = [
        equipped(),
        replied(1, text),
        answered(1, "bash", text=text, arguments={"b": text, "a": [1]}),
        answered(1, "bash", ok=False, text=text, arguments={"b": text, "a": [1]}),
        answered(1, "bash", ok=False, arguments=None),
        refused(1, "c"),
    ]
    run_id = fill_run(store, {"s": {"new": [Filled(True)], "old": [Filled(True)]}}, "old")
    tell(store, 1, events)
    with store.reading() as session:
        rows = session.exec(select(EventRow)).all()
        for thin in (EQUIPPED, REPLIED, ANSWERED, DECIDED):
            mine = (row for row in rows if row.kind == thin.kind)
            whole = [(row.attempt_id, row.turn, *thin.whole(json.loads(row.data))) for row in mine]
            assert whole == [*map(tuple, thinned(session, run_id, thin))] != []


@pytest.mark.slow
def test_a_result_with_binary_in_it_is_not_taken_for_a_short_one(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": [Filled(True)], "old": [Filled(True)]}}, "old")
    tell(store, 1, [answered(1, "bash", text="PK" + "\x00abc" * 1000)])
    (call,) = traces(store, run_id)[1].calls
    assert 4002 <= call.shown <= 10_000


def test_uptake_is_told_of_each_arm_and_each_attempt(store: Store) -> None:
    found = read(store, with_server(store, 7))
    new, old = found.comparisons[0].use
    assert ("new", 7, 10) == (new.arm, new.used, new.of)
    assert [("asd", "asd 1.2", 2, 7)] == [(s.server, s.really, s.tools, s.used) for s in new.servers]
    assert (28, 7, 14, 7) == (new.extra.called, new.extra.succeeded, new.extra.errors, new.extra.unread)
    assert (2, 7 * 3, 7 * 2, 7) == (new.extra.first, new.extra.turns_with, new.extra.lost_turns, new.extra.repeats)
    assert (49 - 7 + 3, 7) == (new.every.called, new.every.refused)
    assert [4] * 7 + [0] * 3 == [attempt.extra.called for attempt in new.attempts]
    assert (0, 10, ()) == (old.used, old.of, old.servers)
    assert (1, 1) == (new.beginnings, old.beginnings)
    assert new.tokens is not None
    assert pytest.approx(new.tokens.input) == (7 * 500 + 3 * 200) / 10
    json.dumps(found.as_dict(), allow_nan=False)


def test_instructions_of_a_server_are_part_of_what_it_costs() -> None:
    assert "asd 1.2: 1 tool, 0.1 KB of schemas and 300 characters of instructions" == (
        Offered("asd", "asd 1.2", 1, 100, 0, instructions=300).text()
    )


def test_tools_that_the_first_request_lacked_are_missed_by_name_and_number(store: Store) -> None:
    """An agent CLI that did not wait for its server asks its model without the tools that set its arm apart."""
    run_id = with_server(store, used=0)
    with store.writing() as session:
        new = select(AttemptRow).where(AttemptRow.run_id == run_id, AttemptRow.arm == "new")
        ids = [row.id or 0 for row in session.exec(new).all()]
        for row in session.exec(select(EventRow).where(col(EventRow.attempt_id).in_(ids[:3]))).all():
            session.delete(row)
    for attempt_id in ids[:3]:
        tell(store, attempt_id, (equipped(), started("old"), *IDLE))
    assert "2 tools, 0.1 KB of schemas; missing from the first request of 3 attempts" in shown(store, run_id)
    (use,) = [one for one in read(store, run_id).comparisons[0].use if one.arm == "new"]
    assert 3 == use.servers[0].absent


def test_the_first_rows_say_what_was_offered_called_and_lost(store: Store) -> None:
    text = shown(store, with_server(store, 7))
    for said in (
        "The arms differ in: extra tools (asd 1.2: 2 tools, 0.1 KB of schemas).",
        "new used its extra tools in 7 of 10 attempts.",
        "extra tools offered asd 1.2: 2 tools, 0.1 KB of schemas none",
        "extra tools used in 7 of 10 attempts: 28 calls, 7 succeeded -",
        "turns with extra tools 51%, first in turn 2 -",
        "lost turns, extra tools 14 of 21 with calls (14 errors, 7 unread, 7 repeats) -",
        "where the tokens went (estimated) new old (baseline)",
        "model output (counted) 41 (9%) 20 (9%)",
    ):
        assert said in text, said
    assert "SELDOM USED" not in text


@pytest.mark.parametrize(("used", "n", "seldom"), [(1, 10, True), (4, 10, True), (5, 10, False), (2, 3, False)])
def test_a_treatment_that_is_seldom_used_is_marked(store: Store, used: int, n: int, *, seldom: bool) -> None:
    """In under half of the attempts; the verdict stands."""
    run_id = with_server(store, used, n)
    assert seldom is (f"SELDOM USED: new used its extra tools in {used} of {n} attempts" in shown(store, run_id))
    assert "not tested" != read(store, run_id).verdict.word


def test_a_treatment_that_nobody_used_was_not_tested(store: Store) -> None:
    """Zero uptake in every attempt, whatever the numbers say."""
    found = read(store, with_server(store, 0))
    assert "Not tested: no attempt of new used its extra tools." == found.verdict.sentence


def test_a_call_that_never_reached_its_server_is_no_use_of_it(store: Store) -> None:
    """A tool that does not exist, and one that a policy refused."""
    run_id = with_server(store, 0, 2)
    missed = [refused(1, "r"), answered(1, "asd__find", ok=False, call_id="r"),
              answered(1, "asd__nope", ok=False, arguments=None)]  # fmt: skip
    for seq, event in enumerate(missed):
        data = event.model_dump_json()
        store.add_events([EventRow(attempt_id=1, seq=50 + seq, kind=event.kind, turn=1, at=0, data=data)])
    said = "Not tested: no attempt of new used its extra tools: of 2 calls none arrived."
    assert said == read(store, run_id).verdict.sentence


def test_servers_of_a_rehearsal_were_not_started(store: Store) -> None:
    """Which is not the same as servers without tools."""
    run_id = with_server(store, 0, 2)
    with store.writing() as session:
        session.get_one(RunRow, run_id).rehearsal = True
        for row in session.exec(select(AttemptRow)):
            row.servers = {}
        for event in session.exec(select(EventRow).where(EventRow.kind.in_(("started", "equipped")))):  # type: ignore[attr-defined]  # a column
            session.delete(event)
    for attempt_id in (1, 2, 3, 4):
        tell(store, attempt_id, (started("old"),))
    text = shown(store, run_id)
    assert "extra tools offered asd: not started none" in text
    assert "0 tools" not in text


def test_attempts_made_before_openings_were_recorded_are_unknown_and_never_alike(store: Store) -> None:
    run_id = fill_run(store, {"s": {"new": [Filled(True)] * 2, "old": [Filled(True)] * 2}}, "old")
    assert 2 == shown(store, run_id).count("unknown: made before this was recorded")
    new, _ = read(store, run_id).comparisons[0].use
    assert (None, None, 0) == (new.beginnings, new.tokens, new.split)
    assert None is read(store, run_id).comparisons[0].differences


# A real run


USAGE = Counts(prompt_tokens=1000, completion_tokens=20)


def looks(request: Mapping[str, Any]) -> Answer:
    turns = sum(message["role"] == "assistant" for message in request["messages"])
    steps: Sequence[Answer] = (
        Calls([("bash", {"command": "ls shelf"}), ("no_such_tool", {})], usage=USAGE),
        Calls([("bash", {"command": "cat shelf/pages.py"})], usage=USAGE),
        Text("Done.", usage=USAGE),
    )
    return steps[min(turns, 2)]


@pytest.mark.slow
def test_a_real_run_tells_where_its_tokens_went(bench: Path) -> None:
    """litellm against a server on loopback; what the provider counted adds up, the split is that of what was sent."""
    with LoopbackServer(looks) as server:
        with (bench / "crucible.toml").open("a") as config:
            config.write(f'[models."openai/tiny"]\napi_base = "{server.base_url}"\n')
        settings = load_settings(bench)
        models = {"careful": "openai/tiny", "baseline": "openai/tiny"}
        asked = Options(names=("first-bug",), blocks=1, seed=1, models=models, judge="facts")
        with Store(bench / "results" / "crucible.db") as store:
            chosen = choose(bench, asked, settings, lambda _: None)
            result = asyncio.run(start(bench, chosen, settings, store, lambda _: None, None))
            found = read(store, result.run_id)
            (comparison,) = found.comparisons
            assert ("The arms differ in: system prompt.",) == comparison.uptake
            for use in comparison.use:
                assert (3, 2, 1, 3) == (use.every.called, use.every.succeeded, use.every.unread, use.every.turns)
                assert use.tokens is not None
                assert (3000, 60) == (use.tokens.input, use.tokens.output)
                assert {"bash", "no_such_tool"} == use.tokens.results.keys()
                assert use.tokens.schemas > use.tokens.prompt > use.tokens.results["bash"] > 0
            assert "lost turns 0 of 2 with calls (1 unread)" in shown(store, result.run_id)
