"""How many green runs is "fixed" worth, for a bug reported as k failures in n runs: the table, the floor, its limits.

Rates and tolerances are exact fractions of what was written. A chance of greens is always that of an *unchanged* bug; it
is not the chance that the bug is still there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

from crucible.errors import UsageError
from crucible.stats.confirming import floor_allowing, greens_needed
from crucible.stats.floor import (
    all_green,
    as_rate,
    as_tolerance,
    confirmation_floor,
    false_clear,
    floor_from_counts,
    still_there,
)
from crucible.stats.one_sample import clopper_pearson

NEARLY_ALWAYS = Fraction(9, 10)
"""From this rate on a failure needs no floor: one or two runs settle it, and a unit test would too."""
MOST_REDS = 3
SIMULATED = 200_000
ENUMERATED = 2
BATCH = 10


@dataclass(frozen=True, slots=True)
class Report:
    """What was said of a bug: its failure rate, exactly, and the count behind it, where one was given."""

    rate: Fraction
    failed: int | None = None
    of: int | None = None

    @property
    def quoted(self) -> str:
        """As a reader quotes it."""
        return f"{self.failed} of {self.of}" if self.of else f"{float(self.rate):g}"


def read_report(text: str) -> Report:
    """A report as people write it: `2/10`, `2 of 10`, or a bare rate such as `0.2`. Raises UsageError."""
    counts = re.fullmatch(r"\s*(\d{1,9})\s*(?:/|of)\s*(\d{1,9})\s*", text)
    try:
        if counts is None:
            return Report(_possible(as_rate("the rate", text.strip()), text))
        failed, of = int(counts[1]), int(counts[2])
        return Report(_possible(as_rate("failures of runs", f"{failed}/{of}"), text), failed, of)
    except ValueError as error:
        raise UsageError(str(error), hint="write what was reported, such as 2/10, or a rate such as 0.2") from None


def _possible(rate: Fraction, text: str) -> Fraction:
    if rate == 0:
        raise ValueError(f"{text!r}: a bug that was never seen failing has no floor")
    return rate


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor of one report under one tolerance, with what an honest reader must know beside it.

    `runs` is the number chosen, or the floor. `averaged` and `worst` are None without a count behind the rate: then
    nothing is known of how sure it is.
    """

    report: Report
    tolerance: Fraction
    floor: int
    runs: int
    averaged: int | None
    worst: int | None
    allowing: dict[int, int]
    different: int | None

    def table(self) -> Iterator[tuple[int, Fraction]]:
        """Runs and the chance that so many are all green with the bug unchanged, from 1 to the floor."""
        for runs in range(1, self.floor + 1):
            yield runs, false_clear(self.report.rate, runs)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: chances in [0, 1], and as exact fractions in text."""
        return {
            "report": self.report.quoted,
            "rate": float(self.report.rate),
            "tolerance": float(self.tolerance),
            "floor": self.floor,
            "runs": self.runs,
            "false_clear": float(false_clear(self.report.rate, self.runs)),
            "false_clear_exact": str(false_clear(self.report.rate, self.runs)),
            "floor_averaged_over_the_rate": self.averaged,
            "floor_at_the_lower_limit_of_the_rate": self.worst,
            "floor_allowing_reds": {str(reds): runs for reds, runs in self.allowing.items()},
            "greens_that_show_a_difference": self.different,
            "table": [{"runs": runs, "false_clear": float(chance)} for runs, chance in self.table()],
        }


def floor_of(report: Report, tolerance: str, runs: int | None, most: int = 100) -> Floor:
    """Everything `crucible floor` says. Raises UsageError for a tolerance that is none, or a floor past all bounds.

    The greens that show a difference are not searched for (None) where the floor is above `most` already.
    """
    try:
        limit = as_tolerance("the tolerance", tolerance)
        floor = confirmation_floor(report.rate, limit)
        allowing = {reds: floor_allowing(reds, report.rate, limit) for reds in range(1, MOST_REDS + 1)}
    except ValueError as error:
        raise UsageError(str(error), hint="a tolerance such as 0.05; a rate that can be confirmed at all") from None
    averaged = worst = different = None
    if report.failed is not None and report.of is not None:
        averaged = floor_from_counts(report.failed, report.of, limit, "jeffreys")
        worst = floor_from_counts(report.failed, report.of, limit, "clopper-pearson")
        different = greens_needed(report.failed, report.of) if floor <= most else None
    return Floor(report, limit, floor, runs or floor, averaged, worst, allowing, different)


def floor_lines(found: Floor, most: int, seconds: float | None = None) -> list[str]:
    """The floor for a terminal. Above `most` runs it is called too flaky to confirm cheaply; `seconds` is of one run."""
    share = f"{100 * float(found.tolerance):g}%"
    lines = ["runs  all green although nothing changed"]
    lines += _shown([f"{runs:>4}  {100 * float(chance):6.2f}%" for runs, chance in found.table()])
    lines += [
        "",
        f"floor: {runs_of(found.floor, 'green run')}, for {found.report.quoted} as quoted and a tolerance of {share}",
    ]
    lines += [*_how_sure(found), *_reds(found), *_chosen(found, seconds), *_advice(found, most)]
    return lines


def _shown(rows: list[str], ends: int = 10) -> list[str]:
    return rows if len(rows) <= 4 * ends else [*rows[:ends], " ...", *rows[-ends:]]


def _how_sure(found: Floor) -> Iterator[str]:
    report = found.report
    if report.failed is None or report.of is None:
        yield "  how sure the rate is, is not known: quote the count it came from, such as 2/10"
        return
    low, high = (clopper_pearson(report.failed, report.of).low, clopper_pearson(report.failed, report.of).high)
    yield f"  but {report.of} runs do not fix a rate: it lies anywhere from {_percent(low)} to {_percent(high)}"
    yield f"  {runs_of(found.averaged or 0)}, averaged over what the rate may be (Jeffreys)"
    yield f"  {runs_of(found.worst or 0)}, at the 95% lower limit of the rate (Clopper-Pearson)"
    if found.different is not None:
        yield f"  {runs_of(found.different, 'green')} would show that new code differs from old (Boschloo, one-sided 5%)"


def _percent(chance: float) -> str:
    """One place, and two figures where there would be none."""
    share = 100 * chance
    return f"{share:.1f}%" if share >= 0.1 or share == 0 else f"{share:.2g}%"


def runs_of(number: int, what: str = "run") -> str:
    """So many runs, in words: `1 run`, `14 green runs`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _reds(found: Floor) -> Iterator[str]:
    said = ", ".join(f"{runs_of(runs)} for {reds}" for reds, runs in found.allowing.items())
    yield f"  had red runs been allowed beforehand: {said}"


