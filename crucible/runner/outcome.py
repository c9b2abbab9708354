"""What an attempt came to, as rows: its change, its test report, its likeness to the reference."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import SQLModel

from crucible.agents.types import Ending
from crucible.redaction import redact_bytes
from crucible.runner.prepare import Prepared
from crucible.runner.validate import Validation
from crucible.scoring.apart import compare
from crucible.scoring.grading import Graded
from crucible.scoring.scaffolding import Filtered
from crucible.scoring.similarity import Similarity
from crucible.store.tables import ChangedFileRow, TestReportRow
from crucible.world.diff import DiffText, render_diff
from crucible.world.types import Change, FileChange, FileState

MOST_FILES = 2000
"""Changed files stored one by one; above it the rest are counted in the diff only."""
MOST_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended and, when it got that far, what came out. Without `graded` only the ending is known."""

    ending: Ending
    seconds: float | None = None
    change: Change | None = None
    filtered: Filtered | None = None
    graded: Graded | None = None
    validation: Validation | None = None
    likeness: Similarity | None = None
    ratio: float | None = None
    diff: DiffText | None = None

    @property
    def suite_seconds(self) -> float:
        """Time the suite took, which is not overhead of ours."""
        return self.graded.seconds + self.graded.control_seconds if self.graded else 0.0

    def columns(self) -> dict[str, Any]:
        """Columns of the attempt row."""
        if self.graded is None or self.likeness is None or self.diff is None:
            return {"seconds": self.seconds}
        return {
            "seconds": self.seconds,
            "passed": self.graded.green,
            "diff": self.diff.text,
            "diff_size": self.diff.true_size,
            "similarity": self.likeness.combined,
            "structural": self.likeness.structural,
            "textual": self.likeness.textual,
            "similarity_reasons": list(self.likeness.reasons),
            "size_ratio": self.ratio,
        }

    def rows(self, attempt_id: int) -> list[SQLModel]:
        """Rows that belong to the attempt."""
        if self.change is None or self.filtered is None or self.graded is None or self.validation is None:
            return []
        files = [_file_row(attempt_id, f, self.filtered.left_out.get(f.path)) for f in self.change.files[:MOST_FILES]]
        return [*files, _report_row(attempt_id, self.graded, self.validation)]


async def measure(
    prepared: Prepared,
    validation: Validation,
    ending: Ending,
    change: Change,
    filtered: Filtered,
    graded: Graded,
    seconds: float,
) -> Outcome:
    """Compare a graded change with the reference. Likeness looks at what was graded, never at scaffolding left out."""
    candidate = after_bytes(filtered.graded)
    reference = prepared.reference.after
    before = {path: data for path in {*candidate, *reference} if (data := prepared.before(path)) is not None}
    found = await compare(before, candidate, reference)
    return Outcome(
        ending=ending,
        seconds=seconds,
        change=change,
        filtered=filtered,
        graded=graded,
        validation=validation,
        likeness=found.similarity,
        ratio=found.ratio,
        diff=render_diff(change),
    )


def after_bytes(change: Change) -> Mapping[str, bytes | None]:
    """Bytes of every changed path after the change; None when deleted."""
    after: dict[str, bytes | None] = {}
    for file in change.files:
        if file.old_path is not None:
            after[file.old_path] = None
        after[file.path] = None if file.after is None else file.after.data or b""
    return after


def _file_row(attempt_id: int, file: FileChange, left_out: str | None) -> ChangedFileRow:
    before, after = file.before, file.after
    return ChangedFileRow(
        attempt_id=attempt_id,
        path=file.path,
        status=file.status,
        old_path=file.old_path,
        mode_before=before.mode if before else None,
        mode_after=after.mode if after else None,
        size_before=before.size if before else None,
        size_after=after.size if after else None,
        sha256_after=after.sha256 if after else None,
        graded=left_out is None,
        left_out=left_out,
        after=_packed(after),
    )


def _packed(state: FileState | None) -> bytes | None:
    if state is None or state.data is None or len(state.data) > MOST_BYTES:
        return None
    return zlib.compress(redact_bytes(state.data))


def _report_row(attempt_id: int, graded: Graded, validation: Validation) -> TestReportRow:
    passed, failed = graded.passed or frozenset(), graded.failed or frozenset()
    return TestReportRow(
        attempt_id=attempt_id,
        state=graded.state,
        exit_code=graded.exit_code,
        seconds=graded.seconds,
        passed=sorted(passed),
        failed=sorted(failed),
        fixed=sorted(passed & (validation.expected - validation.passing_before)),
        broke=sorted(validation.passing_before - passed),
        missing=sorted(graded.missing),
        detail=graded.detail,
        output=graded.output,
        control=None if graded.control is None else list(graded.control),
    )
