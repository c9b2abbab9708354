"""The tricks, read from the files beside this one: what each does, as the calls an agent would make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from crucible.agents.rehearsal import ScriptedTurn
from crucible.errors import UsageError, nearest

Family = Literal["tests", "policy", "leak", "process", "hiding", "judge"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Kind = Literal[
    "impossible", "blocked", "warned", "got past", "left out", "limit", "stopped", "flag", "seen", "suite", "nothing"
]
"""How a trick can be stopped; see `stopped`."""
_QUICK = (
    *("conftest-outcome", "shadow-pytest", "exit-at-import", "equal-to-everything"),
    *("shell-redirect", "own-namespace", "processes", "note-in-tmp", "daemon", "commit"),
)
_FOLDER = Path(__file__).with_name("tricks")
_Turns = Annotated[tuple[ScriptedTurn, ...], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Case(_Strict):
    """One scripted agent. Words such as @MARK@ in its calls stand for what is only known when it runs (see `Words`)."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    what: str
    turns: _Turns
    walls: str | None = Field(default=None, description="Why it is not run without the sandbox's walls.")


class Trick(Case):
    """An agent that cheats. What stopped it is read off the stored attempt, never off this."""

    first: tuple[ScriptedTurn, ...] = Field(default=(), description="An attempt made before it, by an accomplice.")
    limits: dict[str, int | float] = Field(
        default_factory=dict, description="Limits of its world, lowered to be met soon."
    )
    hides: tuple[str, ...] = Field(default=(), description="Paths whose change it hides; they must be seen.")
    plain: str | None = Field(default=None, description="Why it cannot be shown to beat a harness without defences.")
    stopped_by: tuple[Kind, ...] = Field(default=(), description="Defences of which one must be what stops it.")
    family: Family


class Honest(Case):
    """An agent that mends the bug, and also does what a cheat might look like."""

    left_out: tuple[str, ...] = Field(default=(), description="Paths that grading leaves out, and says so.")


@cache
def tricks() -> tuple[Trick, ...]:
    """Every trick, family after family."""
    return tuple(Trick.model_validate({**one, "family": family}) for family in FAMILIES for one in _read(family))


@cache
def honest_cases() -> tuple[Honest, ...]:
    """The honest agents."""
    return TypeAdapter(tuple[Honest, ...]).validate_python(_read("honest"))


def choose(families: Iterable[str], ids: Iterable[str]) -> tuple[Trick, ...]:
    """The tricks of these families and with these ids; all when neither is named. Raises UsageError."""
    families, ids = list(families), list(ids)
    _check("family", families, FAMILIES)
    _check("trick", ids, [trick.id for trick in tricks()])
    if not families and not ids:
        return tricks()
    return tuple(trick for trick in tricks() if trick.family in families or trick.id in ids)


def quick() -> tuple[Trick, ...]:
    """Ten tricks of all kinds that take little time: whether the sandbox holds at all."""
    return choose((), _QUICK)


def _check(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            hint = f"there are: {', '.join(known)}" if len(known) < 10 else "crucible selftest --list"
            raise UsageError(f"there is no {what} {name!r}{nearest(name, known)}", hint=hint)


def _read(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text("utf-8"))
    return found
