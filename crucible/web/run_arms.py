"""In what the arms of a run were set up differently, as the scenarios that are stored with it say."""

from __future__ import annotations

from crucible.errors import CrucibleError
from crucible.report.set_up import differing_parts
from crucible.scenario.load import parse_stored
from crucible.store.measures import RunMeasures
from crucible.web.site import Data

MOST_SCENARIOS = 5
"""Scenarios of a run that are looked at: each has to be parsed."""


def set_apart(measures: RunMeasures) -> list[Data]:
    """Scenario by scenario, the first of them: the parts that differ, None where that is not known."""
    return [_of(measures, digest) for digest in measures.hashes[:MOST_SCENARIOS]]


def _of(measures: RunMeasures, digest: str) -> Data:
    stored = measures.scenarios[digest]
    plan = [slot for slot in measures.plan if slot.scenario_hash == digest]
    try:
        scenario = parse_stored(stored.text)
    except CrucibleError:
        return {"scenario": stored.name, "parts": None}
    parts = differing_parts(scenario, plan, without_extra_tools=measures.run.without_extra_tools)
    return {"scenario": stored.name, "parts": parts}
