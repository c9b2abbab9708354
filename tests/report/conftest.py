"""A store of its own for each test of a report, and attempts by the handful."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crucible.store.writes import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(tmp_path / "store.db") as made:
        yield made
