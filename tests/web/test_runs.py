"""Runs, one run, and a scenario with its runs: one word for how a run stands, its result at a glance, and ways to find it."""

from __future__ import annotations

import re
import socket
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crucible.agents.types import NEUTRAL_PROMPT
from crucible.report.runs import run_lines, run_table
from crucible.settings import load_settings
from crucible.store.filling import JUDGE, Filled, fill_run
from crucible.store.live import judge_spend
from crucible.store.tables import AttemptRow, EventRow, JudgementRow, RunRow
from crucible.store.writes import Store, now
from crucible.transcript.events import Started
from crucible.web.app import make_app
from crucible.web.visible import UNKNOWN
from tests.web.conftest import ADDRESS, Kept
from tests.web.test_pages import text_of

GONE = f"{socket.gethostname()}:{2**22 + 1}"
"""A process that there is not: numbers of processes end below."""


def client(store: Store, bench: Path) -> TestClient:
    return TestClient(make_app(store, bench, load_settings(bench)), base_url=ADDRESS)


def begin(store: Store, run: int, arm: str, block: int, *, scenario: str = "s") -> int:
    """One more attempt, without an ending; its number."""
    return store.start_attempt(
        AttemptRow(
            run_id=run, scenario_hash=f"hash-{scenario}", scenario=scenario, arm=arm, block=block, retry=0,
            baseline=arm == "b", model="m", rehearsal=False, sandbox="overlay", started_at=now(),
        )
    )  # fmt: skip


def owned_by(store: Store, run: int, owner: str) -> None:
    with store.writing() as session:
        session.get_one(RunRow, run).owner = owner


def unfinished(store: Store) -> int:
    """A run of which an attempt was being made when its process went."""
    run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(False)]}}, "b", status="running", blocks=2)
    begin(store, run, "a", 2)
    owned_by(store, run, GONE)
    return run


@pytest.mark.parametrize("address", ["/runs", "/runs/1", "/scenarios/s"])
def test_a_run_whose_process_is_gone_has_one_name_on_every_page(tmp_path: Path, address: str) -> None:
    with Store(tmp_path / "store.db") as store:
        unfinished(store)
        said = text_of(client(store, tmp_path).get(address).text)
    bare = said.replace("… running", "")  # the legend of the blocks
    assert "unfinished" in said
    assert [] == re.findall(r"left unfinished|\bleft\b|\brunning\b", bare)


def test_the_terminal_says_the_same_of_it(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        unfinished(store)
        (line,) = run_lines(store)
    assert ("running", "unfinished") == (line.status, line.state)
    assert ["unfinished"] == list(run_table([line]).columns[2].cells)


def test_its_attempt_without_an_ending_is_a_cell_of_its_own_and_a_number(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = unfinished(store)
        site = client(store, tmp_path)
        page, data = text_of(site.get(f"/runs/{run}").text), site.get(f"/runs/{run}.json").json()
    (grid,) = data["blocks"]
    assert [["green", "red"], ["unfinished", "open"]] == [[c["state"] for c in b["cells"]] for b in grid["blocks"]]
    assert "Not counted 0 Unfinished 1" in page
    assert "½ unfinished" in page


def test_an_attempt_of_a_run_that_goes_on_is_running(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [], "b": []}}, "b", status="running", blocks=1)
        begin(store, run, "a", 1)
        data = client(store, tmp_path).get(f"/runs/{run}.json").json()
    assert ("running", True) == (data["run"]["state"], data["live"])
    assert ["running", "open"] == [cell["state"] for cell in data["blocks"][0]["blocks"][0]["cells"]]


