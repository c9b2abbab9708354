"""Tables sort, whatever is not known of their rows, and begin with what whoever sorts them looks for."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from crucible.settings import load_settings
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from crucible.web.app import make_app
from crucible.web.pages.leaderboard import SORTS

LOST = Filled(None, cause="provider")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[TestClient]:
    """A bench on which one arm of three has no attempt that counts."""
    (tmp_path / "results").mkdir()
    with Store(tmp_path / "results" / "crucible.db") as store:
        fill_run(store, {"export": {"lost": [LOST] * 3, "plain": [Filled(True, score=0.4), Filled(False)]}}, "plain")
        fill_run(store, {"export": {"search": [Filled(True, score=0.9)] * 2, "plain": [Filled(False)] * 2}}, "plain")
        yield TestClient(make_app(store, tmp_path, load_settings(tmp_path)), base_url="http://127.0.0.1")


def arms(site: TestClient, query: str) -> list[dict[str, Any]]:
    """The lines of the leaderboard's only scenario."""
    (group,) = site.get(f"/index.json?{query}").json()["groups"]
    return list(group["arms"])


@pytest.mark.parametrize(("column", "direction"), [*product(SORTS, ("up", "down"))])
def test_an_arm_without_a_counted_attempt_is_sorted_with_the_others(
    site: TestClient, column: str, direction: str
) -> None:
    assert site.get(f"/?sort={column}&dir={direction}").status_code == 200
    assert {"search", "plain", "lost"} == {arm["name"] for arm in arms(site, f"sort={column}&dir={direction}")}


@pytest.mark.parametrize("column", ["rate", "score"])
def test_whoever_sorts_by_a_merit_sees_the_best_first(site: TestClient, column: str) -> None:
    page = unescape(site.get(f"/?sort={column}").text)
    assert ("search", "lost") == (arms(site, f"sort={column}")[0]["name"], arms(site, f"sort={column}")[-1]["name"])
    assert 'aria-sort="descending"' in page
    assert f'href="/?sort={column}&dir=up"' in page
    assert "plain" == arms(site, f"sort={column}&dir=up")[0]["name"]


def test_choosing_a_scenario_keeps_the_order_that_was_asked_for(site: TestClient, tmp_path: Path) -> None:
    with Store(tmp_path / "results" / "crucible.db") as store:
        fill_run(store, {"import": {"search": [Filled(True)], "plain": [Filled(False)]}}, "plain")
    page = site.get("/?sort=rate&dir=up").text
    assert '<input type="hidden" name="sort" value="rate">' in page
    assert '<input type="hidden" name="dir" value="up">' in page
