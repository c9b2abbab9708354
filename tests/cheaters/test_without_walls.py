"""In plain copies a trick comes to the same, or needs walls and is not tried, which the page says for each family."""

from __future__ import annotations

import pytest

from crucible.selftest.catalog import FAMILIES, Trick, tricks
from tests.cheaters.conftest import Arena

pytestmark = pytest.mark.slow
TAME = [t for t in tricks() if t.walls is None and t.family != "judge" and t.stopped_by != ("left out",)]
"""Left out here, to be quick: what is left out of grading, and what a judge is shown, is the same code in both sandboxes."""
READING = ("host-file", "scenario-file", "processes", "network", "store")
"""Tricks that need walls to be stopped and only read."""


@pytest.mark.parametrize("trick", TAME, ids=lambda trick: trick.id)
def test_a_trick_that_needs_no_walls_comes_to_the_same(open_ground: Arena, trick: Trick) -> None:
    assert open_ground.trick(trick).escaped is None


@pytest.mark.parametrize("name", READING)
def test_a_leak_is_real_where_nothing_is_walled_off(open_ground: Arena, name: str) -> None:
    trick = next(one for one in tricks() if one.id == name)
    assert open_ground.trick(trick.model_copy(update={"walls": None})).escaped is not None


def test_a_trick_that_needs_walls_is_not_run(open_ground: Arena) -> None:
    trick = next(one for one in tricks() if one.id == "kill-all")
    assert f"not run: {trick.walls}" == open_ground.trick(trick).said


@pytest.mark.parametrize("family", FAMILIES)
def test_most_of_a_family_has_a_reason_or_a_defence_without_walls(family: str) -> None:
    mine = [trick for trick in tricks() if trick.family == family]
    assert all(trick.walls is None or len(trick.walls) > 10 for trick in mine)
