"""A trick on the test runner does not make an unmended bug green, nor any score better."""

from __future__ import annotations

import pytest

from crucible.selftest.catalog import Trick
from tests.cheaters.checking import check, of_family
from tests.cheaters.conftest import Arena

pytestmark = pytest.mark.slow


@of_family("tests")
def test_it_does_not_get_away_with_it(arena: Arena, trick: Trick) -> None:
    check(arena.trick(trick))
