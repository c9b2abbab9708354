"""Data that lies beside this checkout: oracles, transcripts and documents that tests are held against."""

from __future__ import annotations

from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2] / "shared"


def beside(*parts: str) -> Path:
    """A file or folder of it. A checkout that stands alone skips the test, and says what is absent."""
    path = BESIDE.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"not beside this checkout: {path}")
    return path
