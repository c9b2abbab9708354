"""Pages over HTTP: each says what the command line says, in HTML and JSON, and what is not there is a page that says so."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select
from starlette.testclient import TestClient

from crucible.report.overall import overall
from crucible.report.plain import PlainTable, plain_parts
from crucible.report.terminal import beside, marks, parts
from crucible.settings import Settings
from crucible.store.filling import JUDGE, Filled, fill_run
from crucible.store.queries import attempt_row
from crucible.store.tables import AttemptRow, RunRow, ScenarioRow, TotalRow
from crucible.store.writes import Store, now
from crucible.web.app import make_app
from crucible.web.changes import diff_lines, quoted_at
from crucible.web.pages.run import pulses
from crucible.web.site import Site
from crucible.web.visible import UNKNOWN, short_lines, visible
from tests.web.conftest import ADDRESS, LONG_TURNS, Kept

ADDRESSES = (
    *(
        "/",
        "/?view=overall",
        "/?scenario=refund&sort=cost&dir=down",
        "/scenarios",
        "/scenarios/first-bug",
        "/scenarios/refund",
    ),
    *(
        "/runs",
        "/runs?q=refund&show=real",
        "/runs?show=rehearsals",
        "/runs/1",
        "/runs/1/comparison",
        "/runs/2/comparison",
    ),
    *("/runs/3/comparison", "/runs/4/comparison?sort=score&show=red", "/attempts/1", "/attempts/4", "/attempts/5"),
)


def text_of(html: str) -> str:
    """What a reader sees, in one line."""
    bare = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style).*?</\1>", " ", html))
    return " ".join(unescape(bare).split())


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_answers_as_html_and_as_json(site: TestClient, address: str) -> None:
    path, _, query = address.partition("?")
    page, data = site.get(address), site.get(f"{'/index' if path == '/' else path}.json?{query}")
    assert (200, "text/html; charset=utf-8") == (page.status_code, page.headers["content-type"])
    assert (200, "application/json") == (data.status_code, data.headers["content-type"])
    assert json.loads(data.text)


@pytest.mark.parametrize("address", [*ADDRESSES, "/nothing"])
def test_no_page_holds_script_style_or_handlers_of_its_own(site: TestClient, address: str) -> None:
    answer = site.get(address)
    assert [] == re.findall(
        r"<script(?! src=\"/static/)|<style|\sstyle=|\son[a-z]+=|javascript:|http://|https://", answer.text
    )
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "nosniff" == answer.headers["x-content-type-options"]


@pytest.mark.parametrize("run", ["rehearsal", "better", "incomplete", "several"])
def test_the_comparison_says_everything_that_the_terminal_says(site: TestClient, filled: Kept, run: str) -> None:
    number = getattr(filled, run)
    found = overall(filled.store, number)
    assert found is not None
    said = text_of(site.get(f"/runs/{number}/comparison").text)
    wanted = [*marks(found), found.verdict.sentence]
    for part in plain_parts(parts(found, beside(filled.store, found))):
        if part.key not in ("attempts", "verdict"):
            for one in part.content:
                wanted += (
                    [cell for row in one.rows for cell in row if cell != "-"] if isinstance(one, PlainTable) else [one]
                )
    assert [] == [one for one in wanted if " ".join(one.split()) not in said]


def test_the_verdict_comes_before_any_number(site: TestClient, filled: Kept) -> None:
    said = text_of(site.get(f"/runs/{filled.better}/comparison").text)
    assert said.index("search is better than plain on this scenario") < said.index("Suite green")


def test_an_attempt_that_does_not_count_is_listed_with_its_cause(site: TestClient, filled: Kept) -> None:
    data = site.get(f"/runs/{filled.incomplete}/comparison.json").json()
    assert [("search", "provider", None)] == [(one["arm"], one["cause"], one["again"]) for one in data["lost"]]
    page = text_of(site.get(f"/attempts/{data['lost'][0]['attempt']}").text)
    assert "Not counted , for either arm: the model's provider ended it" in page


def test_an_attempt_that_was_made_again_is_still_listed(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(None, cause="harness")], "b": [Filled(True)]}}, "b")
        row = {"run_id": run, "scenario_hash": "hash-s", "scenario": "s", "arm": "a", "block": 1, "baseline": False}
        again = store.start_attempt(
            AttemptRow(**row, retry=0, model="m", rehearsal=False, sandbox="overlay", started_at=now())
        )
        store.finish_attempt(again, {"ending": "finished", "cause": "agent", "counted": True, "passed": True})
        (lost,) = client(store, tmp_path).get(f"/runs/{run}/comparison.json").json()["lost"]
    assert ("harness", again) == (lost["cause"], lost["again"])


def test_a_comparison_that_was_read_before_shows_what_came_since(tmp_path: Path) -> None:
    """An attempt that starts, its end, and its judging."""
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True, 0.5)], "b": [Filled(True, 0.5)]}}, "b", blocks=2)
        site = client(store, tmp_path)

        def seen() -> tuple[str, int, int]:
            data = site.get(f"/runs/{run}/comparison.json?arm=a").json()
            states = [attempt["state"] for attempt in data["attempts"] if attempt["block"] == 2]
            return states[0], data["arms"][0]["counted"], data["arms"][0]["scored"]

        assert ("open", 1, 1) == seen() == seen()
        again = _begin(store, run, block=2)
        assert ("unfinished", 1, 1) == seen()
        store.finish_attempt(again, {"ending": "finished", "cause": "agent", "counted": True, "passed": True})
        assert ("green", 2, 1) == seen()
        total = TotalRow(attempt_id=again, judge_id=JUDGE, seq=0, value=1.0, partial=1.0, weight_scored=1.0, missing=[])
        store.add_judging(again, JUDGE, (), (), total)
        assert ("green", 2, 2) == seen() == seen()


def test_a_rehearsal_is_labelled_on_its_pages_and_never_ranked(site: TestClient, filled: Kept) -> None:
    for address in ("/runs?show=rehearsals", "/runs/1", "/runs/1/comparison", "/attempts/1"):
        assert "rehearsal" in text_of(site.get(address).text).lower()
    board = site.get("/index.json").json()
    assert "first-bug" not in board["scenarios"]
    assert ["cache", "export", "long", "refund"] == board["scenarios"]


def test_what_is_not_known_is_a_dash_with_its_reason(site: TestClient) -> None:
    page = site.get("/attempts/1").text
    assert f'title="no model was paid">{UNKNOWN}' in page
    assert "$0.0000" not in page


def test_filters_are_kept_by_the_links_of_a_page(site: TestClient) -> None:
    page = unescape(site.get("/?scenario=refund&sort=arm").text)
    assert 'href="/?scenario=refund&sort=cost"' in page
    assert 'href="/?scenario=refund&sort=arm&dir=down"' in page
    assert 'aria-sort="ascending"' in page


@pytest.mark.parametrize(("direction", "expected"), [("up", True), ("down", False)])
def test_attempts_are_sorted_on_the_server_and_the_unknown_come_last(
    site: TestClient, filled: Kept, direction: str, expected: bool
) -> None:
    rows = site.get(f"/runs/{filled.incomplete}/comparison.json?sort=score&dir={direction}").json()["attempts"]
    scores = [row["total"] for row in rows]
    known = [score for score in scores if score is not None]
    assert sorted(known, reverse=not expected) == known
    assert scores[: len(known)] == known


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/runs/99", "there is no run 99 in this store"),
        ("/runs/99/comparison", "there is no run 99 in this store"),
        ("/attempts/99999", "there is no attempt 99999 in this store"),
        ("/attempts/x%3Cb%3E", "there is no attempt 'x<b>' in this store"),
        (f"/runs/{10**30}", "there is no run"),
        ("/scenarios/first-bog", "did you mean 'first-bug'?"),
        ("/?scenario=refind", "did you mean 'refund'?"),
        ("/nothing", "there is no such page"),
    ],
)
def test_what_does_not_exist_is_a_page_that_says_so(site: TestClient, address: str, says: str) -> None:
    answer = site.get(address)
    assert 404 == answer.status_code
    assert says in text_of(answer.text)


def test_an_error_is_json_where_json_was_asked_for(site: TestClient) -> None:
    answer = site.get("/runs/99.json")
    assert (404, ["there is no run 99 in this store"]) == (answer.status_code, answer.json()["error"])


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "page=999999999999999999999", "sort=x&dir=x", "show=x&page=²"]
)
def test_a_mistyped_query_still_opens_the_page(site: TestClient, query: str) -> None:
    for path in ("/", "/runs", "/runs/2/comparison"):
        assert 200 == site.get(f"{path}?{query}").status_code
    assert 200 == site.get(f"/attempts/5?turn={query.partition('=')[2]}").status_code


def test_a_site_is_only_asked_for_under_its_own_name(site: TestClient) -> None:
    """Another site's name that was made to point here (DNS rebinding) reads nothing."""
    assert 421 == site.get("/", headers={"Host": "evil.example"}).status_code
    assert 421 == site.get("/", headers={"Host": "127.0.0.1.evil.example:80"}).status_code
    for name in ("localhost:8321", "127.0.0.1:8321", "[::1]:8321", "[::1]", "LOCALHOST"):
        assert 200 == site.get("/runs", headers={"Host": name}).status_code


