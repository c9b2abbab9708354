"""Rehearsal files: hand-written sessions beside a scenario that drive the real machinery without a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crucible.errors import Problem, ScenarioError, UsageError

SUFFIX = ".rehearsal.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedCall(_Strict):
    """One tool call: `args`, or `raw` text for arguments that are malformed on purpose."""

    tool: str
    args: dict[str, Any] | None = None
    raw: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.args is None) == (self.raw is None):
            raise ValueError("a call has either args or raw")
        return self

    @property
    def raw_arguments(self) -> str:
        """The arguments as a model would have sent them."""
        return self.raw if self.raw is not None else json.dumps(self.args, ensure_ascii=False)


class ScriptedTurn(_Strict):
    """One model reply; a turn without calls ends the session."""

    say: str = ""
    calls: tuple[ScriptedCall, ...] = ()


class ScriptedJudgement(_Strict):
    """One reply of the judge: the asked fields, or `raw` text that is not what was asked."""

    evidence: tuple[str, ...] | None = None
    reasoning: str | None = None
    score: int | None = None
    raw: str | None = None

    @property
    def text(self) -> str:
        """The reply as a judge model would have sent it."""
        if self.raw is not None:
            return self.raw
        asked = {"evidence": list(self.evidence or ()), "reasoning": self.reasoning, "score": self.score}
        return json.dumps(asked, ensure_ascii=False)


class Session(_Strict):
    """One scripted attempt of one arm, and what the judge says of it."""

    arm: str
    title: str
    turns: Annotated[tuple[ScriptedTurn, ...], Field(min_length=1)]
    judge: dict[str, tuple[ScriptedJudgement, ...]] = Field(default_factory=dict)


class Rehearsal(_Strict):
    """A rehearsal file. `handwritten` says that no model wrote any of it."""

    handwritten: Literal[True]
    sessions: Annotated[tuple[Session, ...], Field(min_length=1)]

    def session(self, arm: str, block: int) -> Session:
        """The session an arm plays in a block (counted from 1); they take turns."""
        mine = [session for session in self.sessions if session.arm == arm]
        return mine[(block - 1) % len(mine)]


def rehearsal_path(scenario: Path) -> Path:
    """Where the rehearsal of a scenario file lies."""
    return scenario.with_name(scenario.name.removesuffix(".md") + SUFFIX)


def load_rehearsal(path: Path, arms: Sequence[str]) -> Rehearsal:
    """Read a rehearsal file that has a session for every arm. Raises UsageError or ScenarioError with file:line."""
    if not path.exists():
        raise UsageError(
            f"{path}: there is no rehearsal for this scenario",
            hint="write one beside the scenario file, or run with a model",
        )
    try:
        rehearsal = Rehearsal.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise ScenarioError([Problem(str(path), mark.line + 1 if mark else 1, f"not YAML: {what}")]) from None
    except ValidationError as error:
        problems = [Problem(str(path), 1, f"{'.'.join(map(str, e['loc']))}: {e['msg']}") for e in error.errors()]
        raise ScenarioError(problems) from None
    if lacking := set(arms) - {session.arm for session in rehearsal.sessions}:
        raise ScenarioError([Problem(str(path), 1, f"no session for arm {arm!r}") for arm in sorted(lacking)])
    return rehearsal
