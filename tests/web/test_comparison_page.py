"""The comparison page beside what the report says: its links lead somewhere, its filters hold, what it draws stays inside."""

from __future__ import annotations

import json
import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from crucible.report.uptake import Uptake
from crucible.web.pictures import HIGHEST, stacked
from tests.web.conftest import Kept


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


@given(st.lists(st.floats(0, 1), max_size=300).map(sorted))
def test_stacked_scores_all_stay_in_the_drawing(scores: list[float]) -> None:
    drawn = stacked(scores)
    assert scores == [point["score"] for point in drawn["points"]]
    assert all(0 <= point["up"] <= min(HIGHEST, drawn["height"] - 6) + 0.5 for point in drawn["points"])