def test_every_page_answers_whoever_only_asks_for_its_head(site: TestClient) -> None:
    for path in ("/", "/runs", "/runs/1/comparison", "/attempts/1", "/attempts/1.json", "/review"):
        assert 200 == site.head(path).status_code, path
    assert 404 == site.head("/runs/999").status_code


def test_a_read_only_site_takes_no_form_and_a_writable_one_only_its_own(site: TestClient, filled: Kept) -> None:
    assert 403 == site.post("/review", headers={"Origin": ADDRESS}).status_code
    writable = client(filled.store, filled.bench, read_only=False)
    for origin in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": f"{ADDRESS}.evil.example"}):
        assert 403 == writable.post("/review", headers=origin).status_code
    assert 405 == writable.put("/review").status_code


def test_runs_are_listed_by_the_page_and_a_page_too_far_is_the_last(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        for _ in range(30):
            fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b")
        site = client(store, tmp_path)
        first, second, beyond = (site.get(f"/runs.json?page={n}").json() for n in (1, 2, 7))
    assert [list(range(30, 5, -1)), list(range(5, 0, -1))] == [[r["run"] for r in p["runs"]] for p in (first, second)]
    assert second == beyond
    assert 2 == first["pages"]


def test_an_empty_store_says_what_to_do_first(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        site = client(store, tmp_path)
        assert "crucible run SCENARIO --rehearse" in text_of(site.get("/runs").text)
        assert "No real attempt is stored" in text_of(site.get("/").text)
        assert "crucible new NAME" in text_of(site.get("/scenarios").text)


def test_what_is_not_known_of_an_attempt_has_the_reason_that_is_true_of_it(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(None, cause="provider")]}}, "b")
        judged, lost = (text_of(client(store, tmp_path).get(f"/attempts/{n}").text) for n in (1, 2))
        running = store.start_attempt(_unlike(attempt_row(store, 1)))
        page = text_of(client(store, tmp_path).get(f"/attempts/{running}").text)
    assert f"Cost {UNKNOWN} (no price is known) Time {UNKNOWN} (it did not get that far)" in judged
    assert f"Score {UNKNOWN} (an attempt that does not count is not scored)" in lost
    assert f"Time {UNKNOWN} (it did not get that far)" in lost
    for name in ("Score", "Like the reference", "Turns", "Tool calls", "Tokens", "Cost", "Time"):
        assert f"{name} {UNKNOWN} (it did not end yet)" in page


