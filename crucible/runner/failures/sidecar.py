"""The record that a frozen failure was seen failing: a small file committed beside it.

It holds no transcript, only the hash of one, and it is bound to what the scenario asserted then.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from crucible.errors import Problem, ScenarioError, StoreError
from crucible.scenario.failure import Count, Failure
from crucible.scenario.load import shown_path


@dataclass(frozen=True, slots=True)
class Seen:
    """How it was seen. `failed` of `of` valid runs failed on what the scenario asserts, of `planned` at most.

    `counted` is True when all of the planned runs were made: only then do the two say how often it fails. `dimensions`
    are those of the first failing run, `verdict` its line, `transcript_sha256` the hash of its transcript.
    `code` is what `git describe` says of the code that failed, None where there is no repository.
    """

    scenario_sha256: str
    failed: int
    of: int
    planned: int
    counted: bool
    dimensions: tuple[str, ...]
    verdict: str
    transcript_sha256: str
    agent: str
    format: str | None
    code: str | None
    date: str
    crucible: str

    @property
    def count(self) -> Count | None:
        """How often it failed, where that was counted."""
        return Count(self.failed, self.of) if self.counted else None

    def write(self, path: Path) -> None:
        """Replace the file, whole or not at all. Raises StoreError where it cannot be."""
        beside = _beside(path)
        try:
            beside.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise _cannot(path, error) from None

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `write` wrote. Raises ValueError for anything else."""
        names = {one.name for one in fields(cls)}
        found = set(data) if isinstance(data, dict) else set()
        if found != names:
            raise ValueError(f"the keys are not those of such a file: {', '.join(sorted(found ^ names))}")
        for name, (what, holds) in _MUST_BE.items():
            if not holds(data[name]):
                raise ValueError(f"{name} must be {what}, got {json.dumps(data[name])[:80]}")
        failed, of, planned = data["failed"], data["of"], data["planned"]
        if not 1 <= failed <= of <= planned:
            raise ValueError(f"failed, of, planned must be in order from 1, got {failed}, {of}, {planned}")
        return cls(**data | {"dimensions": tuple(data["dimensions"])})


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


_TEXT: Final = ("text", _is_text)
_MAYBE_TEXT: Final = ("text or null", lambda value: value is None or _is_text(value))
_COUNT: Final = (
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9,
)
_MUST_BE: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    **dict.fromkeys(("scenario_sha256", "verdict", "transcript_sha256", "agent", "crucible"), _TEXT),
    **dict.fromkeys(("format", "code"), _MAYBE_TEXT),
    **dict.fromkeys(("failed", "of", "planned"), _COUNT),
    "counted": ("true or false", lambda value: isinstance(value, bool)),
    "dimensions": (
        "a list of texts",
        lambda value: isinstance(value, list) and value != [] and all(map(_is_text, value)),
    ),
    "date": ("a date", _is_date),
}


def check_place(path: Path) -> None:
    """That a record can be written there, asked before anything is spent on one. Raises StoreError."""
    beside = _beside(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise _cannot(path, error) from None


def _beside(path: Path) -> Path:
    """A file of this process alone: two that write one record at once do not get into each other's way."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def _cannot(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be written: {error.strerror}", hint="the record has to lie beside the scenario")


def read_seen(failure: Failure, bench: Path) -> Seen | None:
    """The record of a failure; None when there is none. Raises ScenarioError for one that was tampered with."""
    path = failure.seen_path
    if not path.exists():
        return None
    file = shown_path(path, bench)
    hint = "it is written by `crucible repro`, not by hand"
    try:
        return Seen.from_json(json.loads(path.read_bytes()))
    except json.JSONDecodeError as error:
        raise ScenarioError(
            [Problem(file, error.lineno, f"column {error.colno}: not JSON: {error.msg}")], hint=hint
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise ScenarioError([Problem(file, 1, f"cannot be used: {error}")], hint=hint) from None


def code_version(folder: Path) -> str | None:
    """`git describe` of the code in a folder, with `-dirty` for changes not committed; None where git knows nothing."""
    command = ["git", "-C", str(folder), "describe", "--always", "--tags", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
