"""Judged scores and what people said of the same: everything that agreement with a judge is computed from."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlmodel import col, delete

from crucible.store.tables import LabelRow
from crucible.store.writes import Store, now


@dataclass(frozen=True, slots=True)
class JudgedScore:
    """One dimension of one counted attempt as a judge model scored it, in [0, 1], after the clamps.

    It is the newest judging by a model; `judge`, `samples` and `prompt_hash` are its version without the rubric.
    """

    attempt_id: int
    run_id: int
    scenario: str
    arm: str
    dimension: str
    value: float
    judge: str
    samples: int
    prompt_hash: str


@dataclass(frozen=True, slots=True)
class Label:
    """The newest word of one person on one dimension of one attempt: 0 to 5, or None for "cannot say"."""

    attempt_id: int
    dimension: str
    labeller: str
    value: int | None


# A run named by its number is looked at even when it is a rehearsal; without one, rehearsals are left out.
_ONLY = "a.counted AND CASE WHEN :run IS NULL THEN a.rehearsal = :no ELSE a.run_id = :run END"
_SCORES = text(f"""
SELECT a.id, a.run_id, a.scenario, a.arm, s.dimension, s.value, j.model, j.samples, j.prompt_hash
FROM attempt a JOIN total t ON t.attempt_id = a.id JOIN judge j ON j.id = t.judge_id
JOIN score s ON s.attempt_id = a.id AND s.judge_id = t.judge_id
WHERE {_ONLY} AND j.model <> 'facts' AND s.asked > 0 AND s.value IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM total l JOIN judge k ON k.id = l.judge_id
                WHERE l.attempt_id = a.id AND k.model <> 'facts' AND l.seq > t.seq)
ORDER BY a.id, s.dimension
""")  # noqa: S608 - put together from constants
_LABELS = text(f"""
SELECT l.attempt_id, l.dimension, l.labeller, l.value FROM label l JOIN attempt a ON a.id = l.attempt_id
WHERE {_ONLY} ORDER BY l.id
""")  # noqa: S608 - put together from constants


def judged_scores(store: Store, run_id: int | None = None) -> list[JudgedScore]:
    """Every score a judge model gave: of one run, or of all real ones."""
    with store.reading() as session:
        rows = session.connection().execute(_SCORES, {"run": run_id, "no": False})
        return [JudgedScore(*row) for row in rows]


def labels(store: Store, run_id: int | None = None) -> list[Label]:
    """Every label that stands: a person's newest on an attempt's dimension; of one run, or of all real ones."""
    with store.reading() as session:
        rows = session.connection().execute(_LABELS, {"run": run_id, "no": False})
        return list({tuple(row[:3]): Label(*row) for row in rows}.values())


def add_label(
    store: Store, attempt_id: int, dimension: str, value: int | None, labeller: str, seconds: float | None
) -> int:
    """Keep what a person said; its number. `seconds` is how long they looked."""
    row = LabelRow(
        attempt_id=attempt_id, dimension=dimension, value=value, labeller=labeller, created_at=now(), seconds=seconds
    )
    store.add(row)
    assert row.id is not None  # noqa: S101 - set when it was stored
    return row.id


def take_back_label(store: Store, label_id: int) -> None:
    """Delete a label: a slip of the finger that was noticed at once is no opinion to be kept."""
    with store.writing() as session:
        session.execute(delete(LabelRow).where(col(LabelRow.id) == label_id))


def label_row(store: Store, label_id: int) -> LabelRow | None:
    """One label by its number; None when there is none."""
    with store.reading() as session:
        return session.get(LabelRow, label_id)
