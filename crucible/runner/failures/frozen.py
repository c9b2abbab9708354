"""A frozen failure with its assertions understood."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path

from crucible.scenario.failure import Failure, load_failure
from crucible.scoring.trajectory.expectation import Caps, Expectation
from crucible.scoring.trajectory.parsing import ExpectationError, parse_expectation
from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import Carries

TURNS = 20
"""Turns a run may take where nothing else is said."""
_COUNTS = {"turns": (1, 1000), "calls": (0, 10**6), "tokens": (1, 10**9)}


@dataclass(frozen=True, slots=True)
class Frozen:
    """One file, ready to be held against a run."""

    failure: Failure
    expectation: Expectation

    @property
    def turns(self) -> int:
        """The most turns a run may take."""
        return int(self.expectation.caps.turns or TURNS)

    def needs(self) -> tuple[Carries, ...]:
        """What a transcript has to carry for the assertions to be judged at all; limits apart."""
        asked = self.expectation
        pairs = (
            (Carries.TOOLS, asked.expect_tool or asked.forbid_tool or asked.expect_args or asked.recovers_from),
            (Carries.ARGUMENTS, asked.expect_args),
            (Carries.ORDER, asked.expect_order),
            (Carries.RESULTS, asked.recovers_from or any(call.succeeds for call in asked.expect_args)),
            (Carries.TEXT, asked.expect_contains or asked.forbid_contains),
        )
        return tuple(what for what, wanted in pairs if wanted)

    def expected_of(self, run: NeutralRun, enforced: frozenset[str]) -> Expectation:
        """The expectation without limits that the agent was made to keep and of which its transcript says nothing."""
        unsaid = {name for name in enforced if getattr(run, name) is None}
        if not unsaid:
            return self.expectation
        kept = {one.name: getattr(self.expectation.caps, one.name) for one in fields(Caps) if one.name not in unsaid}
        return replace(self.expectation, caps=Caps(**kept))


def load_frozen(path: Path, bench: Path) -> Frozen:
    """Read one file. Raises ScenarioError with everything that is wrong in it, each with its line."""
    failure = load_failure(path, bench)
    read = failure.read
    try:
        expectation = parse_expectation(failure.assertions)
    except ExpectationError as error:
        for key, what in error.problems:
            read.wrong(f"{key}: {what}", key)
        raise read.error() from None
    for name, limit in expectation.caps.asked().items():
        if (wanted := _wanted(name, limit)) is not None:
            read.wrong(f"caps.{name} has to be {wanted}, got {limit:g}", "caps", name)
    if read.findings:
        raise read.error()
    return Frozen(failure, expectation)


def _wanted(name: str, limit: float) -> str | None:
    """What a limit has to be for a run to be possible under it; None when it is."""
    if name in _COUNTS:
        least, most = _COUNTS[name]
        fine = math.isfinite(limit) and int(limit) == limit and least <= limit <= most
        return None if fine else f"a whole number from {least} to {most}"
    return None if limit > 0 and math.isfinite(limit) else "more than 0, and finite"
