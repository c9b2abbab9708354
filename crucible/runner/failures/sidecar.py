"""The record that a frozen failure was seen failing: a small file committed beside it.

It holds no transcript, only the hash of one, and it is bound to what the scenario asserted then.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from crucible.errors import Problem, ScenarioError
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
        """Replace the file, whole or not at all."""
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.replace(path)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read what `write` wrote. Raises ValueError for anything else."""
        names = {one.name for one in fields(cls)}
        found = set(data) if isinstance(data, dict) else set()
        if found != names:
            raise ValueError(f"the keys are not those of such a file: {', '.join(sorted(found ^ names))}")
        failed, of, planned = data["failed"], data["of"], data["planned"]
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in (failed, of, planned)):
            raise ValueError("failed, of and planned must be whole numbers")
        if not 1 <= failed <= of <= planned:
            raise ValueError(f"failed, of, planned must be in order from 1, got {failed}, {of}, {planned}")
        return cls(**data | {"dimensions": tuple(data["dimensions"])})


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
