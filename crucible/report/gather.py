"""A stored run put together for its report: scenario by scenario, the two sides and what was put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from crucible.report.arms import Side, side
from crucible.report.tallies import Metric, Pair, Terms
from crucible.report.uptake import Uptake, uptake
from crucible.scenario.load import parse_stored
from crucible.scenario.schema import Scenario
from crucible.store.flags import flags_of_run
from crucible.store.measures import Measured, RunMeasures, Slot, run_measures
from crucible.store.openings import openings
from crucible.store.traces import traces
from crucible.store.writes import Store


@dataclass(frozen=True)
class Scene:
    """One scenario of a run. `sides` are the arms that were run, the treatment first; `metric` is what the run declared."""

    digest: str
    scenario: Scenario
    plan: tuple[Slot, ...]
    sides: tuple[Side, ...]
    uptake: Uptake
    metric: Metric = "pass_rate"

    @cached_property
    def pair(self) -> Pair | None:
        """Both arms' tallies; None when only one was run."""
        if len(self.sides) != 2:
            return None
        return Pair(self.sides[0].tally(), self.sides[1].tally(), self.scenario.name)

    @property
    def unlike(self) -> str | None:
        """Why the arms cannot be held against each other: a difference nobody declared, or scores by different judges."""
        if self.uptake.undeclared is not None or self.metric != "score":
            return self.uptake.undeclared
        judges = {a.judge_id for side in self.sides for a in side.counted if a.judge_id is not None}
        if len(judges) < 2:
            return None
        return f"its attempts were scored by {len(judges)} versions of the judge; judge all of them by one (crucible rejudge)"


@dataclass(frozen=True)
class Gathered:
    """A run with everything its report is made of. `flags` are kinds of flags by attempt."""

    measures: RunMeasures
    terms: Terms
    scenes: tuple[Scene, ...]
    flags: Mapping[int, list[str]]

    @cached_property
    def standing(self) -> dict[tuple[str, str, int], Measured]:
        """The attempt that stands for each (scenario hash, arm, block)."""
        return self.measures.standing()

    @cached_property
    def pairs(self) -> list[Pair]:
        """The scenarios on which both arms were run."""
        return [pair for scene in self.scenes if (pair := scene.pair) is not None]


def gather(store: Store, run_id: int) -> Gathered | None:
    """The run by its id; None when there is none."""
    measures = run_measures(store, run_id)
    if measures is None:
        return None
    run, opened, traced = measures.run, openings(store, run_id), traces(store, run_id)
    scenarios = {digest: parse_stored(measures.scenarios[digest].text) for digest in measures.hashes}
    terms = Terms(cast("Metric", run.primary_metric), run.margin)
    scenes = []
    for digest, (slots, mine) in measures.by_scenario().items():
        scenario, plan = scenarios[digest], tuple(slots)
        arms = sorted({(slot.baseline, slot.arm) for slot in plan})
        sides = tuple(side(arm, plan, mine) for _, arm in arms)
        scenes.append(Scene(digest, scenario, plan, sides, uptake(run, scenario, sides, opened, traced), terms.metric))
    flags = {attempt: [row.kind for row in rows] for attempt, rows in flags_of_run(store, run_id).items()}
    return Gathered(measures, terms, tuple(scenes), flags)