def _unlike(made: AttemptRow) -> AttemptRow:
    """The same attempt once more, without an ending."""
    kept = (
        "run_id",
        "scenario_hash",
        "scenario",
        "arm",
        "block",
        "baseline",
        "model",
        "rehearsal",
        "sandbox",
        "started_at",
    )
    return AttemptRow(**made.model_dump(include=set(kept)), retry=made.retry + 1)


def test_an_attempt_is_shown_by_pages_of_turns(site: TestClient, filled: Kept) -> None:
    first, last = (site.get(f"/attempts/{filled.long}?turn={turn}") for turn in (1, LONG_TURNS))
    assert "This is turn 20 speaking." in first.text
    assert "This is turn 21 speaking." not in first.text
    assert f"This is turn {LONG_TURNS} speaking." in last.text
    assert len(first.content) < LONG_TURNS * 9_000 / 2
    assert LONG_TURNS == len(site.get(f"/attempts/{filled.long}.json").json()["bars"]["turns"])


def test_a_turn_alone_is_shown_uncut(site: TestClient, filled: Kept) -> None:
    result = "result 7: " + "x" * 9_000
    among = site.get(f"/attempts/{filled.long}?turn=7").text
    assert '7,010 characters more; <a href="?turn=7&amp;full=1#turn-7">all of the turn</a>' in among
    assert result not in among
    alone = site.get(f"/attempts/{filled.long}?turn=7&full=1").text
    assert result in alone
    assert "This is turn 8 speaking." not in alone


