"""Every error Crucible raises on purpose, by who can mend it.

    CrucibleError                      exit  what the user can do
    |-- UsageError                        2  change the command
    |   |-- ConfigError                   2  change crucible.toml
    |   |-- ScenarioError                 2  change the scenario file; carries every problem of it, each with file:line
    |   |-- PatchError                    2  change REFERENCE_FIX.md; carries file and line
    |   |-- ReadError                     2  name the format of a foreign transcript
    |   `-- PreflightError                2  supply what the check before spending found missing (a key, a price, a server)
    |-- NotSeenFailingError               4  run `crucible repro` on the code that fails, or accept it with --unproven
    |-- AttemptError                      5  nothing: the attempt does not count and is run again; carries its cause
    |   |-- ProviderError                 5  wait, or look at the provider's answer it quotes
    |   |-- HarnessError                  5  run `crucible doctor`
    |   |   `-- SandboxError              5  run `crucible doctor`
    |   `-- FixtureError                  5  run `crucible validate`
    `-- StoreError                        5  free, upgrade or point at another store, or folder of results

An agent that fails is not an error: it is an outcome. A score that could not be given is not an error
either: it is `NotScored`, a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class ExitCode(IntEnum):
    """Process exit codes; part of the public face."""

    DONE = 0
    GATE_FAILED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    NOT_SEEN_FAILING = 4
    INFRASTRUCTURE = 5
    INTERRUPTED = 130


class Cause(StrEnum):
    """Whose fault an ending was. `AGENT` and `BUDGET` count; the others are run again."""

    AGENT = "agent"
    BUDGET = "budget"
    PROVIDER = "provider"
    HARNESS = "harness"
    FIXTURE = "fixture"

    @property
    def counts(self) -> bool:
        """True when an attempt that ended this way stays in the denominator."""
        return self in (Cause.AGENT, Cause.BUDGET)


class CrucibleError(Exception):
    """Base of all errors raised on purpose. `hint` is one line: what to do about it."""

    exit_code: ClassVar[ExitCode] = ExitCode.INFRASTRUCTURE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def lines(self) -> list[str]:
        """The error as a person reads it: one line each, the hint last."""
        return [self.message, *([f"  -> {self.hint}"] if self.hint else [])]


class UsageError(CrucibleError):
    """The user asked for something that cannot be."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """crucible.toml, the environment or a flag holds a setting that cannot be used."""


class PreflightError(UsageError):
    """A check before the first model call failed: nothing was spent."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in one file, as one line: `file:line: what, got what, nearest known name`."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class ScenarioError(UsageError):
    """A scenario file with all its problems at once."""

    def __init__(self, problems: Sequence[Problem], *, hint: str | None = None) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)), hint=hint)

    def lines(self) -> list[str]:
        return [*map(str, self.problems), *([f"  -> {self.hint}"] if self.hint else [])]


class PatchError(UsageError):
    """A patch or a REFERENCE_FIX.md that cannot be read as a change."""

    def __init__(self, what: str, *, file: str | Path = "<patch>", line: int = 1, hint: str | None = None) -> None:
        self.problem = Problem(str(file), line, what)
        super().__init__(str(self.problem), hint=hint)


class NotSeenFailingError(CrucibleError):
    """A frozen failure was never seen failing as it is now: its greens would count for nothing."""

    exit_code = ExitCode.NOT_SEEN_FAILING


class AttemptError(CrucibleError):
    """An attempt that does not count for either arm."""

    cause: ClassVar[Cause] = Cause.HARNESS

    @property
    def ending(self) -> str:
        """How the attempt ended, in one word."""
        return self.cause.value


class ProviderError(AttemptError):
    """The model's provider did not answer as it should, after the retries allowed.

    `kind` is one of auth, refused, rate_limit, server, timeout, context, bad_request, bad_reply.
    `status` is the HTTP status where there was one.
    """

    cause = Cause.PROVIDER

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status: int | None = None,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def ending(self) -> str:
        return f"provider_{self.kind}"


class HarnessError(AttemptError):
    """Crucible's own machinery failed."""

    cause = Cause.HARNESS


class SandboxError(HarnessError):
    """The sandbox could not be made, or died."""


class FixtureError(AttemptError):
    """The fixture is not what the scenario says: not red, not green with its reference, or unreadable."""

    cause = Cause.FIXTURE


class StoreError(CrucibleError):
    """The store cannot be opened, is of a newer version, or is held by another process; or results cannot be written."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known name, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""
