"""Where the arms part, block by block: as far as the calls are the same, then what each does; never a guess without turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from crucible.report.parting import Parting, Step, in_words, parting, usual
from crucible.store.filling import Filled, fill_run
from crucible.store.pairs import counted_pairs
from crucible.store.turns import Step as Call
from crucible.store.turns import Turn
from crucible.store.writes import Store
from tests.web.conftest import Kept


def turns(*commands: str) -> list[Turn]:
    """One call a turn."""
    return [
        Turn(n, tokens=10, at=n, steps=(Call(n, "read_file", {"path": path}, ok=True),))
        for n, path in enumerate(commands, 1)
    ]


def test_attempts_part_after_the_turns_in_which_they_do_the_same() -> None:
    found = parting(turns("a.py", "b.py"), turns("a.py", "c.py"))
    assert Parting(1, Step(2, "read_file b.py"), Step(2, "read_file c.py")) == found


def test_edits_of_one_file_are_told_apart_by_what_they_write() -> None:
    one, other = (
        [Turn(1, steps=(Call(1, "write_file", {"path": "a.py", "content": f"x = {n}\n"}, ok=True),))] for n in (1, 2)
    )
    found = parting(one, other)
    assert Parting(0, Step(1, "write_file a.py: x = 1"), Step(1, "write_file a.py: x = 2")) == found


def test_attempts_that_do_the_same_to_the_end_never_part() -> None:
    assert Parting(2, None, None) == parting(turns("a.py", "b.py"), turns("a.py", "b.py"))


def test_one_that_has_ended_does_nothing_more() -> None:
    assert Parting(1, Step(2, "read_file b.py"), Step(None, "does nothing more")) == parting(
        turns("a.py", "b.py"), turns("a.py")
    )


def test_without_any_turn_it_cannot_be_told() -> None:
    assert parting([], []) is None


def test_the_sentence_counts_only_blocks_that_can_be_told() -> None:
    blocks = [None, parting(turns("a", "b"), turns("a", "c")), parting(turns("a"), turns("a"))]
    said = in_words(usual(blocks), "search", "plain")
    assert said.startswith("The arms part in 1 of 2 blocks, after 1 turn of the same calls.")
    assert "search then: read_file b (1 of 1); plain: read_file c (1 of 1)" in said


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([], "no block yet"),
        ([None], "no block yet"),
        ([Parting(3, None, None)], "the same calls from beginning to end in the one block"),
        ([Parting(3, None, None)] * 2, "the same calls from beginning to end in all of 2 blocks"),
    ],
)
def test_the_sentence_says_when_there_is_no_parting(blocks: list[Parting | None], said: str) -> None:
    assert said in in_words(usual(blocks), "search", "plain")


def test_only_blocks_whose_two_attempts_count_are_pairs(tmp_path: Path) -> None:
    lost, green, red = Filled(None, cause="provider"), Filled(True), Filled(False)
    with Store(tmp_path / "crucible.db") as store:
        run = fill_run(store, {"bug": {"search": [green, lost, green], "plain": [red, green, green]}}, "plain")
        assert [(1, "treatment"), (3, "both")] == [(pair.block, pair.outcome) for pair in counted_pairs(store, run)]


def test_the_page_filters_by_whose_suite_is_green(site: TestClient, filled: Kept) -> None:
    everything = json.loads(site.get(f"/runs/{filled.better}/blocks.json").text)
    chosen = json.loads(site.get(f"/runs/{filled.better}/blocks.json?show=treatment").text)
    assert {"treatment"} == {row["outcome"] for row in chosen["rows"]}
    assert everything["counts"]["treatment"] == len(chosen["rows"])
    assert everything["counts"]["all"] == sum(n for name, n in everything["counts"].items() if name != "all")


def test_a_rehearsed_run_shows_where_its_arms_part(site: TestClient, filled: Kept) -> None:
    page = site.get(f"/runs/{filled.rehearsal}/blocks")
    assert "The arms part in 2 of 2 blocks, usually at the first turn." in page.text
    assert "write_file tests/test_pages.py" in page.text


def test_an_unknown_run_is_a_page_that_says_so(site: TestClient) -> None:
    answer = site.get("/runs/99/blocks")
    assert 404 == answer.status_code
    assert "there is no run 99 in this store" in answer.text
