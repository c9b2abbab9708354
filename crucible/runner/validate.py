"""Checking a scenario before anything is spent on it: unfixed is red, the reference is green, nothing leaks."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from pathlib import Path

from crucible.runner.prepare import Prepared, reference_change
from crucible.scoring.grading import Graded, grade
from crucible.settings import Settings
from crucible.store.tables import ScenarioRow, ValidationRow
from crucible.store.writes import Store, now
from crucible.world.types import Change, SandboxMode

TIMES = 2
"""How often each state is tested; results that differ are a problem of the fixture."""
LEAST_SECONDS = 20.0
TIMES_SLOWER = 10.0
NO_VERDICT = ("timed_out", "killed", "usage_error", "internal_error")


@dataclass
class Validation:
    """What the check found. `expected` ids pass with the reference; an attempt is graded against them.

    `canary` is the test file beside which the grader can plant tests of its own.
    """

    problems: list[str] = field(default_factory=list)
    expected: frozenset[str] = frozenset()
    failing_before: frozenset[str] = frozenset()
    passing_before: frozenset[str] = frozenset()
    seconds: float = 0.0
    canary: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the scenario can be run."""
        return not self.problems

    @property
    def grading_seconds(self) -> float:
        """Time-out of grading: ten times what the reference needed, at least 20 s."""
        return max(LEAST_SECONDS, TIMES_SLOWER * self.seconds)


def interpreter() -> str:
    """What validations are tied to beside the scenario: another interpreter or system is checked anew."""
    return f"{platform.python_version()} {platform.system()} {platform.machine()}"


async def validate(prepared: Prepared, settings: Settings, mode: SandboxMode, scratch: Path) -> Validation:
    """Test the fixture as it stands and with its reference, twice each, and search it for the reference's lines."""
    spec, suite = prepared.world_spec(settings), prepared.suite(seconds=600.0)
    before = [await grade(spec, mode, scratch, Change(), suite) for _ in range(TIMES)]
    after = [await grade(spec, mode, scratch, reference_change(prepared), suite)]
    canary = await _place_for_canary(prepared, settings, mode, scratch, after[0])
    suite = prepared.suite(seconds=600.0, beside=canary)
    after += [
        await grade(prepared.grading_spec(settings, suite), mode, scratch, reference_change(prepared), suite)
        for _ in range(TIMES - 1)
    ]
    found = Validation(
        expected=after[0].passed or frozenset(),
        failing_before=before[0].failed or frozenset(),
        passing_before=before[0].passed or frozenset(),
        seconds=max(run.seconds for run in after),
        canary=canary,
    )
    found.problems += _wrong_colour(before, after)
    found.problems += _unstable("unfixed", before) + _unstable("with the reference", after)
    found.problems += leaks(prepared)
    return found


async def _place_for_canary(
    prepared: Prepared, settings: Settings, mode: SandboxMode, scratch: Path, green: Graded
) -> str | None:
    """Where a canary is collected and reported by this suite; None where it is not, or the suite is not green at all."""
    place = prepared.place_for_canary(green.passed or frozenset()) if green.green else None
    if place is None:
        return None
    suite = prepared.suite(seconds=600.0, beside=place)
    tried = await grade(prepared.grading_spec(settings, suite), mode, scratch, reference_change(prepared), suite)
    return place if tried.green else None


def _wrong_colour(before: list[Graded], after: list[Graded]) -> list[str]:
    problems = []
    if any(run.green for run in before):
        problems.append("the suite is green on the unfixed fixture: there is nothing to fix")
    if broken := next((r for r in before if r.state in NO_VERDICT), None):
        problems.append(f"the suite does not run on the unfixed fixture: {_said(broken)}")
    if red := next((r for r in after if not r.green), None):
        problems.append(f"the suite is not green with the reference fix: {_said(red)}")
    return problems


def _unstable(which: str, runs: list[Graded]) -> list[str]:
    first, *others = runs
    changed: set[str] = set()
    for run in others:
        changed |= (run.passed or frozenset()) ^ (first.passed or frozenset())
    return [f"tests that change their result {which}: {', '.join(sorted(changed))}"] if changed else []


def _said(run: Graded, lines: int = 12) -> str:
    tail = [f"    {line}" for line in run.output.splitlines()[-lines:]]
    return "\n".join([f"{run.state}, {run.detail}", *tail])


def leaks(prepared: Prepared) -> list[str]:
    """Where a '+' line of the reference can be read in the workspace, whose .git holds the same files and no more."""
    moved = {line[1:].strip() for line in prepared.reference.text.splitlines() if line.startswith("-")}
    wanted = [line for line in prepared.reference.added_lines if line not in moved]
    return [
        f"{path} holds a line of the reference fix: {line!r}"
        for path in prepared.snapshot.files
        for line in wanted
        if line.encode() in (prepared.before(path) or b"")
    ]


async def validated(
    store: Store, prepared: Prepared, settings: Settings, mode: SandboxMode, scratch: Path, *, fresh: bool = False
) -> Validation:
    """The stored validation of exactly this scenario on this machine, or a fresh one, stored."""
    store.ensure(scenario_row(prepared))
    row = None if fresh else store.latest_validation(prepared.hash, mode, interpreter())
    if row is not None and row.ok:
        return Validation(
            list(row.problems),
            frozenset(row.expected),
            frozenset(row.failing_before),
            frozenset(row.passing_before),
            row.seconds,
            row.canary,
        )
    found = await validate(prepared, settings, mode, scratch)
    store.add(_row(prepared, found, mode))
    return found


def scenario_row(prepared: Prepared) -> ScenarioRow:
    """The scenario as it is stored."""
    return ScenarioRow(
        hash=prepared.hash,
        name=prepared.scenario.name,
        text=prepared.loaded.text,
        fixture_digest=prepared.snapshot.digest,
        reference_text=prepared.reference.text,
        created_at=now(),
    )


def _row(prepared: Prepared, found: Validation, mode: SandboxMode) -> ValidationRow:
    return ValidationRow(
        scenario_hash=prepared.hash,
        created_at=now(),
        sandbox=mode,
        python=interpreter(),
        ok=found.ok,
        problems=found.problems,
        expected=sorted(found.expected),
        failing_before=sorted(found.failing_before),
        passing_before=sorted(found.passing_before),
        seconds=found.seconds,
        canary=found.canary,
    )
