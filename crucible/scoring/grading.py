"""Grading: the suite run on a clean copy - the fixture plus the agent's change, minus what could steer the verdict.

The verdict comes from a report file outside the workspace plus the exit code. Exit 0 with fewer passed ids
than expected is red; exits 2 to 5, signals and time-outs are states of their own. Quarantined tests, which are
known to change their result, have no part in it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from crucible.scoring.canary import Canary, plant
from crucible.scoring.junit import Junit, read_junit
from crucible.scoring.node_canary import SUFFIXES, NodeCanary, is_node_test, plant_in
from crucible.world.types import Change, Execution, SandboxMode, Snapshot, WorldSpec

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
_NOT_RUN = {126: "the command cannot be executed", 127: "the command was not found"}
FORGED = "the report was not made by running the tests: what the grader planted is not in it as it must be"
REPORT_NAME = "report.xml"
GRADING_ENV = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""A grading world is new and holds no compiled files, so that none is read; none is written either."""
_FAILED_CODES = range(1, 126)


@dataclass(frozen=True, slots=True)
class Suite:
    """How a scenario's suite is run and what a right result is: `expected` ids pass with the reference.

    `beside` is a test file of the fixture beside which a canary is planted; None where that does not work.
    `quarantined` ids change their result by themselves; `controlled` ids fail when their expected values are wrong.
    """

    command: str
    report: str | None = None
    expected: frozenset[str] = frozenset()
    seconds: float = 120.0
    beside: str | None = None
    quarantined: frozenset[str] = frozenset()
    controlled: frozenset[str] = frozenset()

    @property
    def is_pytest(self) -> bool:
        """Whether the command is pytest, which can be asked for its report from outside."""
        try:
            words = shlex.split(self.command)
        except ValueError:
            words = self.command.split()
        return any(re.fullmatch(r"(.*/)?(py\.test|pytest)", word) for word in words)

    @property
    def is_node(self) -> bool:
        """Whether node's own test runner runs the suite."""
        words = self.command.split()
        return "--test" in words and any(re.fullmatch(r"(.*/)?node", word) for word in words)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the suite, not yet judged. `report` is None when the command writes none, a string when unreadable."""

    execution: Execution
    report: Junit | str | None
    canary: Canary | NodeCanary | None = None

    @property
    def junit(self) -> Junit | None:
        """The report on the suite's own tests, where there is one."""
        if not isinstance(self.report, Junit):
            return None
        return self.canary.without(self.report) if self.canary else self.report


@dataclass(frozen=True, slots=True)
class Graded:
    """What the suite said. `passed` and `failed` are None without a report; `missing` are expected ids not passed.

    Quarantined ids are in none of them. `limit` names the limit of the sandbox that ended the run. `control`: tests that
    passed although their expected values were wrong; None where no negative control was made. Times in seconds.
    """

    state: State
    exit_code: int | None
    seconds: float
    passed: frozenset[str] | None
    failed: frozenset[str] | None
    missing: frozenset[str]
    detail: str
    output: str
    limit: str | None = None
    control: tuple[str, ...] | None = None
    control_seconds: float = 0.0

    @property
    def green(self) -> bool:
        """Whether the bug is fixed, as far as the suite can tell."""
        return self.state == "green"


async def grade(spec: WorldSpec, mode: SandboxMode, scratch: Path, change: Change, suite: Suite) -> Graded:
    """Run the suite on a fresh world with `change` applied. Raises SandboxError when the world itself fails."""
    ran = await run_suite(spec, mode, scratch, change, suite)
    return judge_run(ran.execution, ran.report, suite, ran.canary)


async def run_suite(spec: WorldSpec, mode: SandboxMode, scratch: Path, change: Change, suite: Suite) -> Ran:
    """As `grade`, without the verdict."""
    canary = _canary(spec.snapshot, suite)
    if isinstance(canary, NodeCanary):
        from crucible.scoring.altered import altered

        async with altered(spec.snapshot, canary.files) as snapshot:
            return await _run(replace(spec, snapshot=snapshot), mode, scratch, change, suite, canary)
    return await _run(spec, mode, scratch, change, suite, canary)


