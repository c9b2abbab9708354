"""The tables. Append-only: a row that is final is never updated; a re-judge adds rows under a new judge version.

Times are UTC in ISO 8601, durations seconds, money US dollars, sizes bytes. NULL is unknown, never zero.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Index, LargeBinary, UniqueConstraint, false
from sqlmodel import Field, SQLModel

from crucible.store.judged import JudgementRow, JudgeRow, LabelRow, ScoreRow, TotalRow

__all__ = [
    "AttemptRow",
    "ChangedFileRow",
    "EventRow",
    "FirstRequestRow",
    "FlagRow",
    "JudgeRow",
    "JudgementRow",
    "LabelRow",
    "LookRow",
    "PlannedRow",
    "RunRow",
    "ScenarioRow",
    "ScoreRow",
    "TestReportRow",
    "TotalRow",
    "ValidationRow",
]


def _empty_list() -> Column[Any]:
    return Column(JSON, nullable=False, server_default="[]")


class ScenarioRow(SQLModel, table=True):
    """A scenario as it was run: its text, the fixture's digest and the reference, named by their common hash."""

    __tablename__ = "scenario"
    hash: str = Field(primary_key=True)
    name: str = Field(index=True)
    text: str
    fixture_digest: str
    reference_text: str
    created_at: str


class ValidationRow(SQLModel, table=True):
    """One check that a scenario is red as it stands and green with its reference. The latest one counts.

    `repeats`: how often each state was tested. `quarantined`: tests that changed their result, left out of every verdict.
    `controlled`: tests that a negative control (wrong expected values) turns red, as it must.
    """

    __tablename__ = "validation"
    id: int | None = Field(default=None, primary_key=True)
    scenario_hash: str = Field(foreign_key="scenario.hash", index=True)
    created_at: str
    sandbox: str
    python: str
    ok: bool
    problems: list[str] = Field(sa_column=Column(JSON, nullable=False))
    expected: list[str] = Field(sa_column=Column(JSON, nullable=False))
    failing_before: list[str] = Field(sa_column=Column(JSON, nullable=False))
    passing_before: list[str] = Field(sa_column=Column(JSON, nullable=False))
    seconds: float
    canary: str | None = None
    repeats: int = Field(default=2, sa_column_kwargs={"server_default": "2"})
    quarantined: list[str] = Field(default_factory=list, sa_column=_empty_list())
    controlled: list[str] = Field(default_factory=list, sa_column=_empty_list())


class RunRow(SQLModel, table=True):
    """One `crucible run`: a stored plan of attempts. `owner` is the host and process that last worked on it.

    Declared before the first attempt: `primary_metric` (pass_rate or score) is what the verdict is about, `margin` (a share
    of attempts, or score points) what counts as equivalent, `sequential` whether the run may stop before `blocks` is
    reached. `kind` is comparison, aa for an arm against itself, or control for one attempt that only shows that the
    treatment can be used; `suite` names the nightly suite a run belongs to. `tools` are tool servers that others were put
    in the place of, by name.
    """

    __tablename__ = "run"
    id: int | None = Field(default=None, primary_key=True)
    created_at: str
    ended_at: str | None = None
    status: str
    rehearsal: bool
    seed: int
    blocks: int
    sandbox: str
    judge: str
    judge_samples: int
    parallel: int
    max_cost_usd: float | None = None
    without_extra_tools: bool = False
    version: str
    bench: str
    owner: str | None = None
    kind: str = Field(default="comparison", sa_column_kwargs={"server_default": "comparison"})
    primary_metric: str = Field(default="pass_rate", sa_column_kwargs={"server_default": "pass_rate"})
    margin: float = Field(default=0.10, sa_column_kwargs={"server_default": "0.1"})
    sequential: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    suite: str | None = Field(default=None, index=True)
    tools: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False, server_default="{}"))


class PlannedRow(SQLModel, table=True):
    """One attempt a run is to make; `position` is its place in the seeded order."""

    __tablename__ = "planned"
    run_id: int = Field(foreign_key="run.id", primary_key=True)
    position: int = Field(primary_key=True)
    scenario_hash: str = Field(foreign_key="scenario.hash")
    block: int
    arm: str
    model: str
    baseline: bool
    __table_args__ = (UniqueConstraint("run_id", "scenario_hash", "arm", "block"),)


