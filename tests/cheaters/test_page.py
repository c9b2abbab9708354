"""docs/security.md is what a self-test makes of the tricks there are."""

from __future__ import annotations

from crucible.selftest.catalog import FAMILIES, honest_cases, tricks
from crucible.selftest.page import security_page
from crucible.selftest.results import HonestResult, Result, Tried
from crucible.selftest.stopped import Stop
from tests.cheaters.checking import PAGE, told


def test_the_page_is_current() -> None:
    """What stopped each trick is held by the test of its family; here the rest of the page."""
    results = tuple(Result(trick, (Stop("suite", told(trick)),)) for trick in tricks())
    honest = tuple(HonestResult(case, tuple(sorted(case.left_out)), None) for case in honest_cases())
    assert PAGE.read_text("utf-8") == security_page(Tried("overlay", results, honest)), "run `make docs`"


def test_there_are_tricks_of_all_families() -> None:
    counts = {family: sum(trick.family == family for trick in tricks()) for family in FAMILIES}
    assert 60 <= sum(counts.values())
    assert all(count >= 10 for count in counts.values()), counts


def test_ids_are_unique() -> None:
    ids = [case.id for case in (*tricks(), *honest_cases())]
    assert sorted(set(ids)) == sorted(ids)
