"""`crucible confirm`: a number of runs fixed in advance, all green, or not confirmed."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from crucible.errors import CrucibleError, ExitCode, UsageError
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.journal import Journal
from crucible.runner.failures.made import Colour, Made
from crucible.runner.failures.series import Limits, Series, Watch, make_runs
from crucible.runner.failures.sidecar import Seen, code_version
from crucible.runner.failures.subject import Subject
from crucible.scenario.failure import Count
from crucible.stats.confirming import greens_needed, old_fails_more
from crucible.stats.floor import all_green, confirmation_floor, false_clear


class Verdict(StrEnum):
    """What may be said afterwards."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


MOST_RUNS = 1000
"""Runs that are made without being asked for by number."""
MOST_COMPARED = 500
"""Runs of old and new code together that are still compared exactly."""
MOST_SEARCHED = 50
"""The floor up to which it is searched for how many greens would show a difference."""
EXITS = {
    Verdict.CONFIRMED: ExitCode.DONE,
    Verdict.REFUTED: ExitCode.GATE_FAILED,
    Verdict.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True)
class ConfirmPlan:
    """What is fixed before the first run.

    `count` is the report the rate is quoted from, None where nothing is known of it; `floor` the smallest number of runs
    under the tolerance for it. `seen` is None where the failure was never seen, and that was accepted.
    """

    runs: int
    tolerance: Fraction
    count: Count | None
    floor: int | None
    seen: Seen | None

    @property
    def below_floor(self) -> bool:
        """Whether fewer runs were chosen than the tolerance asks for."""
        return self.floor is not None and self.runs < self.floor

    @property
    def before(self) -> Count | None:
        """The old code's failures, as counted on this very scenario, else as reported."""
        return (self.seen.count if self.seen else None) or self.count

    def worth(self, greens: int) -> Fraction | None:
        """The chance of so many greens with the bug unchanged; None where its rate is not known."""
        return None if self.count is None else false_clear(self.count.rate, greens)

    def worth_averaged(self, greens: int) -> Fraction | None:
        """The same, averaged over what the rate may be when so small a count is all that is known of it."""
        return None if self.count is None else all_green(self.count.failed, self.count.of, greens)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The runs, and what they say."""

    frozen: Frozen
    plan: ConfirmPlan
    series: Series
    subject: str
    code: str | None
    journal: Path

    @property
    def greens(self) -> int:
        """Green runs."""
        return len(self.series.of(Colour.GREEN))

    @property
    def red(self) -> Made | None:
        """The first red run."""
        return min(self.series.of(Colour.RED), key=lambda made: made.number, default=None)

    @property
    def verdict(self) -> Verdict:
        """REFUTED by one red run; CONFIRMED by all planned runs green; else INCONCLUSIVE."""
        if self.red is not None:
            return Verdict.REFUTED
        return Verdict.CONFIRMED if self.greens >= self.plan.runs else Verdict.INCONCLUSIVE

    @property
    def exit_code(self) -> ExitCode:
        """0 confirmed, 1 refuted, 3 inconclusive."""
        return EXITS[self.verdict]

    @property
    def p_old_fails_more(self) -> float | None:
        """One-sided p-value of old against new, exact (Boschloo); None where the old code was never counted.

        None after a red run too: stopping there is no fair count of how often the new code fails.
        """
        before = self.plan.before
        if before is None or self.red is not None or not self.greens:
            return None
        return _p_against(before, self.greens)

    @property
    def greens_for_difference(self) -> int | None:
        """Greens that would show a difference to the old code at 5 %; None where it was never counted, or too many."""
        before = self.plan.before
        return None if before is None else _greens_against(before)

    @property
    def alike(self) -> int:
        """The size of the largest group of valid runs that called and answered the same to the letter."""
        return max(Counter(made.content for made in self.series.valid).values(), default=0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: chances in [0, 1]."""
        plan, worth, averaged = self.plan, self.plan.worth(self.greens), self.plan.worth_averaged(self.greens)
        return {
            "scenario": self.frozen.failure.slug,
            "name": self.frozen.failure.name,
            "verdict": self.verdict.value,
            "exit_code": int(self.exit_code),
            "green": self.greens,
            "red": len(self.series.of(Colour.RED)),
            "invalid": len(self.series.of(Colour.INVALID)),
            "planned": plan.runs,
            "floor": plan.floor,
            "below_floor": plan.below_floor,
            "tolerance": float(plan.tolerance),
            "report": None if plan.count is None else {"failed": plan.count.failed, "of": plan.count.of},
            "chance_of_these_greens_if_unchanged": None if worth is None else float(worth),
            "averaged_over_the_rate": None if averaged is None else float(averaged),
            "p_old_fails_more": self.p_old_fails_more,
            "seen_failing": plan.seen is not None,
            "alike": self.alike,
            "cut": self.series.cut,
            "agent": self.subject,
            "code": self.code,
            "seconds": round(self.series.seconds, 3),
            "spent_usd": self.series.spent_usd,
            "runs": [made.to_json() for made in self.series.made],
            "journal": str(self.journal),
        }


