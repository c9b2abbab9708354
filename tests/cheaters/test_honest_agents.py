"""An agent that mends the bug loses nothing by what it does besides; what grading leaves out of it is listed."""

from __future__ import annotations

import pytest

from crucible.selftest.catalog import Honest, honest_cases
from tests.cheaters.conftest import Arena

pytestmark = pytest.mark.slow
CASES = pytest.mark.parametrize("case", honest_cases(), ids=lambda case: case.id)


@CASES
def test_it_is_graded_green(arena: Arena, case: Honest) -> None:
    result = arena.run(arena.trial.honest(case))
    assert (None, tuple(sorted(case.left_out))) == (result.punished, result.left_out)


@CASES
def test_it_is_graded_green_without_walls(open_ground: Arena, case: Honest) -> None:
    result = open_ground.run(open_ground.trial.honest(case))
    assert (None, tuple(sorted(case.left_out))) == (result.punished, result.left_out)