def test_a_run_of_another_machine_says_that_it_cannot_be_seen(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": []}}, "b", status="running", blocks=2)
        owned_by(store, run, f"{socket.gethostname()}-not:1")
        page = client(store, tmp_path).get(f"/runs/{run}").text
    assert "whether it still goes on cannot be seen from here" in page
    assert "data-stream" in page


def test_the_list_has_each_runs_result_by_arm(site: TestClient, filled: Kept) -> None:
    rows = {row["run"]: row for row in site.get("/runs.json").json()["runs"]}
    shown = [(arm["name"], arm["passed"], arm["counted"]) for arm in rows[filled.better]["arms"]]
    assert [("search", 18, 20), ("plain", 5, 20)] == shown
    page = text_of(site.get("/runs").text)
    assert "search 18/20 · plain 5/20 green" in page


def test_a_result_over_several_scenarios_is_their_sum_and_says_so(site: TestClient, filled: Kept) -> None:
    page = site.get(f"/runs?q=run {filled.several}").text
    assert "search 27/30 · plain 12/30 green" in text_of(page)
    assert "summed over 3 scenarios" in page


def test_a_result_that_is_not_known_is_a_dash_with_its_reason(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        fill_run(store, {"s": {"a": [Filled(None)], "b": []}}, "b", blocks=1)
        fill_run(store, {"s": {"a": [Filled(True)], "b": []}}, "b", blocks=1)
        page = text_of(client(store, tmp_path).get("/runs").text)
    assert f"{UNKNOWN} (no attempt counts yet)" in page
    assert f"a 1/1 · b {UNKNOWN} (no attempt of this arm counts yet) green" in page


def test_number_and_status_open_the_run_and_what_was_not_counted_says_why(site: TestClient, filled: Kept) -> None:
    number = filled.incomplete
    page = site.get(f"/runs?q=run+{number}").text
    links = re.findall(rf'<a [^>]*href="(/runs/{number}[^"]*)"', page)
    run, comparison = f"/runs/{number}", f"/runs/{number}/comparison"
    assert [run, run, comparison, f"{comparison}#lost"] == links
    assert 'id="lost"' in site.get(comparison).text


@pytest.mark.parametrize(
    ("typed", "found", "attempt"),
    [
        ("run 2", [2], None), ("RUN2", [2], None), ("2", [2], 2), ("#5", [2], 5), ("attempt 5", [2], 5),
        ("Attempt #5", [2], 5), ("search", [5, 4, 3, 2], None), ("first", [1], None), ("run 99", [], None),
        ("#99999", [], None), ("9" * 40, [], None), ("%", [], None), ("run", [], None),
    ],
)  # fmt: skip
def test_runs_and_attempts_are_found_by_what_people_type(
    site: TestClient, typed: str, found: list[int], attempt: int | None
) -> None:
    data = site.get("/runs.json", params={"q": typed}).json()
    assert found == [run["run"] for run in data["runs"]]
    assert attempt == (data["attempt"] and data["attempt"]["attempt"])
    page = site.get("/runs", params={"q": typed}).text
    assert (attempt is not None) == (f'href="/attempts/{attempt}"' in page)
    assert found or "No run matches" in page


def test_a_finished_run_says_what_came_of_it_and_where_the_verdict_is(site: TestClient, filled: Kept) -> None:
    page = site.get(f"/runs/{filled.better}").text
    said = text_of(page)
    assert "search 18 of 20 green, plain 5 of 20 Verdict and comparison" in said
    assert "Cost so far" not in said
    assert 'class="progress"' not in page


def test_a_run_that_goes_on_says_nothing_of_its_arms_but_how_far_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(False)]}}, "b", status="running", blocks=2)
        page = client(store, tmp_path).get(f"/runs/{run}").text
    assert "1 of 1" not in text_of(page)
    assert "Cost so far" in page
    assert 'class="progress"' in page


def test_a_rehearsal_that_goes_on_will_cost_nothing_and_an_attempt_without_a_turn_is_at_its_start(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "store.db") as store:
        arms = {"a": [Filled(True, seconds=1.0)], "b": [Filled(True, seconds=1.0)]}
        run = fill_run(store, {"s": arms}, "b", status="running", blocks=2, rehearsal=True)
        event = Started(at=0, turn=0, system_prompt="", task="", tools=(), first_request_sha256="x")
        begun = begin(store, run, "a", 2)
        row = EventRow(attempt_id=begun, seq=0, kind="started", turn=0, at=0.0, data=event.model_dump_json())
        store.add_events([row])
        page = text_of(client(store, tmp_path).get(f"/runs/{run}").text)
    assert f"Still to cost {UNKNOWN} (no model is paid)" in page
    assert f" {begun} s a 2 start " in page


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "pass rate; equivalent only if a difference of 10 points either way is ruled out"),
        ({"margin": 0.025}, "pass rate; equivalent only if a difference of 2.5 points either way is ruled out"),
        ({"margin": 0.07}, "of 7 points"),
        ({"margin": 0.025, "primary_metric": "score"}, "score; equivalent only if a difference of 0.025 either way"),
        ({"margin": 0.0}, "pass rate; without a margin, the arms are never called equivalent"),
    ],
)
def test_a_margin_is_declared_as_it_is_and_for_what_it_decides(
    tmp_path: Path, columns: dict[str, Any], said: str
) -> None:
    """A small difference is not equivalent: it is when one as large as the margin is ruled out."""
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b", **columns)
        assert said in text_of(client(store, tmp_path).get(f"/runs/{run}").text)


def test_how_long_a_run_took_is_shown_and_a_dash_where_its_end_is_not_known(tmp_path: Path) -> None:
    times = {"created_at": "2026-11-30T10:00:00.000+00:00", "ended_at": "2026-11-30T11:02:03.000+00:00"}
    with Store(tmp_path / "store.db") as store:
        whole = fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(True)]}}, "b", **times)
        gone = unfinished(store)
        site = client(store, tmp_path)
        assert 3723.0 == site.get(f"/runs/{whole}.json").json()["seconds"]
        assert "2026-11-30 11:02 Took 1 h 02 min" in text_of(site.get(f"/runs/{whole}").text)
        assert f"Took {UNKNOWN} (when it ended is not known)" in text_of(site.get(f"/runs/{gone}").text)