def test_a_refused_call_shows_the_policy_that_refused_it(site: TestClient, filled: Kept) -> None:
    said = text_of(site.get(f"/attempts/{filled.long}?turn=7").text)
    assert "⊘ refused by policy P1: tests are not to be changed" in said


def test_an_attempt_names_itself_and_leads_to_those_around_it(site: TestClient) -> None:
    """The rehearsal's four attempts are two blocks of two arms."""
    data, page = site.get("/attempts/3.json").json(), site.get("/attempts/3").text
    attempt, (near,) = data["attempt"], data["beside"]
    assert f"<title>Attempt 3: {attempt['arm']} on first-bug, block 2 · Crucible</title>" in page
    assert (2, 4, 4) == (data["previous"], data["next"], near["attempt"])
    assert ('rel="prev" href="/attempts/2"' in page, 'rel="next" href="/attempts/4"' in page) == (True, True)
    assert 'href="/compare/3/4">beside attempt 4</a>' in page
    assert 'href="/runs" aria-current="page"' in page


def test_keys_turn_the_pages_of_a_long_attempt_and_leave_it_by_link_alone(site: TestClient, filled: Kept) -> None:
    page = site.get(f"/attempts/{filled.long}?turn=21").text
    ways = [href.partition("#")[0] for href in re.findall(r'rel="(?:prev|next)" href="([^"]*)"', page)]
    assert {"?turn=1", "?turn=41"} == set(ways)
    assert f'href="/attempts/{filled.long + 1}"' in page


def test_evidence_leads_to_the_lines_it_quotes(site: TestClient, filled: Kept) -> None:
    """Every link of a quotation leads to something that is on the page it opens."""
    found = 0
    for attempt in range(1, 5):
        for link in re.findall(r'<blockquote><a href="([^"]*)"', site.get(f"/attempts/{attempt}").text):
            path, _, anchor = unescape(link).partition("#")
            assert f'id="{anchor}"' in site.get(f"/attempts/{attempt}{path}").text
            found += 1
    assert found


def test_a_store_that_cannot_be_read_is_a_page_that_says_what_to_do(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        site = client(store, tmp_path)
        with store.writing() as session:
            session.connection().exec_driver_sql("ALTER TABLE run RENAME TO gone")
        answer = site.get("/runs")
    assert 503 == answer.status_code
    assert "load the page again" in answer.text


def test_the_stream_of_a_run_tells_of_news_and_ends_with_it(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b", status="running")
        site = Site(store, tmp_path, Settings())
        steps: Iterator[object] = iter([lambda: _begin(store, run), lambda: store.set_run_status(run, "done")])

        async def gone() -> bool:
            if (step := next(steps, None)) is not None:
                step()  # type: ignore[operator] # one of the two above
            return False

        async def listen() -> list[str]:
            return [said.split("\n")[0] async for said in pulses(site, run, gone)]

        heard = asyncio.run(listen())
    assert ["retry: 5000", "event: change", "event: over"] == heard


@pytest.mark.parametrize("told", ["by its page", "before it broke off"])
def test_what_came_before_a_browser_was_on_the_stream_is_told_at_once(tmp_path: Path, told: str) -> None:
    """Between the page and its stream, or while the stream was broken off."""
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b", status="running", blocks=2)
        site = client(store, tmp_path)
        address = re.findall(r'data-stream="/runs/\d+/events\?([^"]*)"', site.get(f"/runs/{run}").text)[0]
        headers: list[tuple[bytes, bytes]] = []
        if told == "before it broke off":
            _begin(store, run)
            (last,) = re.findall(r"id: (\S+)", _heard(site.app, store, run, address, headers))
            store.set_run_status(run, "running")
            headers = [(b"last-event-id", last.encode())]
            assert "event: change" not in _heard(site.app, store, run, address, headers)
            store.set_run_status(run, "running")
        _begin(store, run, block=2)
        assert "event: change" in _heard(site.app, store, run, address, headers)


def _heard(app: Any, store: Store, run: int, query: str, headers: list[tuple[bytes, bytes]]) -> str:
    """What a browser hears of a run that is over right after the first look at it."""
    said: list[bytes] = []
    scope = {
        "type": "http", "method": "GET", "path": f"/runs/{run}/events", "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1"), *headers],
    }  # fmt: skip

    async def stays() -> dict[str, str]:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def hears(message: dict[str, Any]) -> None:
        if body := message.get("body"):
            said.append(body)
            store.set_run_status(run, "done")

    asyncio.run(app(scope, stays, hears))
    return b"".join(said).decode()


