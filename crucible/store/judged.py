"""Tables of judging: who judged, what was replied, the scores, the totals, and what people said of the same.

Append-only: a re-judge adds rows under a new judge version. NULL is unknown, never zero.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Index
from sqlmodel import Field, SQLModel


class JudgeRow(SQLModel, table=True):
    """One judge version: model, prompt, rubric and samples, named by their common hash."""

    __tablename__ = "judge"
    id: str = Field(primary_key=True)
    model: str
    samples: int
    prompt_hash: str
    rubric_hash: str
    created_at: str


class JudgementRow(SQLModel, table=True):
    """One raw reply of a judge, kept whether it could be read or not."""

    __tablename__ = "judgement"
    id: int | None = Field(default=None, primary_key=True)
    attempt_id: int = Field(foreign_key="attempt.id", index=True)
    judge_id: str = Field(foreign_key="judge.id")
    dimension: str
    sample: int
    asking: int
    reply: str
    error: str | None
    usage: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class ScoreRow(SQLModel, table=True):
    """One dimension of one attempt under one judge version; `value` NULL means not scored, for `reason`."""

    __tablename__ = "score"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    judge_id: str = Field(foreign_key="judge.id", primary_key=True)
    dimension: str = Field(primary_key=True)
    weight: float
    value: float | None
    reason: str | None
    raw: float | None
    samples: list[int] = Field(sa_column=Column(JSON, nullable=False))
    asked: int = 0
    clamps: list[dict[str, Any]] = Field(sa_column=Column(JSON, nullable=False))
    evidence: list[str] = Field(sa_column=Column(JSON, nullable=False))
    reasoning: str


class TotalRow(SQLModel, table=True):
    """The weighted total of one attempt under one judge version. `value` is NULL while a dimension is missing.

    Scenario, arm, model, setup and rehearsal are the attempt's own, copied when the row is added and never changed after,
    as the attempt is final: the leaderboard then reads two covering indexes and joins nothing.
    """

    __tablename__ = "total"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    judge_id: str = Field(foreign_key="judge.id", primary_key=True)
    seq: int = Field(index=True, description="Order of judging; the highest of an attempt is the one shown.")
    value: float | None
    partial: float | None
    weight_scored: float
    missing: list[str] = Field(sa_column=Column(JSON, nullable=False))
    cuts: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    scenario: str = ""
    scenario_hash: str = Field(default="", sa_column_kwargs={"server_default": ""})
    arm: str = ""
    model: str = ""
    setup: str = Field(default="", sa_column_kwargs={"server_default": ""})
    rehearsal: bool = False
    __table_args__ = (
        Index("total_latest", "attempt_id", "seq"),
        Index(
            "total_leaderboard",
            *("rehearsal", "scenario", "scenario_hash", "arm", "model", "setup", "judge_id"),
            *("attempt_id", "seq", "value"),
        ),
    )


class LabelRow(SQLModel, table=True):
    """What a person said of one dimension of one attempt, blind to its arm: 0 to 5, or NULL for "cannot say"."""

    __tablename__ = "label"
    id: int | None = Field(default=None, primary_key=True)
    attempt_id: int = Field(foreign_key="attempt.id", index=True)
    dimension: str
    value: int | None
    labeller: str
    created_at: str
    seconds: float | None = None