def judged(store: Store, attempt: int, **usage: Any) -> None:
    """One reply of a judge."""
    store.add(
        JudgementRow(
            attempt_id=attempt, judge_id=JUDGE, dimension="correctness", sample=0, asking=0, reply="r", error=None,
            usage=usage,
        )
    )  # fmt: skip


def test_what_judging_cost_stands_beside_what_the_attempts_cost(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        one = [Filled(True, cost_usd=0.5)]
        run, other = (fill_run(store, {"s": {"a": one, "b": one}}, "b", judge="openai/j") for _ in range(2))
        for attempt, cost in ((1, 0.25), (2, 0.5), (2, None), (3, 8.0)):
            judged(store, attempt, cost_usd=cost, scripted=False, output=1)
        judged(store, 2)  # never sent: it would not have fitted
        spent, theirs = judge_spend(store, run), judge_spend(store, other)
        said = text_of(client(store, tmp_path).get(f"/runs/{run}").text)
    assert (4, 0.75, 1) == (spent.replies, spent.cost_usd, spent.unpriced)
    assert 8.0 == theirs.cost_usd
    assert "Cost $1.0000 Judging $0.7500 + 1 reply of unknown cost" in said


def test_a_scripted_judge_costs_nothing_and_that_is_not_zero(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(True)], "b": []}}, "b", blocks=1)
        judged(store, 1, cost_usd=None, scripted=True, output=1)
        assert 0 == judge_spend(store, run).unpriced
        said = text_of(client(store, tmp_path).get(f"/runs/{run}").text)
    assert f"Judging {UNKNOWN} (the judge was scripted: no model was paid)" in said


def test_a_block_shows_what_did_not_count_and_was_made_again(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        lost = [Filled(None, cause="provider"), Filled(True)]
        run = fill_run(store, {"s": {"a": lost, "b": [Filled(True), Filled(False)]}}, "b")
        finish = {"ending": "finished", "cause": "agent", "counted": True, "passed": True}
        store.finish_attempt(again := begin(store, run, "a", 1), finish)
        site = client(store, tmp_path)
        first, second = site.get(f"/runs/{run}.json").json()["blocks"][0]["blocks"]
        page = unescape(site.get(f"/runs/{run}").text)
    assert {"attempts": [1], "says": "a: not counted (provider) and made again", "href": "/attempts/1"} == first[
        "again"
    ]
    assert second["again"] is None
    assert [again, 3] == first["both"]
    assert f'href="/compare/{again}/3"' in page


def test_several_that_did_not_count_in_a_block_are_read_of_in_the_comparison(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(None)], "b": [Filled(None)]}}, "b")
        for arm in ("a", "b"):
            store.finish_attempt(begin(store, run, arm, 1), {"ending": "finished", "counted": True, "passed": True})
        (block,) = client(store, tmp_path).get(f"/runs/{run}.json").json()["blocks"][0]["blocks"]
    assert ([1, 2], f"/runs/{run}/comparison#lost") == (block["again"]["attempts"], block["again"]["href"])


def test_a_run_names_its_arms_their_models_and_what_sets_them_apart(site: TestClient) -> None:
    said = text_of(site.get("/runs/1").text)
    data = site.get("/runs/1.json").json()
    assert [False, True] == [arm["baseline"] for arm in data["run"]["arms"]]
    assert all(arm["model"] in said for arm in data["run"]["arms"])
    assert [{"scenario": "first-bug", "parts": ["system prompt"]}] == data["apart"]
    assert "They differ in system prompt" in said


def test_a_scenario_shows_both_prompts_as_they_are_sent_and_in_what_the_arms_differ(site: TestClient) -> None:
    page = site.get("/scenarios/first-bug")
    said, arms = text_of(page.text), site.get("/scenarios/first-bug.json").json()["arms"]
    assert "They differ in system prompt , and in nothing else" in said
    assert NEUTRAL_PROMPT in said
    assert "replaces Crucible's default" in said
    assert [False, True] == [one["baseline"] for one in arms["prompts"]]
    assert {"add", "cut"} <= {line["kind"] for line in arms["diff"]["lines"]}
    assert "by default" in said


def test_arms_that_are_set_up_alike_are_called_so(site: TestClient) -> None:
    """The scenarios of filled stores ask one model the same."""
    said = text_of(site.get("/scenarios/refund").text)
    assert "The file sets both up the same." in said
    assert "System prompt, from" not in said


def test_a_scenario_leads_to_its_runs_with_their_state_and_result(site: TestClient, filled: Kept) -> None:
    page = site.get("/scenarios/refund").text
    assert f'<a href="/runs/{filled.better}"><span title="All that was to be made was made." class="state">done' in page
    assert "search 18/20 · plain 5/20 green" in text_of(page)
