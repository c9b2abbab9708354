"""What runs of frozen failures leave behind, written as they end: one line each, and its transcript beside it.

results/failures/cleanup-archives-tickets-confirm-20260301T120000Z/journal.jsonl
                                                                   run-01.txt
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from crucible.errors import StoreError
from crucible.redaction import redact
from crucible.runner.failures.made import Made


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raises StoreError where it cannot be written: no more is spent on runs that nobody would ever see."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written: {error.strerror}",
            hint="make room, or make it writable; what was kept before is there",
        ) from None


class Journal:
    """A folder of its own for every series of runs."""

    def __init__(self, root: Path, name: str, plan: Mapping[str, Any]) -> None:
        self.folder = _new_folder(root / "failures", name)
        self._write({"at": _now().isoformat(timespec="seconds"), "plan": plan})

    def add(self, made: Made, transcript: bytes) -> None:
        """Keep one run."""
        name = f"run-{made.number:02}.txt"
        with _writing(self.folder):
            (self.folder / name).write_bytes(transcript)
        self._write({"at": _now().isoformat(timespec="seconds"), **made.to_json(), "transcript": name})

    def close(self, verdict: Mapping[str, Any]) -> None:
        """Say what came of it all."""
        self._write({"at": _now().isoformat(timespec="seconds"), "verdict": verdict})

    def _write(self, line: Mapping[str, Any]) -> None:
        with _writing(self.folder), (self.folder / "journal.jsonl").open("a", encoding="utf-8") as journal:
            journal.write(redact(json.dumps(line, ensure_ascii=False, allow_nan=False)) + "\n")


def _now() -> datetime:
    return datetime.now(UTC)


def _new_folder(parent: Path, name: str) -> Path:
    with _writing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{_now():%Y%m%dT%H%M%SZ}"
    for number in count(1):
        folder = parent / (stem if number == 1 else f"{stem}-{number}")
        with _writing(parent), suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("count() does not end")
