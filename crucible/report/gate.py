"""A gate for CI on a stored run: no worse than the baseline by more than so many points, or better by so many.

It holds, it fails, or the data do not tell; the last is not a pass. What is asked is read off an interval of the
difference, treatment minus baseline, in the metric the run declared before it started:

* no worse than M: it holds when the lower limit of the two-sided 90% interval (a one-sided test at 5%) is above -M, and
  fails when the upper limit is below -M and the run's own verdict is "worse";
* better by M: it holds when the lower limit of the 95% interval is above M and the run's own verdict is "better"; it fails
  when the upper limit is not above M.

A gate never says more than the report, hence the verdicts; and of scenarios like these no more than of these. A run that may
stop early is read off its repeated interval, whose 95% are those of all its looks together. Where no verdict may be given
at all (a rehearsal, an incomplete run, incomparable arms) there is no gate either.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, isfinite
from typing import Any, Literal

from crucible.errors import ExitCode, UsageError
from crucible.report.claims import THESE, Claim
from crucible.report.evidence import Evidence, like_these, on_these
from crucible.report.gather import Gathered, gather
from crucible.report.overall import Overall, overall
from crucible.report.tallies import ALPHA, Metric, Pairs, signed_number
from crucible.report.verdict import NOT_BORNE_OUT, Word
from crucible.stats.interval import Interval
from crucible.store.writes import Store

Way = Literal["no worse than", "better by"]
About = Literal["these", "like-these"]
Outcome = Literal["holds", "fails", "inconclusive"]
EXIT: dict[Outcome, ExitCode] = {
    "holds": ExitCode.DONE,
    "fails": ExitCode.GATE_FAILED,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What must hold. `points` is 0 to 100: percentage points of the pass rate, or hundredths of the score."""

    way: Way
    points: float
    about: About = "these"

    @property
    def margin(self) -> float:
        """`points` as a share."""
        return self.points / 100


