"""The oracle: numbers computed elsewhere, with other people's libraries, in a folder beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "oracle" / "statistics"


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Any]:
    """Reads one oracle file by its name without `.json`."""

    def read(name: str) -> Any:
        path = FOLDER / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no oracle beside this checkout: {path}")
        return json.loads(path.read_text())

    return read


@pytest.fixture(scope="session")
def published(oracle: Callable[[str], Any]) -> dict[str, Any]:
    """The published examples by id."""
    return {example["id"]: example for example in oracle("published_examples")["examples"]}
