"""The noise floor of a scenario: how far apart one arm and itself land, from all its stored A/A runs.

A difference between two real arms that this range holds is one that chance makes between identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean
from typing import Any

from crucible.report.tallies import signed_number
from crucible.stats.identical import means_apart, rates_apart
from crucible.store.history import Twin, twins
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Noise:
    """One measure of the two halves. `seen` is the second half minus the first, or over the first when `ratio`.

    Two identical arms of the floor's size differ by `low` to `high` 95% of the time. None is unknown, for `why_not`;
    `known` is the number of attempts with a value.
    """

    name: str
    ratio: bool
    known: int
    seen: float | None
    low: float | None
    high: float | None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """All A/A runs of one scenario together: attempts seen of each half, and the size of the two arms the ranges are for."""

    runs: int
    halves: tuple[int, int]
    size: tuple[int, int]
    rehearsal: bool
    measures: tuple[Noise, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def within(self, name: str) -> str | None:
        """In what range 95% of the differences of a measure lie, in a few words; None where that is not known."""
        measure = next((one for one in self.measures if one.name == name), None)
        if measure is None or measure.low is None or measure.high is None:
            return None
        if measure.ratio:
            return f"{measure.low:.2f} to {measure.high:.2f}"
        show = _points if measure.name == "pass rate" else _score
        return f"{show(measure.low)} to {show(measure.high)}".replace(" points to", " to")

    def lines(self) -> list[str]:
        """For people: a heading, then one line per measure."""
        runs = f"{self.runs} A/A run{'s' * (self.runs > 1)}{' (REHEARSAL: scripted, not measured)' * self.rehearsal}"
        first, again = self.halves
        size = f"{self.size[0]}" if self.size[0] == self.size[1] else f"{self.size[0]} and {self.size[1]}"
        heading = (
            f"noise floor from {runs}, {first} attempts against {again} of the same set-up; "
            f"95% of differences between two identical arms of {size} attempt{'' if size == '1' else 's'} lie in the range"
        )
        return [heading, *(f"  {measure.name}: {_line(measure)}" for measure in self.measures)]


def noise_floor(
    store: Store, scenario_hash: str, attempts: int | None = None, *, rehearsal: bool = False, like: int | None = None
) -> NoiseFloor | None:
    """What all A/A runs of a scenario say of chance; None without one that has attempts of both halves.

    Ranges are for two identical arms of `attempts` each; of as many as were seen when that is None. Runs of different
    arms or models are pooled: the spread within each, the pass rate over all; with `like`, only those whose arm was set up
    as one of that run was (with its extra tools, without them, with other ones).
    """
    found = twins(store, scenario_hash, rehearsal=rehearsal, like=like)
    halves = (sum(not twin.again for twin in found), sum(twin.again for twin in found))
    if not all(halves) or attempts == 0:
        return None
    size = halves if attempts is None else (attempts, attempts)
    measures = (
        _rate(found, size),
        _mean("score", [(t, t.total) for t in found], size),
        _ratio("cost", [(t, t.cost_usd) for t in found], size),
        _ratio("seconds", [(t, t.seconds) for t in found], size),
        _ratio("tokens", [(t, t.tokens) for t in found], size),
    )
    return NoiseFloor(len({twin.run_id for twin in found}), halves, size, rehearsal, measures)


def _rate(found: Sequence[Twin], size: tuple[int, int]) -> Noise:
    apart = rates_apart(sum(twin.passed for twin in found), len(found), *size)
    return Noise("pass rate", False, len(found), _seen([(t, float(t.passed)) for t in found]), -apart, apart)


def _mean(name: str, values: Sequence[tuple[Twin, float | None]], size: tuple[int, int]) -> Noise:
    known = [(twin, value) for twin, value in values if value is not None]
    apart = means_apart(_by_run(known), *size) if known else None
    seen = _seen(known)
    if apart is None:
        return Noise(name, False, len(known), seen, None, None, _why_not(known))
    return Noise(name, False, len(known), seen, -apart, apart)


def _ratio(name: str, values: Sequence[tuple[Twin, float | None]], size: tuple[int, int]) -> Noise:
    """Of geometric means; a value of 0 has no logarithm and is no measurement of a cost."""
    logs = _mean(name, [(twin, log(value) if value else None) for twin, value in values], size)
    seen, low, high = (None if value is None else exp(value) for value in (logs.seen, logs.low, logs.high))
    return Noise(name, True, logs.known, seen, low, high, logs.why_not)


def _seen(known: Sequence[tuple[Twin, float]]) -> float | None:
    """The mean difference of the halves within each run, weighted by how much a run says."""
    weights, differences = [], []
    for run in dict.fromkeys(twin.run_id for twin, _ in known):
        first, again = ([v for t, v in known if t.run_id == run and t.again is half] for half in (False, True))
        if first and again:
            weights.append(len(first) * len(again) / (len(first) + len(again)))
            differences.append(fmean(again) - fmean(first))
    return sum(w * d for w, d in zip(weights, differences, strict=True)) / sum(weights) if weights else None


def _by_run(known: Sequence[tuple[Twin, float]]) -> list[list[float]]:
    return [[v for t, v in known if t.run_id == run] for run in dict.fromkeys(t.run_id for t, _ in known)]


def _why_not(known: Sequence[tuple[Twin, float]]) -> str:
    if len(known) < 3:
        return f"{len(known)} known value{'s' * (len(known) != 1)}"
    return "all values of a run are the same: there is no spread to judge by"


def _line(measure: Noise) -> str:
    show: Callable[[float], str] = _times if measure.ratio else _points if measure.name == "pass rate" else _score
    seen = "unknown" if measure.seen is None else show(measure.seen)
    if measure.low is None or measure.high is None:
        return f"seen {seen}; no range ({measure.why_not})"
    return f"seen {seen}; {show(measure.low)} to {show(measure.high)}"


def _points(share: float) -> str:
    return f"{signed_number(100 * share, 0)} points"


def _score(value: float) -> str:
    return signed_number(value, 2)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x"