def _canary(snapshot: Snapshot, suite: Suite) -> Canary | NodeCanary | None:
    """A new canary, where this suite takes one."""
    if suite.beside is None:
        return None
    if not suite.beside.endswith(SUFFIXES):
        return plant(suite.beside)
    files = (path for path in snapshot.files if path.endswith(SUFFIXES) and not (snapshot.root / path).is_symlink())
    sources = {path: (snapshot.root / path).read_bytes() for path in files}
    return plant_in({path: data for path, data in sources.items() if is_node_test(data)})


async def _run(
    spec: WorldSpec, mode: SandboxMode, scratch: Path, change: Change, suite: Suite, canary: Canary | NodeCanary | None
) -> Ran:
    from crucible.world import make_world

    world = make_world(spec, mode, scratch)
    try:
        await world.open()
        await world.apply(change)
        if isinstance(canary, Canary):
            await world.apply(canary.change())
        command = _command(suite, world.outside)
        execution = await world.execute(command, seconds=suite.seconds, env=_environment(suite, world.outside))
        report = await world.read_outside(REPORT_NAME)
    finally:
        await world.close()
    has_report = suite.is_pytest or suite.report is not None
    return Ran(execution, read_junit(report) if has_report else None, canary)


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
    options = f"--junitxml={outside}/{REPORT_NAME} -o junit_family=xunit1 -p no:cacheprovider --maxfail=0"
    return {**GRADING_ENV, "PYTEST_ADDOPTS": options}


def judge_run(
    execution: Execution, report: Junit | str | None, suite: Suite, canary: Canary | NodeCanary | None = None
) -> Graded:
    """The verdict on one run of the suite; pure. `report` is None when the command writes none, a string when unreadable."""
    forged = canary is not None and isinstance(report, Junit) and not canary.sung(report)
    belied = canary is not None and isinstance(report, Junit) and canary.belied(report)
    whole = Ran(execution, report, canary).junit
    junit = whole.without(suite.quarantined) if whole else None
    expected = suite.expected - suite.quarantined
    missing = expected - junit.passed if junit else expected
    state: State
    if execution.limit:
        what = execution.limit.replace("_", " ")
        state, detail = "killed", f"stopped by the sandbox: more {what} than allowed"
    elif whole and junit and _only_quarantined_failed(execution.exit_code, whole, junit, missing, suite):
        state, detail = "green", f"{len(junit.passed)} tests passed"
    else:
        state, detail = _state(execution, junit or report, missing, suite)
    if (state == "green" and forged) or (state == "red" and belied):
        state, detail = "tampered", FORGED
    return Graded(
        state=state,
        exit_code=execution.exit_code,
        seconds=execution.seconds,
        passed=junit.passed if junit else None,
        failed=junit.failed if junit else None,
        missing=missing,
        detail="; ".join([detail, *_left_out(suite.quarantined)]) if junit else detail,
        output=execution.output,
        limit=execution.limit,
    )


def _only_quarantined_failed(
    code: int | None, whole: Junit, rest: Junit, missing: frozenset[str], suite: Suite
) -> bool:
    """Whether the suite failed, but for nothing that counts."""
    codes = (1,) if suite.is_pytest else _FAILED_CODES
    failed_but_for_them = code in codes and bool(whole.failed) and not rest.failed
    return failed_but_for_them and bool(rest.passed) and not missing


def _left_out(quarantined: frozenset[str]) -> list[str]:
    if not quarantined:
        return []
    tests = "test" if len(quarantined) == 1 else "tests"
    return [f"{len(quarantined)} quarantined {tests} left out: {', '.join(sorted(quarantined)[:3])}"]


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
    if code in _NOT_RUN:
        return "usage_error", f"exit code {code}: {_NOT_RUN[code]}"
    return _PYTEST_EXITS.get(code, "red") if suite.is_pytest else "red", f"exit code {code}"