class NotSeenFailingError(CrucibleError):
    """Greens of a scenario that was never seen failing would count for nothing."""

    exit_code = ExitCode.NOT_SEEN_FAILING


def plan_confirm(
    frozen: Frozen, seen: Seen | None, runs: int | None, tolerance: Fraction | None, *, unproven: bool
) -> ConfirmPlan:
    """Fix everything. The rate is that of the report, else the one `repro` counted; the number of runs its floor.

    Raises NotSeenFailingError unless the scenario was seen failing as it is now, or `unproven`; UsageError where neither a
    number of runs nor anything to choose one by is known.
    """
    failure = frozen.failure
    proven = seen if seen is not None and seen.scenario_sha256 == failure.digest else None
    if proven is None and not unproven:
        what = "changed since it was seen failing" if seen else "was never seen failing"
        raise NotSeenFailingError(
            f"{failure.slug} {what}: its greens would count for nothing",
            hint="run `crucible repro` on the code that fails, or say --unproven and have the result marked",
        )
    count = failure.report or (proven.count if proven else None)
    limit = tolerance or failure.tolerance
    floor = None if count is None else _floor(count, limit)
    chosen = runs or floor
    if runs is None and floor is not None and floor > MOST_RUNS:
        raise UsageError(
            f"too flaky to confirm cheaply: {count} with a tolerance of {float(limit):g} takes {floor} runs",
            hint="mend the flakiness itself, or choose fewer knowing what they are worth: crucible floor, then --runs N",
        )
    if chosen is None:
        raise UsageError(
            f"{failure.slug}: nobody has counted how often it fails, so no number of runs follows",
            hint="add report: {failed: 2, of: 10} to the file, count with `crucible repro`, or choose: --runs N",
        )
    return ConfirmPlan(chosen, limit, count, floor, proven)


@lru_cache
def _p_against(before: Count, greens: int) -> float | None:
    return old_fails_more(before.failed, before.of, 0, greens) if before.of + greens <= MOST_COMPARED else None


@lru_cache
def _greens_against(before: Count) -> int | None:
    """Searched for only where it is near: the exact test of hundreds of runs against one another takes minutes."""
    cheap = before.of <= MOST_COMPARED and confirmation_floor(before.rate) <= MOST_SEARCHED
    return greens_needed(before.failed, before.of) if cheap else None


def _compare(plan: ConfirmPlan) -> None:
    """Work out how the planned greens compare with the old code; the results are remembered."""
    if plan.before is not None:
        _p_against(plan.before, plan.runs)
        _greens_against(plan.before)


def _floor(count: Count, tolerance: Fraction) -> int:
    """The floor. Raises UsageError past all bounds; whether it is worth its price is for whoever chooses it."""
    try:
        return confirmation_floor(count.rate, tolerance)
    except ValueError as error:
        raise UsageError(
            f"{count} with a tolerance of {float(tolerance):g}: {error}", hint="mend the flakiness"
        ) from None


async def confirm(
    frozen: Frozen,
    subject: Subject,
    plan: ConfirmPlan,
    limits: Limits,
    *,
    results: Path,
    folder: Path,
    watch: Watch | None = None,
) -> Confirmation:
    """Make the runs, stopping at the first red one. `results` is where the journal goes, `folder` where the code lies."""
    code = code_version(folder)
    told = {"command": "confirm", "runs": plan.runs, "floor": plan.floor, "agent": subject.name, "code": code}
    journal = Journal(results, f"{frozen.failure.slug}-confirm", told)
    # The exact test takes half a second, and here there is nothing else to do but to wait for agents.
    comparing = asyncio.create_task(asyncio.to_thread(_compare, plan))
    series = await make_runs(subject, frozen, plan.runs, lambda made: made.colour is Colour.RED, limits, journal, watch)
    await comparing
    found = Confirmation(frozen, plan, series, subject.name, code, journal.folder)
    journal.close({key: value for key, value in found.as_dict().items() if key != "runs"})
    return found