def test_the_stream_of_a_run_that_is_over_says_only_that(site: TestClient) -> None:
    assert "retry: 5000\n\nevent: over\ndata: 1\n\n" == site.get("/runs/2/events").text


def test_a_run_whose_process_is_gone_is_not_shown_as_live(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": []}}, "b", status="running", blocks=2)
        with store.writing() as session:
            session.get_one(RunRow, run).owner = f"{socket.gethostname()}:{2**22 + 1}"
        page = client(store, tmp_path).get(f"/runs/{run}").text
    assert f"crucible run --resume {run}" in page
    assert "data-stream" not in page


def test_a_stored_scenario_of_another_schema_is_said_in_words(tmp_path: Path) -> None:
    """As a later version will find what an earlier one stored."""
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b")
        with store.writing() as session:
            row = session.exec(select(ScenarioRow)).one()
            row.text = row.text.replace("test_command:", "test_kommand:")
        page, other = (client(store, tmp_path).get(f"/runs/{run}{which}") for which in ("/comparison", ""))
    assert (503, 200) == (page.status_code, other.status_code)
    assert "a scenario in the store is not one that this version of Crucible reads (" in page.text
    assert "look at its runs with the version of Crucible that made them" in page.text


def test_what_is_left_of_a_run_is_estimated_from_what_is_done(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        done = [Filled(True, cost_usd=0.5, seconds=60.0)]
        run = fill_run(store, {"s": {"a": done, "b": done}}, "b", status="running", blocks=4, parallel=2)
        data = client(store, tmp_path).get(f"/runs/{run}.json").json()
    assert (6, 180.0, 3.0) == tuple(data["estimate"][name] for name in ("to_do", "seconds", "cost_usd"))


@given(st.text())
def test_no_character_that_acts_is_left_in_a_text_that_is_shown(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", shown)
    shown.encode("utf-8")


@given(st.text(alphabet="ab\n", max_size=200), st.integers(1, 80))
def test_what_is_shown_and_what_is_left_out_is_the_whole_text(text: str, most: int) -> None:
    lines, more = short_lines(text, most)
    assert text.startswith("\n".join(lines))
    assert len(text) == len("\n".join(lines)) + more


def test_a_line_of_a_megabyte_is_cut_with_its_true_size() -> None:
    lines, _ = short_lines("y" * 1_000_000, 1_000_000)
    assert ["y" * 2_000 + " [... 998,000 characters more]"] == lines


def test_a_removed_line_of_dashes_is_no_header() -> None:
    found = diff_lines("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+++ counter\n same\n")
    assert ["file", "file", "at", "cut", "add", "same"] == [line.kind for line in found.lines]
    assert (1, 1, 0) == (found.added, found.removed, found.more)
    assert 5 == quoted_at("  same ", found.lines)


def _begin(store: Store, run: int, block: int = 1) -> int:
    row = {"run_id": run, "scenario_hash": "hash-s", "scenario": "s", "arm": "a", "block": block, "baseline": False}
    return store.start_attempt(
        AttemptRow(**row, retry=0, model="m", rehearsal=False, sandbox="overlay", started_at=now())
    )


def client(store: Store, bench: Path, *, read_only: bool = True) -> TestClient:
    return TestClient(make_app(store, bench, Settings(), read_only=read_only), base_url=ADDRESS)
