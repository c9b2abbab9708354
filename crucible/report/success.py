"""What one success costs each arm, and how sure that is: failed attempts are paid for too, so rate and bill are one number.

In US dollars, on these scenarios, all weighing the same. It is known only where every counted attempt's bill is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crucible.report.arms import Side
from crucible.stats.success import METHOD, Strata, SuccessCost, cost_of_success, cost_of_success_ratio

Limits = tuple[float, float]
UNKNOWN_BILL = "not known for both arms"
STOPPED = "the run stopped on its passes, which the interval would not allow for"


@dataclass(frozen=True, slots=True)
class Success:
    """Of (treatment, baseline): the cost of one success, its 95% interval, and the green suites of how many counted attempts
    it rests on; `ratio` is treatment to baseline, with its own interval. None where it cannot be told, for `why_not`."""

    cost: tuple[float | None, float | None]
    within: tuple[Limits | None, Limits | None]
    passes: tuple[int, int]
    attempts: tuple[int, int]
    ratio: float | None = None
    interval: Limits | None = None
    why_not: str | None = None
    method: str = METHOD

    def uncompared(self, why_not: str) -> Success:
        """Each arm by itself."""
        return replace(self, ratio=None, interval=None, why_not=why_not)

    def stopped(self) -> Success:
        """Of a run whose passes chose how many attempts there are: no intervals, for they would be too short."""
        return replace(self, within=(None, None), interval=None, why_not=self.why_not or STOPPED)


def success(treatment: Sequence[Side], baseline: Sequence[Side]) -> Success:
    """Both arms, scenario by scenario."""
    arms = treatment, baseline
    bills = [_bills(arm) for arm in arms]
    a, b = (cost_of_success(one) if one else SuccessCost(None) for one in bills)
    passes, attempts = zip(*map(_counts, arms), strict=True)
    alone = Success((a.value, b.value), (_limits(a), _limits(b)), passes, attempts, why_not=UNKNOWN_BILL)
    if not (bills[0] and bills[1]):
        return alone
    of = cost_of_success_ratio(bills[0], bills[1])
    return replace(alone, ratio=of.value, interval=_limits(of), why_not=of.why_not)


def _bills(arm: Sequence[Side]) -> Strata | None:
    """What every attempt cost, and whether it passed; None where a bill is not known, or a scenario has no attempt."""
    strata = [([a.cost_usd for a in side.counted], [bool(a.passed) for a in side.counted]) for side in arm]
    known = [([bill for bill in bills if bill is not None], passed) for bills, passed in strata]
    complete = all(bills and len(bills) == len(passed) for bills, passed in known)
    return known if known and complete else None


def _counts(arm: Sequence[Side]) -> tuple[int, int]:
    return sum(bool(a.passed) for side in arm for a in side.counted), sum(len(side.counted) for side in arm)


def _limits(found: SuccessCost) -> Limits | None:
    return (found.interval.low, found.interval.high) if found.interval else None
