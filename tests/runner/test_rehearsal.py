"""A rehearsal drives the real loop, tools, policies, suite, scoring, judge parsing and store, and is never ranked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crucible.report.comparison import comparisons
from crucible.store import queries
from crucible.store.standings import leaderboard
from crucible.store.writes import Store
from crucible.transcript.events import EVENT, Answered, Decided, Ended, Replied, Started


@pytest.fixture(scope="module")
def store(rehearsed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """That of a rehearsed run."""
    with Store(shutil.copy(rehearsed / "results" / "crucible.db", tmp_path_factory.mktemp("rehearsal"))) as opened:
        yield opened


def records(store: Store) -> dict[str, queries.AttemptRecord]:
    found = {}
    record = queries.run_record(store, 1)
    assert record is not None
    for attempt in record.attempts:
        one = queries.attempt_record(store, attempt.id or 0)
        assert one is not None
        found[attempt.arm] = one
    return found


def test_everything_of_an_attempt_is_stored(store: Store) -> None:
    both = records(store)
    assert {"careful", "baseline"} == set(both)
    for record in both.values():
        attempt = record.attempt
        assert ("finished", "agent", True, True) == (attempt.ending, attempt.cause, attempt.counted, attempt.passed)
        assert (1.0, 1.0) == (attempt.similarity, attempt.size_ratio)
        assert "+    return list(items[start : start + size])" in (attempt.diff or "")
        assert record.report is not None
        assert (["tests.test_pages::test_first_page_is_full"], []) == (record.report.fixed, record.report.broke)
        assert {"correctness", "minimality", "efficiency"} == {score.dimension for score in record.scores}
        assert record.total is not None
        assert record.total.value is not None


def test_the_transcript_answers_every_call_once_and_ends(store: Store) -> None:
    for record in records(store).values():
        events = [EVENT.validate_json(row.data) for row in record.events]
        assert isinstance(events[0], Started)
        assert isinstance(events[-1], Ended)
        assert max(e.at for e in events) == events[-1].at, "also after what is found out later of an earlier call"
        asked = [call["id"] for e in events if isinstance(e, Replied) for call in e.tool_calls]
        assert asked == [e.call_id for e in events if isinstance(e, Answered)]
        assert list(range(len(events))) == [row.seq for row in record.events]


def test_a_refused_write_names_the_policy_and_changes_nothing(store: Store) -> None:
    record = records(store)["baseline"]
    events = [EVENT.validate_json(row.data) for row in record.events]
    (decision,) = [e for e in events if isinstance(e, Decided)]
    (answer,) = [e for e in events if isinstance(e, Answered) and e.call_id == decision.call_id]
    assert ("P1", "block") == (decision.policy_id, decision.action)
    assert "Refused by policy P1: Do not modify any file under tests/." in answer.text
    assert ["shelf/pages.py"] == [file.path for file in record.files]
    assert 1 == record.attempt.blocked


def test_a_judge_reply_that_cannot_be_read_is_kept_and_asked_for_again(store: Store) -> None:
    record = records(store)["baseline"]
    replies = [(j.asking, j.error is None) for j in record.judgements if j.dimension == "correctness"]
    assert [(1, False), (2, True)] == replies
    assert 1.0 == next(s.value for s in record.scores if s.dimension == "correctness")


def test_a_rehearsal_is_marked_and_never_ranked(store: Store) -> None:
    (comparison,) = comparisons(store, 1)
    assert comparison.rehearsal
    assert {"scripted"} == {arm.model for arm in comparison.arms}
    assert [] == leaderboard(store)
