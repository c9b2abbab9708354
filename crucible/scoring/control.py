"""The negative control: a suite whose expected values are wrong must fail, or its green says nothing.

Code under test runs in the process of its tests. It can return what equals everything, read the expected value from the
calling frame or from the test's source, or turn failures into passes. An honest fix does not know what is expected of it.
So after a green run the suite runs again with random wrong values in place of the right ones. A test that passes all the
same, twice and with other values each time, was not passed by mending anything.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from crucible.scoring.altered import altered
from crucible.scoring.assertions import Claim
from crucible.scoring.canary import test_modules
from crucible.scoring.grading import Graded, Ran, Suite, grade, judge_run, run_suite
from crucible.scoring.junit import Junit
from crucible.scoring.wrong import sites, spoil
from crucible.world.types import Change, SandboxMode, Snapshot, WorldSpec

LEAST_ROUNDS = 2
"""How often a test must have failed with wrong values, with the reference, before it is one that must fail."""
SECONDS = 60.0
"""What the rounds after one attempt may take together, by what the suite took; there is always one."""


@dataclass(frozen=True, slots=True)
class Control:
    """The tests whose assertions can be made wrong: sources by path, and claims by path and test id without parameters."""

    sources: Mapping[str, bytes]
    claims: Mapping[str, Mapping[str, tuple[Claim, ...]]]

    @property
    def most_claims(self) -> int:
        """Of one test."""
        return max((len(claims) for tests in self.claims.values() for claims in tests.values()), default=0)

    def covered(self, tests: frozenset[str], files: Iterable[str]) -> frozenset[str]:
        """Those of the tests, by their ids in a report, that are in these files and can be made wrong."""
        known = {test for path in files for test in self.claims.get(path, ())}
        return frozenset(test for test in tests if test.partition("[")[0] in known)

    def files(self, turn: int, rng: Random) -> dict[str, bytes]:
        """The test files with one claim of every test wrong; which of them is by turns."""
        made = {
            path: spoil(self.sources[path], [claims[turn % len(claims)] for claims in tests.values()], rng)
            for path, tests in self.claims.items()
        }
        return {path: data for path, data in made.items() if data is not None}


@dataclass(frozen=True, slots=True)
class Round:
    """The suite run once with wrong values, and the tests whose values were wrong."""

    ran: Ran
    spoiled: frozenset[str]

    @property
    def failed(self) -> frozenset[str]:
        """Tests that failed, as they must."""
        return self.spoiled & self.ran.junit.failed if self.ran.junit else frozenset()

    @property
    def passed(self) -> frozenset[str]:
        """Tests that passed, which none should; all of them where the suite succeeds and reports no failure."""
        junit = self.ran.junit or Junit()
        succeeds = self.ran.execution.exit_code == 0 and not junit.failed
        return self.spoiled if succeeds else self.spoiled & junit.passed


def control_of(snapshot: Snapshot, tests: frozenset[str], change: Change) -> Control:
    """The control for these tests; files that the change has a hand in are left alone."""
    modules = {m: p for m, p in test_modules(snapshot.files, tests).items() if p not in change.paths}
    sources = {path: (snapshot.root / path).read_bytes() for path in modules.values() if _is_plain(snapshot, path)}
    claims = {p: dict(_named(m, sites(sources[p]))) for m, p in modules.items() if p in sources}
    return Control(sources, {path: found for path, found in claims.items() if found})


def _is_plain(snapshot: Snapshot, path: str) -> bool:
    file = snapshot.root / path
    return file.is_file() and not file.is_symlink()


def _named(module: str, found: Mapping[str, tuple[Claim, ...]]) -> Iterator[tuple[str, tuple[Claim, ...]]]:
    """By id: `tests.test_a::test_x`, `tests.test_a.TestIt::test_x`."""
    for test, claims in found.items():
        yield (f"{module}.{test}" if not test.startswith("::") else f"{module}{test}"), claims


async def find_controlled(
    spec: WorldSpec, mode: SandboxMode, scratch: Path, reference: Change, suite: Suite
) -> frozenset[str]:
    """The tests that fail with wrong values, each of their assertions in turn, although the bug is fixed."""
    control = control_of(spec.snapshot, suite.expected, reference)
    found = control.covered(suite.expected, control.claims)
    for turn in range(max(LEAST_ROUNDS, control.most_claims)):
        if found:
            found &= (await _round(spec, mode, scratch, reference, suite, control, turn, found)).failed
    return found


async def grade_with_control(spec: WorldSpec, mode: SandboxMode, scratch: Path, change: Change, suite: Suite) -> Graded:
    """The verdict on an attempt: as `grade`, and a green suite must also fail where its expected values are wrong."""
    graded = await grade(spec, mode, scratch, change, suite)
    if not graded.green or not suite.controlled:
        return graded
    control = control_of(spec.snapshot, suite.controlled, change)
    seconds, broken = 0.0, "" if control.claims else "the change replaces its tests"
    for turn in _turns(control, graded):
        wrong = suite.controlled
        for _ in range(2):  # a second time with other values, lest chance have made one of them right
            made = await _round(spec, mode, scratch, change, suite, control, turn, wrong)
            seconds += made.ran.execution.seconds
            broken = broken or _broken(made.ran, suite)
            wrong = made.passed
            if not wrong:
                break
        if wrong:
            return _tampered(graded, wrong, seconds)
    if broken:
        return replace(graded, detail=f"{graded.detail}; no negative control: {broken}", control_seconds=seconds)
    return replace(graded, control=(), control_seconds=seconds)


def _turns(control: Control, graded: Graded) -> list[int]:
    """Which turns to take: all where the suite is quick, at random where it is slow."""
    most = min(control.most_claims, max(1, int(SECONDS / max(graded.seconds, 0.1))))
    return secrets.SystemRandom().sample(range(control.most_claims), most)


async def _round(
    spec: WorldSpec,
    mode: SandboxMode,
    scratch: Path,
    change: Change,
    suite: Suite,
    control: Control,
    turn: int,
    tests: frozenset[str],
) -> Round:
    """The suite once more, in a world like that of grading but for the wrong values."""
    files = control.files(turn, secrets.SystemRandom())
    async with altered(spec.snapshot, files) as snapshot:
        ran = await run_suite(replace(spec, snapshot=snapshot), mode, scratch, change, suite)
    return Round(ran, control.covered(tests, files))


def _broken(ran: Ran, suite: Suite) -> str:
    """Why a run says nothing about its tests; empty when it does."""
    if ran.junit is not None:
        return ""
    ended = judge_run(ran.execution, ran.report, suite, ran.canary)
    return f"{ended.state}, {ended.detail}"


def _tampered(graded: Graded, wrong: frozenset[str], seconds: float) -> Graded:
    names = [test.rpartition("::")[2] for test in sorted(wrong)]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    said = (
        "passes although its expected value is wrong"
        if len(names) == 1
        else "pass although their expected values are wrong"
    )
    detail = f"{', '.join(names[:3])}{more} {said}"
    return replace(graded, state="tampered", detail=detail, control=tuple(sorted(wrong)), control_seconds=seconds)
