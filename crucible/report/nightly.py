"""Tonight against the history: has a pass rate dropped? Everything is computed from the stored nights.

A chart is one arm, set up in one way, with one model on one scenario. Its first nights are the baseline; from them comes
the rate that must be kept, the lower 80% limit of what was seen. After them the e-detector of `stats.nightly` adds up the
evidence for a drop, and raises an alarm when it reaches the threshold: the nights between false alarms times the number of
charts.

One night is never an alarm: it counts for no more than the square root of the threshold, so that it takes two at least.
After an alarm the evidence is held at its mark, so that a few good nights end it. Both only ever lower the evidence and
leave the promise about false alarms as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import prod, sqrt
from typing import Any, Literal

from crucible.errors import ExitCode, UsageError
from crucible.runner.arms import Instead
from crucible.runner.suite import Suite
from crucible.scenario.load import parse_stored
from crucible.stats.nightly import DROPS, Detector, after_night
from crucible.stats.one_sample import clopper_pearson_lower
from crucible.store.nights import ChartKey, Night, charts_of, history
from crucible.store.queries import RunRecord, run_record
from crucible.store.writes import Store

CAUTION = 0.8
"""One-sided confidence of the rate that must be kept: the true one is above it four times in five."""
State = Literal["alarm", "watched", "baseline", "nothing to lose", "no attempt counts"]


@dataclass(frozen=True, slots=True)
class Watched:
    """One night after the baseline, with the evidence for a drop up to it; alarm at the chart's threshold."""

    night: Night
    evidence: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart as of tonight. `kept` is the rate that must be kept, None while the baseline is not complete.

    `tonight` is None when nothing of it was tried. `alarm_since` and `began` are runs: the first night of this alarm, and
    the night with which a drop most likely began.
    """

    key: ChartKey
    state: State
    baseline: tuple[Night, ...]
    watched: tuple[Watched, ...]
    tonight: Night | None
    threshold: float
    kept: float | None = None
    alarm_since: int | None = None
    began: int | None = None

    @property
    def evidence(self) -> float:
        """As of tonight; 0 during the baseline."""
        return self.watched[-1].evidence if self.watched else 0.0


@dataclass(frozen=True, slots=True)
class Nightly:
    """Tonight's answer for a whole suite."""

    suite: str
    run_id: int
    at: str
    rehearsal: bool
    false_alarm_nights: int
    baseline_nights: int
    charts: tuple[Chart, ...]

    @property
    def alarms(self) -> tuple[Chart, ...]:
        """The charts in alarm."""
        return tuple(chart for chart in self.charts if chart.state == "alarm")

    @property
    def exit_code(self) -> ExitCode:
        """1 for an alarm; 5 when no attempt of tonight counts; 3 when no chart has enough history; else 0."""
        if self.alarms:
            return ExitCode.GATE_FAILED
        if all(chart.state == "no attempt counts" for chart in self.charts):
            return ExitCode.INFRASTRUCTURE
        watching = any(chart.state == "watched" for chart in self.charts)
        return ExitCode.DONE if watching else ExitCode.INCONCLUSIVE

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "alarms": len(self.alarms), "exit_code": int(self.exit_code)}


def tonight(store: Store, suite: Suite, run_id: int) -> Nightly:
    """A night of a suite against the nights before it. Raises UsageError when the run is not a night of the suite."""
    record = run_record(store, run_id)
    if record is None or record.run.suite != suite.name:
        raise UsageError(f"run {run_id} is not a night of {suite.name}")
    past = history(store, suite.name, run_id, rehearsal=record.run.rehearsal)
    keys = charts_of(store, run_id, partial(_set_up, record))
    return Nightly(
        suite=suite.name,
        run_id=run_id,
        at=record.run.created_at,
        rehearsal=record.run.rehearsal,
        false_alarm_nights=suite.false_alarm_nights,
        baseline_nights=suite.baseline_nights,
        charts=all_charts(keys, past, run_id, suite.baseline_nights, suite.false_alarm_nights),
    )


def _set_up(record: RunRecord, digest: str, arm: str) -> str:
    """How an arm of a run is set up, from what the run says of itself."""
    if record.run.rehearsal:
        return ""
    instead = Instead(record.run.without_extra_tools, record.run.tools)
    return instead.setup(parse_stored(record.scenarios[digest].text).arm(arm))


def all_charts(
    keys: Sequence[ChartKey],
    past: Mapping[ChartKey, Sequence[Night]],
    run_id: int,
    baseline_nights: int,
    false_alarm_nights: int,
) -> tuple[Chart, ...]:
    """Every chart of a night; they share the false alarms between them."""
    threshold = float(false_alarm_nights * max(1, len(keys)))
    return tuple(chart(key, past.get(key, ()), run_id, baseline_nights, threshold) for key in keys)


def chart(key: ChartKey, nights: Sequence[Night], run_id: int, baseline_nights: int, threshold: float) -> Chart:
    """One chart from its nights in order; nights on which nothing counted say nothing and are passed over."""
    mine = next((night for night in nights if night.run_id == run_id), None)
    counted = [night for night in nights if night.counted]
    baseline, later = tuple(counted[:baseline_nights]), counted[baseline_nights:]
    made = Chart(key, "baseline", baseline, (), mine, threshold)
    if mine is None or not mine.counted:
        made = replace(made, state="no attempt counts")
    if len(baseline) < baseline_nights or not later:
        return made
    kept = clopper_pearson_lower(sum(n.passed for n in baseline), sum(n.counted for n in baseline), CAUTION)
    if kept == 0:
        return replace(made, state="nothing to lose", kept=kept)
    watched, began = watch(later, kept, threshold)
    above = [one.evidence >= threshold for one in watched]
    if not above[-1]:
        return replace(made, state=made.state if made.state != "baseline" else "watched", kept=kept, watched=watched)
    since = len(above) - next((n for n, up in enumerate(reversed(above)) if not up), len(above))
    return replace(
        made, state="alarm", kept=kept, watched=watched, alarm_since=watched[since].night.run_id, began=began
    )


def watch(nights: Sequence[Night], kept: float, threshold: float) -> tuple[tuple[Watched, ...], int]:
    """The evidence night by night, and the run with which a drop, if there is one, most likely began."""
    detector, watched = Detector(kept), []
    ratios: list[tuple[float, ...]] = []
    for night in nights:
        before, detector = detector, _next(detector, night, threshold)
        ratios.append(tuple(now / (then + 1) for now, then in zip(detector.evidence, before.evidence, strict=True)))
        watched.append(Watched(night, detector.value))
    since = max(range(len(nights)), key=lambda first: _likelihood(ratios[first:]))
    return tuple(watched), nights[since].run_id


def _next(detector: Detector, night: Night, threshold: float) -> Detector:
    after = after_night(detector, night.passed, night.counted)
    most, mark = sqrt(threshold), threshold * len(DROPS)
    capped = [min(now, (then + 1) * most, mark) for now, then in zip(after.evidence, detector.evidence, strict=True)]
    return replace(after, evidence=tuple(capped))


def _likelihood(ratios: Sequence[tuple[float, ...]]) -> float:
    """Of a drop that began with the first of these nights, relative to none; the drops weigh the same."""
    return sum(prod(night[drop] for night in ratios) for drop in range(len(DROPS)))
