"""Checking a scenario before anything is spent on it: unfixed is red, the reference is green, nothing leaks.

Each state is tested several times. A test that changes its result is quarantined: it has no part in any verdict.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crucible.runner.prepare import Prepared, reference_change
from crucible.scoring.control import find_controlled
from crucible.scoring.grading import Graded, Ran, Suite, grade, judge_run, run_suite
from crucible.settings import Settings
from crucible.store.tables import ScenarioRow, ValidationRow
from crucible.store.writes import Store, now
from crucible.world.types import Change, SandboxMode

CHECKS = 2
"""Raised when checking learns something new, so that what was stored before is checked again."""
TIMES = 2
"""How often each state is tested unless asked otherwise."""
LONGEST_SECONDS = 600.0
"""Time-out of the suite while it is checked."""
LEAST_SECONDS = 20.0
TIMES_SLOWER = 10.0
NO_VERDICT = ("timed_out", "killed", "usage_error", "internal_error")


@dataclass
class Validation:
    """What the check found. `expected` ids pass with the reference; an attempt is graded against them.

    `canary` is the test file beside which the grader can plant tests of its own. `quarantined` ids changed their result
    in one of the `repeats`, and are in no other set. `controlled` ids fail, as they must, when their expected values are wrong.
    """

    problems: list[str] = field(default_factory=list)
    expected: frozenset[str] = frozenset()
    failing_before: frozenset[str] = frozenset()
    passing_before: frozenset[str] = frozenset()
    seconds: float = 0.0
    canary: str | None = None
    repeats: int = TIMES
    quarantined: frozenset[str] = frozenset()
    controlled: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        """Whether the scenario can be run."""
        return not self.problems

    @property
    def grading_seconds(self) -> float:
        """Time-out of grading: ten times what the reference needed, at least 20 s."""
        return max(LEAST_SECONDS, TIMES_SLOWER * self.seconds)

    def suite(self, prepared: Prepared) -> Suite:
        """How an attempt is graded."""
        return prepared.suite(
            self.grading_seconds,
            self.canary,
            expected=self.expected,
            quarantined=self.quarantined,
            controlled=self.controlled,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a scenario is checked."""

    prepared: Prepared
    settings: Settings
    mode: SandboxMode
    scratch: Path

    async def run(self, change: Change, times: int) -> list[Ran]:
        spec, suite = self.prepared.world_spec(self.settings), self.prepared.suite(LONGEST_SECONDS)
        return [await run_suite(spec, self.mode, self.scratch, change, suite) for _ in range(times)]


def interpreter() -> str:
    """What validations are tied to beside the scenario: another interpreter, system or way of checking is checked anew."""
    return f"{platform.python_version()} {platform.system()} {platform.machine()}, checks {CHECKS}"


async def validate(
    prepared: Prepared,
    settings: Settings,
    mode: SandboxMode,
    scratch: Path,
    repeats: int = TIMES,
    known: frozenset[str] = frozenset(),
) -> Validation:
    """Test the fixture as it stands and with its reference, `repeats` times each, and search it for the reference's lines.

    `known` are tests that an earlier check saw change their result.
    """
    place = _Place(prepared, settings, mode, scratch)
    unfixed, mended = await place.run(Change(), repeats), await place.run(reference_change(prepared), repeats)
    quarantined = known | unsteady(unfixed) | unsteady(mended)
    suite = prepared.suite(LONGEST_SECONDS, quarantined=quarantined)
    before, after = ([judge_run(r.execution, r.report, suite) for r in runs] for runs in (unfixed, mended))
    found = Validation(
        expected=after[0].passed or frozenset(),
        failing_before=before[0].failed or frozenset(),
        passing_before=before[0].passed or frozenset(),
        seconds=max(run.seconds for run in after),
        repeats=repeats,
        quarantined=quarantined,
    )
    found.problems += _wrong_colour(before, after, quarantined)
    found.problems += _unsure("unfixed", before) + _unsure("with the reference", after)
    found.problems += leaks(prepared)
    if found.ok:
        found.canary = await _place_for_canary(place, found)
        found.controlled = await _controlled(place, found)
    return found