@dataclass(frozen=True, slots=True)
class Reading:
    """What the run shows: `difference` as a share, its interval (None for `why_not`), and its own verdict."""

    difference: float
    interval: Interval | None
    verdict: Word
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer. `difference` and `interval` are shares (or scores in [0, 1]); None where nothing was tested."""

    run_id: int
    outcome: Outcome
    sentence: str
    asked: Asked
    metric: Metric
    difference: float | None = None
    interval: Interval | None = None

    @property
    def exit_code(self) -> ExitCode:
        """0 holds, 1 fails, 3 inconclusive."""
        return EXIT[self.outcome]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "exit_code": int(self.exit_code)}


def asked_of(no_worse_than: float | None, better_by: float | None, about: str) -> Asked:
    """What the options ask. Raises UsageError unless exactly one is given, of 0 to 100 points."""
    if (no_worse_than is None) == (better_by is None):
        raise UsageError(
            "a gate asks one thing: --no-worse-than POINTS or --better-by POINTS", hint="--no-worse-than 5"
        )
    way: Way = "no worse than" if no_worse_than is not None else "better by"
    points = no_worse_than if no_worse_than is not None else better_by or 0.0
    if not (isfinite(points) and 0 <= points <= 100):
        raise UsageError(f"--{way.replace(' ', '-')} takes 0 to 100 points, got {points:g}")
    if about not in ("these", "like-these"):
        raise UsageError(f"--claim takes these or like-these, got {about!r}")
    return Asked(way, points, "these" if about == "these" else "like-these")


def gate(store: Store, run_id: int, asked: Asked) -> Gate:
    """Whether what is asked holds for a stored run. Raises UsageError when there is no such run."""
    gathered, run = gather(store, run_id), overall(store, run_id)
    if gathered is None or run is None:
        raise UsageError(f"there is no run {run_id} in this store", hint="crucible runs")
    claim = run.claims[0 if asked.about == "these" else 1]
    if (reason := _withheld(gathered, claim)) is not None:
        sentence = reason if reason.startswith("Inconclusive") else f"Inconclusive: {reason}"
        return Gate(run_id, "inconclusive", sentence, asked, run.metric)
    reading = _reading(gathered, claim, asked)
    outcome = decide(asked, reading)
    if asked.about == "like-these" and outcome != decide(asked, _reading(gathered, run.claims[0], asked)):
        outcome = "inconclusive"
    numbers = _numbers(asked, reading, gathered, outcome)
    sentence = f"{_opening(asked, outcome, run, len(gathered.scenes))}: {numbers}"
    return Gate(run_id, outcome, sentence, asked, run.metric, reading.difference, reading.interval)


def decide(asked: Asked, reading: Reading) -> Outcome:
    """What the interval says of the question; see the top of this module."""
    interval = reading.interval
    if interval is None:
        return "inconclusive"
    if asked.way == "no worse than":
        if interval.low > -asked.margin:
            return "holds"
        return "fails" if interval.high < -asked.margin and reading.verdict == "worse" else "inconclusive"
    if interval.low > asked.margin and reading.verdict == "better":
        return "holds"
    return "fails" if interval.high <= asked.margin else "inconclusive"


def _withheld(gathered: Gathered, claim: Claim) -> str | None:
    """Why no verdict may be given on this run, whatever its numbers are."""
    run = gathered.measures.run
    if run.kind == "aa":
        return f"run {run.id} is one arm against itself; there is nothing to gate."
    if not gathered.scenes:
        return f"run {run.id} has no attempts."
    if claim.p_value is None and claim.interval is None:
        return claim.verdict.sentence
    return None


def _reading(gathered: Gathered, claim: Claim, asked: Asked) -> Reading:
    word = claim.verdict.word
    if gathered.measures.run.sequential:
        interval = claim.interval and Interval(*claim.interval, 1 - ALPHA, "repeated over all looks")
        return Reading(claim.difference or 0.0, interval, word)
    found = (on_these if claim.about == THESE else like_these)(gathered.pairs, gathered.terms)
    return Reading(found.difference, _interval(found, asked), word, found.why_not)


def _interval(found: Evidence, asked: Asked) -> Interval | None:
    limits, level = (found.close, 1 - 2 * ALPHA) if asked.way == "no worse than" else (found.interval, 1 - ALPHA)
    return None if limits is None else Interval(*limits, level, found.method)


def _opening(asked: Asked, outcome: Outcome, run: Overall, scenarios: int) -> str:
    """The sentence up to its numbers."""
    here = "on this scenario" if scenarios == 1 else f"on these {scenarios} scenarios"
    where = here if asked.about == "these" else "on scenarios like these"
    by = f" by more than {asked.points:g} points" if asked.points else ""
    better, worse = f"better than {run.baseline}{by}", f"worse than {run.baseline}{by}"
    if outcome == "inconclusive":
        what = f"is no {worse}" if asked.way == "no worse than" else f"is {better}"
        return f"Inconclusive: these attempts do not show whether {run.treatment} {what} {where}"
    if asked.way == "no worse than":
        return f"{outcome.capitalize()}: {run.treatment} is {'no ' if outcome == 'holds' else ''}{worse} {where}"
    return f"{outcome.capitalize()}: {run.treatment} is {'not ' if outcome == 'fails' else ''}{better} {where}"


def _numbers(asked: Asked, reading: Reading, gathered: Gathered, outcome: Outcome) -> str:
    interval, pairs = reading.interval, gathered.pairs
    if interval is None:
        return f"{reading.why_not}."
    said = (
        f"{signed_number(100 * reading.difference, 1)} {'score ' if gathered.terms.metric == 'score' else ''}points, "
        f"{100 * interval.level:.0f}% interval {_limits(interval)} ({interval.method})"
    )
    if gathered.terms.metric == "score":
        tallies = [tally for pair in pairs for tally in (pair.treatment, pair.baseline)]
        said += f", {sum(len(t.scored) for t in tallies)} of {sum(t.counted for t in tallies)} attempts scored"
    if outcome != "inconclusive":
        return f"{said}."
    more = "" if gathered.measures.run.sequential else _what_it_takes(asked, interval, pairs)
    return f"{said}.{_why_unsure(asked, reading, interval) or more}"


def _why_unsure(asked: Asked, reading: Reading, interval: Interval) -> str:
    """Where the interval is not what leaves the answer open."""
    if asked.way == "no worse than":
        alone = interval.low > -asked.margin or interval.high < -asked.margin
        border = False
    else:
        alone, border = interval.low > asked.margin, reading.verdict == "better" and not asked.margin
    if alone and asked.about == "like-these":
        return f" The interval alone would do. {NOT_BORNE_OUT}"
    if alone:
        return " The interval alone would do, but the run's own test does not find a difference."
    if border:
        return " The run's own test finds a difference, but the interval does not exclude that there is none."
    return ""


def _limits(interval: Interval) -> str:
    return " to ".join(signed_number(100 * limit, 1) for limit in (interval.low, interval.high))


def _what_it_takes(asked: Asked, interval: Interval, pairs: Pairs) -> str:
    """How many attempts would show it if the arms are equally good: intervals shrink with the root of their number."""
    if asked.way != "no worse than" or asked.about != "these" or not asked.margin:
        return ""
    now = min(min(pair.treatment.counted, pair.baseline.counted) for pair in pairs)
    needed = ceil(now * (interval.width / 2 / asked.margin) ** 2)
    return f" If the arms are equally good, about {max(needed, now + 1)} attempts per arm and scenario would show it."