class AttemptRow(SQLModel, table=True):
    """One arm, once, on one scenario. `ending` is NULL while it runs; `counted` only when it is final.

    A row that does not count is followed by another with the next `retry`; the highest retry stands.
    `setup`: what was run otherwise than the scenario says, empty for nothing; attempts with different ones are never
    pooled. `agent`: name and version of the agent CLI, NULL for the built-in loop. `servers`: what each tool server
    really was, by the name that the arm has for it.
    """

    __tablename__ = "attempt"
    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    scenario_hash: str = Field(foreign_key="scenario.hash")
    scenario: str
    arm: str
    block: int
    retry: int
    baseline: bool
    model: str
    rehearsal: bool
    session: str | None = None
    sandbox: str
    started_at: str
    ended_at: str | None = None
    ending: str | None = None
    cause: str | None = None
    detail: str = ""
    counted: bool | None = None
    passed: bool | None = None
    turns: int | None = None
    tool_calls: int | None = None
    blocked: int | None = None
    warned: int | None = None
    got_past: int | None = None
    seconds: float | None = None
    waited_seconds: float | None = None
    overhead_seconds: float | None = None
    input_uncached: int | None = None
    input_cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    scripted_usage: bool = False
    diff: str | None = None
    diff_size: int | None = None
    similarity: float | None = None
    structural: float | None = None
    textual: float | None = None
    similarity_reasons: list[str] = Field(default_factory=list, sa_column=Column(JSON, nullable=False))
    size_ratio: float | None = None
    setup: str = Field(default="", sa_column_kwargs={"server_default": ""})
    agent: str | None = None
    servers: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False, server_default="{}"))
    __table_args__ = (
        UniqueConstraint("run_id", "scenario_hash", "arm", "block", "retry"),
        Index(
            "attempt_leaderboard",
            *("rehearsal", "scenario", "scenario_hash", "arm", "model", "setup"),
            *("counted", "passed", "cost_usd", "tokens", "seconds", "run_id"),
        ),
    )


class FlagRow(SQLModel, table=True):
    """Something a reader must know of an attempt beside its score, with the call that did it where one is known.

    `kind`: history (read for earlier versions), grader (looked for what grades it), judge (text addressed to a judge),
    limit (a limit of the sandbox was met), survivor (a process outlived the attempt and was ended).
    """

    __tablename__ = "flag"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    seq: int = Field(primary_key=True)
    kind: str
    turn: int
    call_id: str
    detail: str


class LookRow(SQLModel, table=True):
    """One look at a run that may stop early: after `pairs` attempts of each arm on one scenario, what was decided.

    `z` is the statistic, `boundary` what it had to reach; `decision` is continue, decided or futile.
    """

    __tablename__ = "look"
    run_id: int = Field(foreign_key="run.id", primary_key=True)
    scenario_hash: str = Field(foreign_key="scenario.hash", primary_key=True)
    pairs: int = Field(primary_key=True)
    passed_treatment: int
    passed_baseline: int
    z: float
    boundary: float | None
    decision: str
    at: str


class FirstRequestRow(SQLModel, table=True):
    """What an arm was first asked, named by its content: the JSON text of everything that could set two arms apart."""

    __tablename__ = "first_request"
    sha256: str = Field(primary_key=True)
    data: str


class EventRow(SQLModel, table=True):
    """One event of a transcript, in order; `data` is the event as JSON text."""

    __tablename__ = "event"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    seq: int = Field(primary_key=True)
    kind: str
    turn: int
    at: float
    data: str


class ChangedFileRow(SQLModel, table=True):
    """One file of an attempt's change. `after` is its compressed bytes, NULL when deleted or above the cap."""

    __tablename__ = "changed_file"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    path: str = Field(primary_key=True)
    status: str
    old_path: str | None = None
    mode_before: int | None = None
    mode_after: int | None = None
    size_before: int | None = None
    size_after: int | None = None
    sha256_after: str | None = None
    graded: bool
    left_out: str | None = None
    after: bytes | None = Field(default=None, sa_column=Column(LargeBinary))


class TestReportRow(SQLModel, table=True):
    """What the suite said about an attempt's result in a clean copy.

    `control`: tests that passed although their expected values were wrong; NULL where no such control was made.
    """

    __tablename__ = "test_report"
    attempt_id: int = Field(foreign_key="attempt.id", primary_key=True)
    state: str
    exit_code: int | None
    seconds: float
    passed: list[str] = Field(sa_column=Column(JSON, nullable=False))
    failed: list[str] = Field(sa_column=Column(JSON, nullable=False))
    fixed: list[str] = Field(sa_column=Column(JSON, nullable=False))
    broke: list[str] = Field(sa_column=Column(JSON, nullable=False))
    missing: list[str] = Field(sa_column=Column(JSON, nullable=False))
    detail: str
    output: str
    control: list[str] | None = Field(default=None, sa_column=Column(JSON))
