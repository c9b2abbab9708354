"""The page of two attempts side by side: what it says first, what it links to, how long attempts are paged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.filling import Filled, fill_run
from crucible.store.queries import run_record
from crucible.store.tables import AttemptRow, EventRow
from crucible.store.tables import TestReportRow as SuiteRow  # pytest takes Test* for a class of tests
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
    assert "ran no tests that are known as such" == moments["First green"][1]["moment"]["why_not"]


def test_two_that_edit_a_file_otherwise_part_there_and_what_they_write_is_shown(
    store: Store, client: TestClient
) -> None:
    one, other = (("edit_file", EDIT[1] | {"old": "x = 0\ny = 1", "new": f"x = 0\ny = {n}"}) for n in (2, 3))
    tell(store, 1, READ, one, GREEN)
    tell(store, 2, READ, other, GREEN)
    said = client.get("/compare/1/2.json").json()
    assert (
        "They part after 1 turn of the same calls: at turn 2 of A and turn 2 of B both edit_file a.py, "
        "but what they write there is not the same." == said["sentence"]
    )
    moments = {one["name"]: one for one in said["moments"]}
    assert ["y = 2", "y = 3"] == [side["moment"]["wrote"] for side in moments["First different edit"]["sides"]]
    page = client.get("/compare/1/2").text
    assert "different edit</span>" in page
    assert "They part here · First different edit" in page


def test_moments_that_are_the_same_turns_are_one_row(store: Store, client: TestClient) -> None:
    tell(store, 1, READ, EDIT)
    tell(store, 2, READ, ("bash", {"command": "ls"}, 0))
    moments = {one["name"]: one["same_as"] for one in client.get("/compare/1/2.json").json()["moments"]}
    assert (None, "First difference", None) == tuple(
        moments[name] for name in ("First difference", "They part", "First different edit")
    )
    # The heads of both columns and three rows: difference and parting, edits, green.
    assert 5 == client.get("/compare/1/2").text.partition('class="moments"')[2].partition("</table>")[0].count("<tr>")


def test_what_came_of_both_stands_above_the_turns(store: Store, client: TestClient) -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n" + "".join(f"+{n}\n" for n in range(2_000))
    result = {"exit_code": 1, "seconds": 1.0, "fixed": [], "broke": [], "detail": "", "output": ""}
    for attempt, failed, state in ((3, [], "green"), (4, [f"t::{n}" for n in range(6)], "red")):
        with store.writing() as session:
            session.get_one(AttemptRow, attempt).diff = diff
        store.add(SuiteRow(attempt_id=attempt, passed=["t::ok"], failed=failed, missing=[], state=state, **result))
    page = client.get("/compare/3/4")
    assert "6 of 7 tests fail" in page.text
    assert ("t::3</code>" in page.text, "t::4</code>" in page.text, "and 2 more" in page.text) == (True, False, True)
    assert "the same to the letter, +2,001 \N{MINUS SIGN}1" in page.text
    assert len(page.content) < 60_000


@pytest.mark.parametrize("pair", [(3, 4), (4, 3)])
def test_colours_and_differences_belong_to_arms_wherever_they_stand(
    store: Store, client: TestClient, pair: tuple[int, int]
) -> None:
    tell(store, 3, EDIT, EDIT)
    page, said = client.get("/compare/{}/{}".format(*pair)).text, client.get("/compare/{}/{}.json".format(*pair)).json()
    assert {"better": "arm-t", "baseline": "arm-b"} == {one["arm"]: one["drawn"] for one in said["sides"]}
    assert "better \N{MINUS SIGN} baseline" in page
    assert '<td class="num">+2</td></tr>' in page


def test_of_one_arm_twice_the_place_decides(client: TestClient) -> None:
    said = client.get("/compare/3/3.json").json()
    assert (["arm-t", "arm-b"], "B \N{MINUS SIGN} A") == (
        [one["drawn"] for one in said["sides"]],
        said["minus"]["name"],
    )


@pytest.mark.slow
def test_blocks_lead_to_the_next_with_the_arms_where_they_are(store: Store, client: TestClient) -> None:
    arm = [Filled(True), Filled(False), Filled(None, cause="provider")]
    run = fill_run(store, {"s": {"better": arm, "baseline": arm}}, "baseline")
    made = {(row.block, row.arm): row.id for row in run_record(store, run).attempts}  # type: ignore[union-attr] # just made
    one, two, three = ([made[block, arm] for arm in ("baseline", "better")] for block in (1, 2, 3))
    said = client.get(f"/compare/{two[0]}/{two[1]}.json").json()
    assert (one, three) == (said["previous_block"], said["next_block"])
    assert f'rel="next" href="/compare/{three[0]}/{three[1]}"' in client.get(f"/compare/{two[0]}/{two[1]}").text
    across = client.get(f"/compare/{one[0]}/{two[1]}.json").json()
    assert (None, None) == (across["previous_block"], across["next_block"])


def test_a_turn_leads_to_itself_in_its_attempt(store: Store, client: TestClient) -> None:
    tell(store, 1, READ, EDIT)
    page = client.get("/compare/1/4").text
    assert 'href="/attempts/1?turn=2#turn-2"' in page
    assert 'id="turn-2"' in client.get("/attempts/1?turn=2").text


def test_both_pages_say_alike_how_a_call_went(store: Store, client: TestClient) -> None:
    tell(store, 1, ("bash", {"command": "sed -i s/a/b/ tests/t.py"}, 4))
    decided = Decided(at=1.4, turn=1, call_id="c1", policy_id="P1", action="block", detail="held read-only")
    store.add_events([EventRow(attempt_id=1, seq=10, kind="decided", turn=1, at=1.4, data=decided.model_dump_json())])
    for page in ("/compare/1/4", "/attempts/1"):
        assert "⊘ refused by P1, exit code 4</span>" in client.get(page).text
        assert "✓ exit code" not in client.get(page).text


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


@pytest.mark.slow
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