def _chosen(found: Floor, seconds: float | None) -> Iterator[str]:
    chance = false_clear(found.report.rate, found.runs)
    yield ""
    yield f"{runs_of(found.runs, 'green')} would happen {100 * float(chance):.2f}% of the time with the bug unchanged"
    report = found.report
    if report.failed is not None and report.of is not None:
        averaged = all_green(report.failed, report.of, found.runs)
        yield f"  {100 * float(averaged):.1f}% when the smallness of the count is allowed for (Jeffreys)"
    left = 100 * float(still_there(report.rate, found.runs))
    yield f"  if it was even odds that the change does nothing, they leave {left:.1f}% that it does nothing"
    yield f"  of a partial fix they say only: it fails less than {100 * (1 - 0.05 ** (1 / found.runs)):.1f}% of the time"
    if seconds is not None:
        yield f"  at {seconds:g} s each they take {_time(found.runs * seconds)}, one after another"


def _time(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _advice(found: Floor, most: int) -> Iterator[str]:
    if found.floor > most:
        yield (
            f"too flaky to confirm cheaply: {found.floor} runs are more than {most} (--most). Mend the flakiness itself, "
            "or accept fewer runs knowing what they are worth"
        )
    if found.report.rate >= NEARLY_ALWAYS:
        yield "a bug that fires nearly every time is a unit test's job; one or two runs settle it"


def explain(found: Floor, seed: int) -> list[str]:
    """The arithmetic three ways: every outcome of two runs listed, the formula, and dice."""
    rate = found.report.rate
    lines = [f"every outcome of {ENUMERATED} runs of the unchanged bug:"]
    for outcome in product(("green", "red"), repeat=ENUMERATED):
        chance = (1 - rate) ** outcome.count("green") * rate ** outcome.count("red")
        lines.append(f"  {' '.join(f'{o:<5}' for o in outcome)}  {float(chance):.4f}")
    lines.append(f"  they sum to 1; all green is {float(false_clear(rate, ENUMERATED)):.4f} = (1 - p)^{ENUMERATED}")
    formula, dice = float(false_clear(rate, BATCH)), simulated(rate, BATCH, seed)
    lines.append(
        f"{BATCH} runs have {2**BATCH:,} outcomes; all green: formula {formula:.4f}, "
        f"{SIMULATED:,} simulated batches {dice:.4f} (seed {seed})"
    )
    return lines


def simulated(rate: Fraction, runs: int, seed: int) -> float:
    """The share of simulated batches of runs that are all green, by dice of a stated seed."""
    random, red = Random(seed), float(rate)  # noqa: S311 - dice to be thrown again, not a secret
    green = sum(all(random.random() >= red for _ in range(runs)) for _ in range(SIMULATED))
    return green / SIMULATED
