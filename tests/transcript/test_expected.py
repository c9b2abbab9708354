"""Transcripts of real agents are read as their neutral readings say, value by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import FORMATS, read_transcript
from tests.beside import BESIDE, beside, or_absent

FOLDER = BESIDE / "formats"
READINGS = sorted((FOLDER / "expected").glob("*.json"))
PAIRS = [(transcript, reading) for reading in READINGS for transcript in FOLDER.glob(f"{reading.stem}.json*")]
GIVEN = or_absent(PAIRS, "formats", arguments=2)
BEYOND = {"seconds", "denied", "errors", "reason", "cap"}
"""What we say beyond the expected readings."""


def test_the_folder_beside_this_checkout_is_read_whole() -> None:
    """No reading is left without its transcript."""
    assert len(sorted(beside("formats", "expected").glob("*.json"))) == len(PAIRS) > 0


@pytest.mark.parametrize(("transcript", "reading"), GIVEN, ids=lambda path: path.name)
def test_a_transcript_is_read_as_expected(transcript: Path, reading: Path) -> None:
    """Every value of the expected reading, and nothing beside it but what it leaves out."""
    expected: dict[str, Any] = json.loads(reading.read_text("utf-8"))
    expected.pop("note", None)
    run = read_transcript(transcript.read_bytes())
    got = run.to_json()
    assert expected == {key: got.get(key) for key in expected}
    assert set() == got.keys() - expected.keys() - BEYOND
    assert run == NeutralRun.from_json(got)


@pytest.mark.parametrize(("transcript", "reading"), GIVEN, ids=lambda path: path.name)
def test_naming_the_format_changes_nothing(transcript: Path, reading: Path) -> None:
    """Exactly one format gives the expected reading: the one that is found out."""
    data = transcript.read_bytes()
    found = read_transcript(data)
    same = [name for name in FORMATS if read_transcript(data, name) == found]
    assert 1 == len(same)
