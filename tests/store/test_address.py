"""The address of a store as people see it: on the screen, in errors, never with its password."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.errors import StoreError
from crucible.store.engine import as_shown
from crucible.store.writes import Store


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("results/crucible.db", "results/crucible.db"),
        (Path("/tmp/x.db"), "/tmp/x.db"),
        ("postgresql://host/name", "postgresql://host/name"),
        ("postgresql+psycopg://me:s3cret@host:5/name", "postgresql+psycopg://me:***@host:5/name"),
        ("postgresql://me:s3%40cret@host/name", "postgresql://me:***@host/name"),
        ("postgresql://host/name?password=s3cret", "postgresql://host/name?password=..."),
        ("postgresql://me:s3cret@host:port/name", "postgresql://..."),
    ],
)
def test_an_address_is_shown_without_its_password(where: str | Path, shown: str) -> None:
    assert shown == as_shown(where)


def test_an_open_store_is_known_by_that_address(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        assert str(tmp_path / "store.db") == store.where


@pytest.mark.parametrize(
    ("where", "gist"),
    [
        ("mysql+nope://me:s3cret@host/name", "is no address of a database"),
        ("postgresql://me:s3cret@host:port/name", "is no address of a database"),
        ("://me:s3cret@host/name", "is no address of a database"),
        ("postgresql+psycopg://me:s3cret@host/name", "needs the Python package psycopg"),
    ],
)
def test_a_store_that_cannot_be_reached_is_a_readable_error_without_the_password(where: str, gist: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store(where)
    assert gist in caught.value.message
    assert "s3cret" not in "".join(caught.value.lines())
