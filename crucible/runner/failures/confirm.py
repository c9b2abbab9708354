"""`crucible confirm`: a number of runs fixed in advance, all green, or not confirmed."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from crucible.errors import ExitCode
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.journal import Journal
from crucible.runner.failures.made import Colour, Made
from crucible.runner.failures.planned import ConfirmPlan
from crucible.runner.failures.series import Limits, Series, Watch, make_runs
from crucible.runner.failures.sidecar import code_version
from crucible.runner.failures.subject import Subject
from crucible.scenario.failure import Count
from crucible.stats.confirming import greens_needed, old_fails_more
from crucible.stats.floor import confirmation_floor


class Verdict(StrEnum):
    """What may be said afterwards."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


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
