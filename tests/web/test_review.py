"""Scoring attempts blind: what a page gives away, what a form may do, and that a score is kept once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.filling import Filled, fill_run
from crucible.store.labels import labels
from crucible.store.tables import JudgeRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now
from crucible.web.app import make_app

HERE = "http://127.0.0.1"
SCORES = (0.2, 0.8, 1.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two arms with three attempts each that a model judged, at prices that would tell them apart."""
    with Store(tmp_path / "store.db") as made:
        arms = {
            "secretarm": [Filled(True, cost_usd=0.777) for _ in SCORES],
            "baseline": [Filled(False, cost_usd=0.111) for _ in SCORES],
        }
        fill_run(made, {"first": arms}, "baseline")
        made.ensure(
            JudgeRow(id="j", model="acme/judgemodel", samples=1, prompt_hash="p", rubric_hash="r", created_at=now())
        )
        for attempt, value in enumerate((*SCORES, *SCORES), 1):
            score = ScoreRow(
                attempt_id=attempt, judge_id="j", dimension="correctness", weight=1.0, value=value, reason=None, raw=value,
                samples=[round(5 * value)], asked=1, clamps=[], evidence=[], reasoning="the judge's words",
            )  # fmt: skip
            total = TotalRow(
                attempt_id=attempt, judge_id="j", seq=0, value=value, partial=value, weight_scored=1.0, missing=[]
            )
            made.add_judging(attempt, "j", [], [score], total)
        yield made


@pytest.fixture
def client(store: Store, tmp_path: Path) -> TestClient:
    """The site, to be written to."""
    return TestClient(make_app(store, tmp_path, Settings(), read_only=False), base_url=HERE)


def fields(page: str) -> dict[str, str]:
    """The hidden fields of the form that scores."""
    form = page[page.index('class="score-form"') :]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[: form.index("</form>")]))


def ask(client: TestClient, labeller: str = "ann") -> dict[str, str]:
    """What the page asks this person, as the fields of its form."""
    return fields(client.get(f"/review?labeller={labeller}").text)


def send(client: TestClient, form: dict[str, str], origin: str | None = HERE, **more: Any) -> Response:
    """Send a form, as the page itself would."""
    headers = {"Origin": origin} if origin else {}
    return client.post("/review", data={**form, **more}, headers=headers, follow_redirects=False)


def test_nothing_tells_the_arm_the_model_the_price_or_the_judge_before_a_score_is_given(client: TestClient) -> None:
    for path in ("/review?labeller=ann", "/review.json?labeller=ann"):
        said = client.get(path).text
        assert [] == [
            word for word in ("secretarm", "simulated", "0.77", "judge's words", "/attempts/") if word in said
        ]


def test_a_score_is_saved_at_once_and_shown_what_it_was_only_when_asked(client: TestClient, store: Store) -> None:
    after = send(client, ask(client), value="3")
    assert 303 == after.status_code
    assert [("ann", 3, "correctness")] == [(one.labeller, one.value, one.dimension) for one in labels(store)]
    page = client.get(after.headers["location"]).text
    assert "Saved: correctness" in page
    assert "acme/judgemodel) gave" not in page
    shown = send(client, ask(client), action="reveal", label=after.headers["location"].rpartition("=")[2])
    assert "acme/judgemodel) gave" in client.get(shown.headers["location"]).text


def test_a_page_loaded_again_asks_the_same(client: TestClient) -> None:
    assert ask(client)["ticket"] == ask(client)["ticket"]
    assert ask(client)["ticket"] != ask(client, "bob")["ticket"]


def test_a_form_sent_twice_is_one_score(client: TestClient, store: Store) -> None:
    form = ask(client)
    assert [303, 409] == [send(client, form, value="2").status_code for _ in range(2)]
    assert 1 == len(labels(store))


def test_everything_is_scored_once_and_then_there_is_nothing_left(client: TestClient, store: Store) -> None:
    for n in range(6):
        send(client, ask(client), value=str(n % 6) if n else "s")
    page = client.get("/review?labeller=ann").text
    assert "ann has scored all of these: 6 of 6" in page
    assert list(range(1, 7)) == sorted(one.attempt_id for one in labels(store))
    assert [None] == [one.value for one in labels(store) if one.value is None]


def test_a_score_can_be_taken_back_until_it_was_revealed_what_it_was_of(client: TestClient, store: Store) -> None:
    form = ask(client)
    first = send(client, form, value="1").headers["location"].rpartition("=")[2]
    assert 303 == send(client, form, action="undo", label=first).status_code
    assert [] == labels(store)
    second = send(client, ask(client), value="1").headers["location"].rpartition("=")[2]
    assert 303 == send(client, form, action="reveal", label=second).status_code
    assert 409 == send(client, form, action="undo", label=second).status_code
    assert 1 == len(labels(store))


def test_nobody_takes_back_or_reveals_what_another_said(client: TestClient, store: Store) -> None:
    label = send(client, ask(client), value="1").headers["location"].rpartition("=")[2]
    other = {**ask(client, "bob"), "label": label}
    assert [409, 409] == [send(client, other, action=action).status_code for action in ("undo", "reveal")]
    assert 409 == send(client, {**ask(client), "labeller": "bob"}, value="1").status_code


@pytest.mark.parametrize(
    ("changes", "origin", "status"),
    [
        ({"token": "guessed"}, HERE, 403),
        ({"token": ""}, HERE, 403),
        ({}, "http://evil.example", 403),
        ({}, None, 403),
        ({}, "null", 403),
        ({"value": "6"}, HERE, 400),
        ({"value": "-1"}, HERE, 400),
        ({"value": ""}, HERE, 400),
        ({"action": "drop"}, HERE, 400),
        ({"ticket": "of-an-earlier-start"}, HERE, 409),
        ({"labeller": "x" * 9_000}, HERE, 413),
    ],
)
def test_a_form_that_is_not_of_this_page_changes_nothing(
    client: TestClient, store: Store, changes: dict[str, str], origin: str | None, status: int
) -> None:
    assert status == send(client, {**ask(client), "value": "3", **changes}, origin).status_code
    assert [] == labels(store)


def test_a_read_only_site_shows_agreement_and_takes_no_score(store: Store, tmp_path: Path, client: TestClient) -> None:
    for value in ("1", "4", "5"):
        send(client, ask(client), value=value)
    closed = TestClient(make_app(store, tmp_path, Settings()), base_url=HERE)
    page = closed.get("/review?labeller=ann").text
    assert "crucible ui --writable" in page
    assert 'class="score-form"' not in page
    assert "labelled by ann: 3 attempts" in page
    assert 403 == send(closed, {"action": "score"}).status_code
    assert 3 == len(labels(store))


def test_what_was_said_is_held_against_the_judge(client: TestClient) -> None:
    for _ in range(6):
        send(client, ask(client), value="4")
    (found,) = client.get("/review.json").json()["agreement"]
    assert (6, ["ann"], "acme/judgemodel") == (found["labelled"], found["people"], found["judge"])
    assert 2 == found["table"][4][1]


@pytest.mark.parametrize("query", ["run=99", "run=x", "dimension=corectness"])
def test_what_is_not_there_is_said_with_what_is(client: TestClient, query: str) -> None:
    answer = client.get(f"/review?{query}")
    assert 404 == answer.status_code
    assert "there is no run" in answer.text or "correctness" in answer.text


def test_a_store_that_no_model_judged_says_what_to_do(tmp_path: Path) -> None:
    with Store(tmp_path / "empty.db") as empty:
        page = TestClient(make_app(empty, tmp_path, Settings()), base_url=HERE).get("/review").text
    assert "crucible rejudge" in page
