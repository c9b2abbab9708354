"""Grading: the suite run on a clean copy - the fixture plus the agent's change, minus what could steer the verdict.

The verdict comes from a report file outside the workspace plus the exit code. Exit 0 with fewer passed ids
than expected is red; exits 2 to 5, signals and time-outs are states of their own.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crucible.scoring.canary import Canary, plant
from crucible.scoring.junit import Junit, read_junit
from crucible.world.types import Change, Execution, SandboxMode, WorldSpec

State = Literal[
    "green",
    "red",
    "ended_early",
    "interrupted",
    "internal_error",
    "usage_error",
    "no_tests",
    "killed",
    "timed_out",
    "tampered",
]
_PYTEST_EXITS: dict[int, State] = {2: "interrupted", 3: "internal_error", 4: "usage_error", 5: "no_tests"}
REPORT_NAME = "report.xml"
GRADING_ENV = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class Suite:
    """How a scenario's suite is run and what a right result is: `expected` ids pass with the reference.

    `beside` is a test file of the fixture beside which a canary is planted; None where that does not work.
    """

    command: str
    report: str | None = None
    expected: frozenset[str] = frozenset()
    seconds: float = 120.0
    beside: str | None = None

    @property
    def is_pytest(self) -> bool:
        """Whether the command is pytest, which can be asked for its report from outside."""
        try:
            words = shlex.split(self.command)
        except ValueError:
            words = self.command.split()
        return any(re.fullmatch(r"(.*/)?(py\.test|pytest)", word) for word in words)


@dataclass(frozen=True, slots=True)
class Graded:
    """What the suite said. `passed` and `failed` are None without a report; `missing` are expected ids not passed."""

    state: State
    exit_code: int | None
    seconds: float
    passed: frozenset[str] | None
    failed: frozenset[str] | None
    missing: frozenset[str]
    detail: str
    output: str

    @property
    def green(self) -> bool:
        """Whether the bug is fixed, as far as the suite can tell."""
        return self.state == "green"


async def grade(spec: WorldSpec, mode: SandboxMode, scratch: Path, change: Change, suite: Suite) -> Graded:
    """Run the suite on a fresh world with `change` applied. Raises SandboxError when the world itself fails."""
    from crucible.world import make_world

    canary = plant(suite.beside) if suite.beside else None
    world = make_world(spec, mode, scratch)
    try:
        await world.open()
        await world.apply(change)
        if canary is not None:
            await world.apply(canary.change())
        command = _command(suite, world.outside)
        execution = await world.execute(command, seconds=suite.seconds, env=_environment(suite, world.outside))
        report = await world.read_outside(REPORT_NAME)
    finally:
        await world.close()
    has_report = suite.is_pytest or suite.report is not None
    return judge_run(execution, read_junit(report) if has_report else None, suite, canary)


def _command(suite: Suite, outside: str) -> str:
    """The command; a report it writes in the workspace is taken out, after any older one was removed."""
    if suite.report is None:
        return suite.command
    report = shlex.quote(suite.report)
    keep = f"cp -f -- {report} {outside}/{REPORT_NAME} 2>/dev/null"
    return f"rm -f -- {report}\n( {suite.command}\n)\ncode=$?\n{keep}\nexit $code"


def _environment(suite: Suite, outside: str) -> dict[str, str]:
    if not suite.is_pytest or suite.report is not None:
        return GRADING_ENV
    options = f"--junitxml={outside}/{REPORT_NAME} -o junit_family=xunit1 -p no:cacheprovider"
    return {**GRADING_ENV, "PYTEST_ADDOPTS": options}


def judge_run(execution: Execution, report: Junit | str | None, suite: Suite, canary: Canary | None = None) -> Graded:
    """The verdict on one run of the suite; pure. `report` is None when the command writes none, a string when unreadable."""
    forged = canary is not None and isinstance(report, Junit) and not canary.sung(report)
    if canary is not None and isinstance(report, Junit):
        report = canary.without(report)
    junit = report if isinstance(report, Junit) else None
    missing = suite.expected - junit.passed if junit else suite.expected
    state, detail = _state(execution, report, missing, suite)
    if state == "green" and forged:
        state, detail = "tampered", "the report was not made by running the tests: what the grader planted is not in it"
    return Graded(
        state=state,
        exit_code=execution.exit_code,
        seconds=execution.seconds,
        passed=junit.passed if junit else None,
        failed=junit.failed if junit else None,
        missing=missing,
        detail=detail,
        output=execution.output,
    )


def _state(
    execution: Execution, report: Junit | str | None, missing: frozenset[str], suite: Suite
) -> tuple[State, str]:
    code = execution.exit_code
    if code is None:
        return "timed_out", f"stopped after {suite.seconds:g} s"
    if code < 0 or code > 128:
        return "killed", f"ended by signal {-code if code < 0 else code - 128}"
    if code != 0:
        return _failed(code, report, suite)
    if isinstance(report, str):
        return "ended_early", f"exit code 0, but {report}"
    if report is None:
        return "green", "exit code 0; the command writes no report, so tests are not told apart"
    if report.failed:
        return "red", f"exit code 0, but {len(report.failed)} tests failed"
    if missing:
        return "red", f"exit code 0, but {len(missing)} expected tests did not pass: {', '.join(sorted(missing)[:3])}"
    if not report.passed:
        return "no_tests", "exit code 0, but no test passed"
    return "green", f"{len(report.passed)} tests passed"


def _failed(code: int, report: Junit | str | None, suite: Suite) -> tuple[State, str]:
    if isinstance(report, Junit) and report.failed:
        return "red", f"exit code {code}, {len(report.failed)} failed: {', '.join(sorted(report.failed)[:3])}"
    return _PYTEST_EXITS.get(code, "red") if suite.is_pytest else "red", f"exit code {code}"
