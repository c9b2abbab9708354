"""What is fixed before the first run of `crucible confirm`: how many greens, of a failure that was seen, and their worth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from crucible.errors import NotSeenFailingError, UsageError
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.sidecar import Seen
from crucible.scenario.failure import Count
from crucible.stats.floor import all_green, confirmation_floor, false_clear

MOST_RUNS: Final = 1000
"""Runs that are made without being asked for by number."""


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


def _floor(count: Count, tolerance: Fraction) -> int:
    """The floor. Raises UsageError past all bounds; whether it is worth its price is for whoever chooses it."""
    try:
        return confirmation_floor(count.rate, tolerance)
    except ValueError as error:
        raise UsageError(
            f"{count} with a tolerance of {float(tolerance):g}: {error}", hint="mend the flakiness"
        ) from None
