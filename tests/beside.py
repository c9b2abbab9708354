"""Data that lies beside this checkout: oracles, transcripts and documents that tests are held against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[2] / "shared"


def beside(*parts: str) -> Path:
    """A file or folder of it. A checkout that stands alone skips the test, and says what is absent."""
    path = BESIDE.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"not beside this checkout: {path}")
    return path


def or_absent(found: Sequence[Any], *parts: str, arguments: int = 1) -> Sequence[Any]:
    """What a test of so many arguments is parametrized with; where nothing was found there, one case that is skipped."""
    skipped = pytest.mark.skip(reason=f"not beside this checkout: {BESIDE.joinpath(*parts)}")
    return found or [pytest.param(*[None] * arguments, marks=skipped, id="absent")]
