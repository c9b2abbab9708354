"""Nothing that is stored can act on the page that shows it: the same page comes out as for harmless text, only uglier."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.writes import Store
from crucible.web.app import make_app
from crucible.web.visible import visible
from tests.web.hostile import Hostile, Reader, fill_hostile

LARGEST = 700_000
"""Bytes of a page, whatever is stored."""
ACTING = "".join(chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127, 0x202E, 0x2066, 0x200F, 0x200B, 0x2028))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Hostile]]:
    """A site over the hostile store, that may be written to."""
    folder = tmp_path_factory.mktemp("hostile")
    with Store(folder / "store.db") as store:
        made = fill_hostile(store)
        app = make_app(store, folder, Settings(), read_only=False)
        yield TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False), made


@pytest.mark.slow
def test_no_page_holds_anything_that_acts(site: tuple[TestClient, Hostile]) -> None:
    client, made = site
    found = {}
    for path in made.paths:
        answer = client.get(path)
        problems = [f"status {answer.status_code}"] if answer.status_code != 200 else []
        problems += Reader(answer.text).problems
        problems += [f"a character that acts: {char!r}" for char in ACTING if char in answer.text]
        if len(answer.content) > LARGEST:
            problems.append(f"{len(answer.content):,} bytes")
        if problems:
            found[path[:60]] = problems[:6]
    assert {} == found


@pytest.mark.slow
def test_what_is_not_there_is_told_back_as_plain_text(site: tuple[TestClient, Hostile]) -> None:
    client, made = site
    answers = [(path[:40], client.get(path)) for path in made.nowhere]
    assert [(path, 404, []) for path, _ in answers] == [
        (path, answer.status_code, Reader(answer.text).problems) for path, answer in answers
    ]


@pytest.mark.slow
def test_the_json_of_every_page_is_json_and_nothing_a_browser_would_run(site: tuple[TestClient, Hostile]) -> None:
    client, made = site
    for path in made.paths:
        name, _, query = path.partition("?")
        answer = client.get(f"{'/index' if name == '/' else name}.json?{query}")
        assert ("application/json", "nosniff") == (
            answer.headers["content-type"],
            answer.headers["x-content-type-options"],
        )
        json.loads(answer.text)


def test_every_answer_forbids_what_is_not_of_the_package(site: tuple[TestClient, Hostile]) -> None:
    client, made = site
    for path in (*made.paths[:8], *made.nowhere[:2], "/static/app.css", "/static/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


def test_text_is_shown_whole_up_to_where_it_is_cut(site: tuple[TestClient, Hostile]) -> None:
    """What is made harmless is still there to be read: markup as text, marks as symbols."""
    client, made = site
    page = client.get(f"/compare/{made.one}/{made.other}").text
    assert "&lt;script&gt;document.title=" in page
    assert visible("\x1b[31m").startswith("\N{SYMBOL FOR ESCAPE}")
    assert "\N{SYMBOL FOR ESCAPE}[31m" in page


@pytest.mark.slow
def test_a_hostile_store_can_be_filled_twice_over(tmp_path: Path) -> None:
    """The filling itself is deterministic: what a browser is shown is what was tested here."""
    with Store(tmp_path / "one.db") as one, Store(tmp_path / "two.db") as two:
        assert fill_hostile(one) == fill_hostile(two)
