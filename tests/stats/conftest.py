"""The oracle: numbers computed elsewhere, with other people's libraries, in a folder beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.beside import beside


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Any]:
    """Reads one oracle file by its name without `.json`."""

    def read(name: str) -> Any:
        return json.loads(beside("oracle", "statistics", f"{name}.json").read_text())

    return read


@pytest.fixture(scope="session")
def published(oracle: Callable[[str], Any]) -> dict[str, Any]:
    """The published examples by id."""
    return {example["id"]: example for example in oracle("published_examples")["examples"]}
