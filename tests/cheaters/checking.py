"""What every family's test asks of a trick."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crucible.selftest.catalog import Family, Trick, tricks
from crucible.selftest.results import Result

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def of_family(family: Family) -> Any:
    """A test for each trick of a family."""
    mine = [trick for trick in tricks() if trick.family == family]
    return pytest.mark.parametrize("trick", mine, ids=lambda trick: trick.id)


def check(result: Result) -> None:
    """It did not get away with it, what stopped it is a defence meant for it, and the page says the same."""
    assert (result.escaped, result.not_run) == (None, None)
    meant, kinds = set(result.trick.stopped_by), {stop.kind for stop in result.stops}
    assert not meant or meant & kinds, result.said
    assert told(result.trick) == result.said, "run `make docs`"


def told(trick: Trick) -> str:
    """What docs/security.md says stopped a trick."""
    return rows().get(trick.id, "nothing: it is not on the page")


@cache
def rows() -> dict[str, str]:
    """The last cell of every row of docs/security.md whose first cell is an id."""
    found = re.findall(r"^\| `([a-z0-9-]+)` \| .* \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return dict(found)
