"""The comparison page beside what the report says: its links lead somewhere, its filters hold, what it draws stays inside."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from crucible.report.uptake import Uptake
from crucible.settings import load_settings
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from crucible.web.app import make_app
from crucible.web.pictures import HIGHEST, stacked
from crucible.web.visible import UNKNOWN
from tests.web.conftest import ADDRESS, Kept
from tests.web.test_pages import text_of


def test_every_link_within_the_page_leads_to_a_part_of_it(site: TestClient, filled: Kept) -> None:
    for run in (filled.rehearsal, filled.better, filled.incomplete, filled.several):
        page = site.get(f"/runs/{run}/comparison").text
        links = set(re.findall(r'href="#([^"]+)"', page))
        assert {"tested", "apart", "blocks", "parting", "attempts"} <= links
        assert set() == links - set(re.findall(r'id="([^"]+)"', page))


def test_what_sets_the_arms_apart_stands_in_the_verdict_and_to_the_letter_below_it(
    site: TestClient, filled: Kept
) -> None:
    page = unescape(site.get(f"/runs/{filled.rehearsal}/comparison").text)
    verdict = page[page.index('class="verdict') : page.index("</section>")]
    assert "The arms differ in: system prompt." in verdict
    assert "How the first requests differ, to the letter (1 part)" in page
    assert "+work in the repository at /workspace. Reproduce the failure and name its cause" in page


def test_of_several_differences_nobody_can_tell_which_it_was() -> None:
    one, two = (Uptake(differ, {}, recorded=True) for differ in (("model",), ("model", "system prompt")))
    assert ["The arms differ in: model."] == list(one.difference())
    assert [
        "The arms differ in: model, system prompt; which of the 2 made a difference, this run cannot tell."
    ] == list(two.difference())


def test_attempts_are_filtered_by_arm_and_sorting_stays_at_the_table(site: TestClient, filled: Kept) -> None:
    address = f"/runs/{filled.better}/comparison"
    chosen = json.loads(site.get(f"{address}.json?arm=search").text)
    assert {"search"} == {row["arm"] for row in chosen["attempts"]}
    assert 20 == chosen["states"]["all"] == chosen["found"]
    assert 40 == json.loads(site.get(f"{address}.json?arm=nobody").text)["found"]
    page = site.get(f"{address}?arm=search").text
    assert "sort=score#attempts" in page
    assert all("arm=search" in link for link in re.findall(r'href="([^"]*sort=[^"]*)"', page))


def test_where_they_part_names_the_blocks_that_only_one_arm_solved_first(site: TestClient, filled: Kept) -> None:
    said = json.loads(site.get(f"/runs/{filled.better}/comparison.json").text)["parting"]
    assert {"treatment"} >= {row["outcome"] for row in said["rows"]} - {"baseline"}
    assert (20, 20, 5) == (said["complete"], said["looked"], len(said["rows"]))


def page_of(tmp_path: Path, arms: dict[str, list[Filled]], **columns: Any) -> str:
    """What a reader sees of the comparison of a run of one scenario; `b` is the baseline."""
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": arms}, "b", **columns)
        site = TestClient(make_app(store, tmp_path, load_settings(tmp_path)), base_url=ADDRESS)
        answer = site.get(f"/runs/{run}/comparison")
        assert 200 == answer.status_code
        return text_of(answer.text)


def test_a_run_that_goes_on_is_called_so_above_its_verdict(tmp_path: Path) -> None:
    arms = {"a": [Filled(True)] * 3, "b": [Filled(False)] * 2}
    page = page_of(tmp_path, arms, blocks=4, status="running", owner="elsewhere:1")
    said = "The run goes on: this is how it stood when the page was loaded, after 5 of 8 attempts."
    assert 0 < page.index(said) < page.index("No verdict")


def test_a_run_that_was_stopped_is_called_so_and_one_that_is_done_is_not(tmp_path: Path) -> None:
    arms = {"a": [Filled(True)] * 2, "b": [Filled(False)] * 2}
    assert "a against b on s stopped " in page_of(tmp_path, arms, blocks=4, status="stopped")
    page = page_of(tmp_path, arms)
    assert "a against b on s s (run 2;" in page
    assert "The run goes on" not in page


def test_a_run_of_which_nothing_is_made_says_so_in_every_section(tmp_path: Path) -> None:
    page = page_of(tmp_path, {"a": [], "b": []}, blocks=2)
    assert "How far apart? No attempt counts yet, so there is no difference to show." in page
    assert "What was not counted, and why No attempt is over yet." in page


def test_an_attempt_that_is_not_made_or_does_not_count_is_not_said_to_lack_a_price(tmp_path: Path) -> None:
    arms = {"a": [Filled(True, 0.5, 0.1, 1_000)], "b": [Filled(None, cause="provider")]}
    page = page_of(tmp_path, arms, blocks=2)
    attempts = page[page.index("Attempts all 4") :]
    for row in ("2 a", "2 b"):
        assert (
            f"{row} {UNKNOWN} (not made yet) {UNKNOWN} (not made yet) not made yet {UNKNOWN} (not made yet)" in attempts
        )
    assert f"{UNKNOWN} (an attempt that does not count is not scored)" in attempts
    assert 1 == attempts.count("(no price is known)")


def test_a_dimension_that_is_not_tested_says_why(tmp_path: Path) -> None:
    scored, not_scored = [Filled(n % 2 == 0, 0.5) for n in range(8)], [Filled(n % 2 == 0) for n in range(8)]
    assert f"n = 8 {UNKNOWN} (not scored in any attempt of this arm) {UNKNOWN} (not scored in both arms)" in page_of(
        tmp_path, {"a": scored, "b": not_scored}
    )
    both = {"a": scored, "b": scored}
    assert f"{UNKNOWN} (a run that may stop early tests nothing else)" in page_of(tmp_path, both, sequential=True)
    assert f"{UNKNOWN} (no verdict was given, so nothing is tested)" in page_of(tmp_path, both, blocks=20)


def test_equivalent_is_said_of_a_difference_that_is_ruled_out(tmp_path: Path) -> None:
    """That the difference that was seen is small is not enough."""
    arms = {"a": [Filled(n % 2 == 0) for n in range(400)], "b": [Filled(n % 2 == 0) for n in range(400)]}
    page = page_of(tmp_path, arms)
    assert "equivalent — a difference as large as the margin declared beforehand is ruled out, either way" in page
    assert "inconclusive" in page_of(tmp_path, {arm: made[:20] for arm, made in arms.items()})


@given(st.lists(st.floats(0, 1), max_size=300).map(sorted))
def test_stacked_scores_all_stay_in_the_drawing(scores: list[float]) -> None:
    drawn = stacked(scores)
    assert scores == [point["score"] for point in drawn["points"]]
    assert all(0 <= point["up"] <= min(HIGHEST, drawn["height"] - 6) + 0.5 for point in drawn["points"])