def unsteady(runs: Sequence[Ran]) -> frozenset[str]:
    """Tests that did not come to the same result in all runs that have a report; a test that is not run has another."""
    reports = [run.junit for run in runs if run.junit is not None]
    changed: frozenset[str] = frozenset()
    for one in reports[1:]:
        changed |= (one.passed ^ reports[0].passed) | (one.failed ^ reports[0].failed)
    return changed


async def _place_for_canary(place: _Place, found: Validation) -> str | None:
    """Where a canary is collected and reported by this suite; None where it is not."""
    prepared = place.prepared
    found.canary = prepared.place_for_canary(found.expected)
    if found.canary is None:
        return None
    suite = found.suite(prepared)
    spec = prepared.grading_spec(place.settings, suite)
    tried = await grade(spec, place.mode, place.scratch, reference_change(prepared), suite)
    return found.canary if tried.green else None


async def _controlled(place: _Place, found: Validation) -> frozenset[str]:
    suite = found.suite(place.prepared)
    spec = place.prepared.grading_spec(place.settings, suite)
    return await find_controlled(spec, place.mode, place.scratch, reference_change(place.prepared), suite)


def _wrong_colour(before: list[Graded], after: list[Graded], quarantined: frozenset[str]) -> list[str]:
    problems = []
    if any(run.green for run in before):
        problems.append(_nothing_to_fix(quarantined))
    if broken := next((r for r in before if r.state in NO_VERDICT), None):
        problems.append(f"the suite does not run on the unfixed fixture: {_said(broken)}")
    if red := next((r for r in after if not r.green), None):
        problems.append(f"the suite is not green with the reference fix: {_said(red)}")
    return problems


def _nothing_to_fix(quarantined: frozenset[str]) -> str:
    if quarantined:
        left_out = ", ".join(sorted(quarantined))
        return f"nothing fails steadily on the unfixed fixture, with the tests that change their result left out: {left_out}"
    return "the suite is green on the unfixed fixture: there is nothing to fix"


def _unsure(which: str, runs: list[Graded]) -> list[str]:
    """A suite that ends in one way and then in another, where no single test can be blamed."""
    states = sorted({run.state for run in runs})
    return [f"the suite changes its result {which}: {', '.join(states)}"] if len(states) > 1 else []


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
    store: Store,
    prepared: Prepared,
    settings: Settings,
    mode: SandboxMode,
    scratch: Path,
    *,
    fresh: bool = False,
    repeats: int = TIMES,
) -> Validation:
    """The stored validation of exactly this scenario on this machine, or a fresh one, stored. The latest counts.

    What a check of more repeats has quarantined stays so: the same fixture holds the same unsteady tests.
    """
    store.ensure(scenario_row(prepared))
    row = store.latest_validation(prepared.hash, mode, interpreter())
    if row is not None and row.ok and not fresh:
        return _stored(row)
    known = frozenset(row.quarantined) if row is not None and row.repeats > repeats else frozenset[str]()
    found = await validate(prepared, settings, mode, scratch, repeats, known)
    store.add(_row(prepared, found, mode))
    return found


def _stored(row: ValidationRow) -> Validation:
    return Validation(
        problems=list(row.problems),
        expected=frozenset(row.expected),
        failing_before=frozenset(row.failing_before),
        passing_before=frozenset(row.passing_before),
        seconds=row.seconds,
        canary=row.canary,
        repeats=row.repeats,
        quarantined=frozenset(row.quarantined),
        controlled=frozenset(row.controlled),
    )


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
        repeats=found.repeats,
        quarantined=sorted(found.quarantined),
        controlled=sorted(found.controlled),
    )
