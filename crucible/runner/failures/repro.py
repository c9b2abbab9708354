"""`crucible repro`: run the code that is said to fail until it is seen failing, or until that should have happened."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from crucible import __version__
from crucible.errors import ExitCode, UsageError
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.journal import Journal
from crucible.runner.failures.made import Colour, Made
from crucible.runner.failures.series import Limits, Series, Watch, make_runs
from crucible.runner.failures.sidecar import Seen, check_place, code_version
from crucible.runner.failures.subject import Subject
from crucible.stats.confirming import chance_to_see, runs_to_see

SURE: Final = Fraction(19, 20)
"""The chance with which a failure at the reported rate is to be seen."""
UNCOUNTED: Final = 10
"""Runs to make and count where nobody has counted."""
MOST_RUNS: Final = 10_000


@dataclass(frozen=True, slots=True)
class ReproPlan:
    """How many runs, fixed before the first. `counting` makes all of them; otherwise the first failure is enough."""

    runs: int
    counting: bool
    rate: Fraction | None

    @property
    def chance(self) -> float | None:
        """The chance to see a failure at the reported rate; None where no rate was reported."""
        return None if self.rate is None else float(chance_to_see(self.rate, self.runs))


@dataclass(frozen=True, slots=True)
class Repro:
    """What came of it. `seen` is None where the failure was not seen."""

    frozen: Frozen
    plan: ReproPlan
    series: Series
    seen: Seen | None
    subject: str
    journal: Path

    @property
    def first(self) -> Made | None:
        """The first run that failed on what the scenario asserts."""
        return next((made for made in self.series.made if is_failure(made)), None)

    @property
    def elsewhere(self) -> list[Made]:
        """Runs that failed, but not on anything the scenario asserts."""
        return [made for made in self.series.of(Colour.RED) if not is_failure(made)]

    @property
    def exit_code(self) -> ExitCode:
        """DONE when seen, NOT_SEEN_FAILING when all planned runs were made without, else INCONCLUSIVE."""
        if self.seen is not None:
            return ExitCode.DONE
        return ExitCode.INCONCLUSIVE if self.series.cut else ExitCode.NOT_SEEN_FAILING

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.frozen.failure.slug,
            "seen_failing": self.seen is not None,
            "failed": len([made for made in self.series.made if is_failure(made)]),
            "of": len(self.series.valid),
            "planned": self.plan.runs,
            "counting": self.plan.counting,
            "chance_to_see": self.plan.chance,
            "failed_elsewhere": len(self.elsewhere),
            "invalid": len(self.series.of(Colour.INVALID)),
            "cut": self.series.cut,
            "agent": self.subject,
            "code": self.seen.code if self.seen else None,
            "exit_code": int(self.exit_code),
            "runs": [made.to_json() for made in self.series.made],
            "journal": str(self.journal),
        }


def is_failure(made: Made) -> bool:
    """Whether a run failed on what the scenario asserts, and not only by a crash or a limit."""
    return made.colour is Colour.RED and made.asserted


def plan_repro(frozen: Frozen, runs: int | None) -> ReproPlan:
    """As many runs as show the reported failure with 95 %, stopping at the first; without a report ten, all counted.

    A number of runs that was asked for is made in full, and counted. Raises UsageError for a rate that needs too many.
    """
    report = frozen.failure.report
    rate = report.rate if report else None
    if runs is not None:
        return ReproPlan(runs, counting=True, rate=rate)
    if rate is None:
        return ReproPlan(UNCOUNTED, counting=True, rate=None)
    needed = runs_to_see(rate, SURE)
    if needed > MOST_RUNS:
        raise UsageError(f"at {report} it takes {needed} runs to see the failure", hint="choose a number: --runs N")
    return ReproPlan(needed, counting=False, rate=rate)


async def repro(
    frozen: Frozen,
    subject: Subject,
    plan: ReproPlan,
    limits: Limits,
    *,
    results: Path,
    folder: Path,
    format: str | None = None,  # noqa: A002 - the word users have for it
    watch: Watch | None = None,
) -> Repro:
    """Make the runs; when the failure is seen, write the sidecar. Where it is not, an earlier sidecar is left alone.

    `results` is where the journal goes, `folder` where the code under test lies.
    """
    check_place(frozen.failure.seen_path)
    code = code_version(folder)
    told = {"command": "repro", "runs": plan.runs, "counting": plan.counting, "agent": subject.name, "code": code}
    journal = Journal(results, f"{frozen.failure.slug}-repro", told)
    series = await make_runs(
        subject, frozen, plan.runs, lambda made: is_failure(made) and not plan.counting, limits, journal, watch
    )
    seen = _seen(frozen, plan, series, subject.name, format, code)
    found = Repro(frozen, plan, series, seen, subject.name, journal.folder)
    record = None if seen is None else asdict(seen)
    journal.close({key: value for key, value in found.as_dict().items() if key != "runs"} | {"record": record})
    if seen is not None:
        seen.write(frozen.failure.seen_path)
    return found


def _seen(
    frozen: Frozen,
    plan: ReproPlan,
    series: Series,
    agent: str,
    format: str | None,  # noqa: A002 - the word users have for it
    code: str | None,
) -> Seen | None:
    failing = [made for made in series.valid if is_failure(made)]
    if not failing:
        return None
    first = min(failing, key=lambda made: made.number)
    return Seen(
        scenario_sha256=frozen.failure.digest,
        failed=len(failing),
        of=len(series.valid),
        planned=plan.runs,
        counted=plan.counting and series.cut is None,
        dimensions=tuple(name.value for name in first.failed),
        verdict=first.line,
        transcript_sha256=first.sha256,
        agent=agent,
        format=format,
        code=code,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        crucible=__version__,
    )
