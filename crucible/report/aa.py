"""One A/A run: did the two halves of the same set-up come out the same, and what noise does the scenario have?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.noise import NoiseFloor, noise_floor
from crucible.stats.effect import ratio_of_geometric_means
from crucible.stats.exact import two_arms
from crucible.stats.multiplicity import holm
from crucible.stats.permutation import permutation
from crucible.store.history import Twin, twins
from crucible.store.queries import RunRecord, run_record
from crucible.store.writes import Store

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two identical arms."""

    arm: str
    planned: int
    counted: int
    passed: int


@dataclass(frozen=True, slots=True)
class AaReport:
    """`p_values` are Holm-adjusted over the measures that can be tested; empty while the run is not complete.

    `noise` is over all A/A runs of the scenario, for arms as large as these.
    """

    run_id: int
    scenario: str
    model: str
    rehearsal: bool
    halves: tuple[Half, Half]
    complete: bool
    p_values: dict[str, float]
    noise: NoiseFloor | None

    @property
    def differ(self) -> list[str]:
        """The measures in which two identical arms differ more than chance explains, 5% of the time by chance."""
        return [name for name, p_value in self.p_values.items() if p_value < ALPHA]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"differ": self.differ}

    def lines(self) -> list[str]:
        """For people."""
        first, again = self.halves
        mark = "REHEARSAL, scripted: " * self.rehearsal
        who = f"{first.arm} against itself ({self.model})"
        return [
            f"{mark}A/A run {self.run_id} on {self.scenario}: {who}, {_green(first)} and {_green(again)}",
            _meaning(self),
            *(self.noise.lines() if self.noise else ["noise floor: unknown, a half has no attempt that counts"]),
        ]


def aa_report(store: Store, run_id: int) -> AaReport | None:
    """The report on an A/A run; None when there is no such run or it is none."""
    record = run_record(store, run_id)
    if record is None or record.run.kind != "aa":
        return None
    digest = record.plan[0].scenario_hash
    everything = twins(store, digest, rehearsal=record.run.rehearsal, like=run_id)
    mine = [twin for twin in everything if twin.run_id == run_id]
    halves = (_half(record, mine, again=False), _half(record, mine, again=True))
    complete = all(half.counted == half.planned for half in halves)
    return AaReport(
        run_id=run_id,
        scenario=record.scenarios[digest].name,
        model=record.plan[0].model,
        rehearsal=record.run.rehearsal,
        halves=halves,
        complete=complete,
        p_values=_p_values(mine) if complete and not record.run.rehearsal else {},
        noise=noise_floor(store, digest, halves[0].planned, rehearsal=record.run.rehearsal, like=run_id),
    )


def _half(record: RunRecord, mine: Sequence[Twin], *, again: bool) -> Half:
    planned = [p for p in record.plan if p.baseline is not again]
    counted = [twin for twin in mine if twin.again is again]
    return Half(planned[0].arm, len(planned), len(counted), sum(twin.passed for twin in counted))


def _p_values(mine: Sequence[Twin]) -> dict[str, float]:
    """A test of each measure that can be tested, the same that compares two arms, adjusted for their number."""
    first, again = ([twin for twin in mine if twin.again is half] for half in (False, True))
    counts = (sum(t.passed for t in again), len(again), sum(t.passed for t in first), len(first))
    found = {"pass rate": two_arms(*counts)[0]}
    scores = [[t.total for t in half if t.total is not None] for half in (again, first)]
    if all(scores):
        found["score"] = permutation(*scores).p_value
    for name, values in (
        ("cost", [[t.cost_usd for t in half if t.cost_usd] for half in (again, first)]),
        ("seconds", [[t.seconds for t in half if t.seconds] for half in (again, first)]),
        ("tokens", [[float(t.tokens) for t in half if t.tokens] for half in (again, first)]),
    ):
        tested = ratio_of_geometric_means(values[0], values[1]).p_value if all(values) else None
        if tested is not None:
            found[name] = tested
    return dict(zip(found, holm(list(found.values())), strict=True))


def _green(half: Half) -> str:
    return f"{half.passed} of {half.counted} green" + (
        f" ({half.planned} planned)" if half.counted < half.planned else ""
    )


def _meaning(report: AaReport) -> str:
    if report.rehearsal:
        return "Scripted sessions say nothing about noise; this shows only that the machinery works."
    if not report.complete:
        return f"Not complete, so the halves are not tested; go on with: crucible run --resume {report.run_id}"
    if not report.differ:
        smallest = min(report.p_values.values())
        found = f"{len(report.p_values)} measures, smallest adjusted p = {smallest:.2g}"
        return f"The halves do not differ beyond chance, as it should be ({found})."
    said = ", ".join(f"{name} (adjusted p = {report.p_values[name]:.2g})" for name in report.differ)
    return (
        f"The halves differ in {said}, although they are the same set-up. Chance alone does that in at most 5% of such runs; "
        "else something is unequal: the order inside a block, a cache that the later attempt finds warm, the load of the "
        f"provider or of this machine. Run it again (crucible aa {report.scenario}); if it shows again, do not trust a "
        "difference of that measure between two arms."
    )
