"""The page of two attempts side by side: what it says first, what it links to, how long attempts are paged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import EventRow
from crucible.store.turns import texts_of, turns_of
from crucible.store.writes import Store
from crucible.transcript.events import Answered, Decided, Event, Replied
from crucible.web.app import make_app
from crucible.web.pages.side_by_side import ROWS_A_PAGE

READ: tuple[str, dict[str, Any]] = ("read_file", {"path": "a.py"})
EDIT: tuple[str, dict[str, Any]] = ("edit_file", {"path": "a.py", "old": "1", "new": "2"})
RED: tuple[str, dict[str, Any], int] = ("bash", {"command": "pytest -q"}, 1)
GREEN: tuple[str, dict[str, Any], int] = ("bash", {"command": "pytest -q"}, 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two attempts on one scenario (1 and 2), two on another (3 and 4), none with events yet."""
    with Store(tmp_path / "store.db") as made:
        one = {"better": [Filled(True)], "baseline": [Filled(None, cause="provider")]}
        fill_run(made, {"first": one, "second": {"better": [Filled(True)], "baseline": [Filled(False)]}}, "baseline")
        yield made


@pytest.fixture
def client(store: Store, tmp_path: Path) -> TestClient:
    """The site over it."""
    return TestClient(make_app(store, tmp_path, Settings()), base_url="http://127.0.0.1")


def tell(store: Store, attempt: int, *calls: Sequence[Any], text: str = "done") -> None:
    """Store one turn for each call: the tool, its arguments, and its exit code if it has one."""
    events: list[Event] = []
    for turn, (tool, arguments, *code) in enumerate(calls, 1):
        events.append(
            Replied(
                at=turn,
                turn=turn,
                text=f"turn {turn}",
                text_size=6,
                tool_calls=(),
                input_uncached=90,
                input_cached=None,
                cache_write=None,
                output=10,
                reasoning=None,
                cost_usd=None,
                raw_usage={},
                seconds=0.5,
                waited_seconds=0.0,
            )
        )
        events.append(
            Answered(at=turn + 0.5, turn=turn, call_id=f"c{turn}", tool=tool, arguments=arguments, ok=True, text=text,
                     text_size=len(text), seconds=0.1, exit_code=code[0] if code else None)
        )  # fmt: skip
    store.add_events(
        EventRow(attempt_id=attempt, seq=n, kind=e.kind, turn=e.turn, at=e.at, data=e.model_dump_json())
        for n, e in enumerate(events)
    )


def test_the_first_sentence_says_where_they_part(store: Store, client: TestClient) -> None:
    tell(store, 1, RED, READ, EDIT, GREEN)
    tell(store, 2, RED, READ, ("bash", {"command": "ls"}, 0))
    said = client.get("/compare/1/2.json").json()
    assert (
        "They part after 2 turns of the same calls: A at turn 3: edit_file a.py; B at turn 3: bash ls."
        == said["sentence"]
    )


def test_moments_say_what_it_took_to_get_there(store: Store, client: TestClient) -> None:
    tell(store, 1, RED, EDIT, GREEN)
    tell(store, 2, READ)
    moments = {one["name"]: one["sides"] for one in client.get("/compare/1/2.json").json()["moments"]}
    edit, green = moments["First edit"][0]["moment"], moments["First green"][0]["moment"]
    assert (2, 200, 2.5) == (edit["turn"], edit["tokens"], edit["seconds"])
    assert (3, 300, 3.5) == (green["turn"], green["tokens"], green["seconds"])
    assert "unknown: it ran no tests that are known as such" == moments["First green"][1]["moment"]["why_not"]


def test_an_attempt_beside_itself_is_said_to_be_the_same(store: Store, client: TestClient) -> None:
    tell(store, 1, RED, READ, EDIT, GREEN)
    said = client.get("/compare/1/1.json").json()
    assert "They made the same calls from beginning to end." == said["sentence"]
    assert (4, 0) == (said["counts"]["equal"], said["counts"]["apart"])
    assert "4 turns of the same calls" in client.get("/compare/1/1").text


def test_attempts_of_two_scenarios_and_one_that_does_not_count_are_marked(client: TestClient) -> None:
    page = client.get("/compare/1/4").text
    assert "Two different scenarios: A is first, B is second." in page
    assert "does not count (provider)" in client.get("/compare/1/2").text


def test_attempts_without_a_turn_have_nothing_to_align(client: TestClient) -> None:
    page = client.get("/compare/1/2")
    assert 200 == page.status_code
    assert "There is nothing to align: neither has a turn." in page.text


def test_long_attempts_come_by_the_page_and_links_find_the_right_one(store: Store, client: TestClient) -> None:
    calls = [("bash", {"command": f"cat {n}"}, 0) for n in range(2 * ROWS_A_PAGE + 5)]
    tell(store, 1, *calls, EDIT)
    tell(store, 2, *calls)
    first, last = client.get("/compare/1/2").text, client.get("/compare/1/2?page=3").text
    assert f'href="/compare/1/2?page=3#r{2 * ROWS_A_PAGE + 5}"' in first
    assert f'id="r{2 * ROWS_A_PAGE + 5}"' not in first
    assert f'id="r{2 * ROWS_A_PAGE + 5}"' in last
    assert "They part here" in last
    assert last == client.get("/compare/1/2?page=99").text.replace("page=99", "page=3")


@pytest.mark.parametrize(
    "path", ["/compare/1/99", "/compare/99/1", "/compare/x/1", f"/compare/1/{10**30}", "/compare/-1/1"]
)
def test_an_unknown_attempt_is_a_page_that_says_so(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert 404 == answer.status_code
    assert "there is no attempt" in answer.text


def test_only_the_page_shown_reads_results_and_no_long_text_travels(store: Store, client: TestClient) -> None:
    tell(store, 1, ("bash", {"command": "x" * 5_000}, 0), text="y" * 1_000_000)
    tell(store, 2, READ)
    page = client.get("/compare/1/2")
    assert len(page.content) < 30_000
    assert "999,700 characters more" in page.text


def test_a_refused_call_names_the_policy(store: Store) -> None:
    tell(store, 1, EDIT)
    refused = Answered(
        at=3, turn=2, call_id="r", tool="bash", arguments=None, ok=False, text="no", text_size=2, seconds=0
    )
    decided = Decided(at=3, turn=2, call_id="r", policy_id="P1", action="block", detail="")
    store.add_events(
        EventRow(attempt_id=1, seq=n, kind=e.kind, turn=2, at=3, data=e.model_dump_json())
        for n, e in enumerate((decided, refused), 10)
    )
    edit, refusal = turns_of(store, 1)
    assert (100, None) == (edit.tokens, edit.steps[0].refused)
    assert ("P1", None) == (refusal.steps[0].refused, refusal.steps[0].arguments)
    assert {11: "no"} == texts_of(store, 1, [11])
