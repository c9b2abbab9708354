"""Scenarios: every file of the bench with its state, and one of them with its versions and its history."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from crucible.errors import CrucibleError, ScenarioError, nearest
from crucible.report.scenarios import ScenarioLine, failure_lines, scenario_lines
from crucible.report.set_up import prompt_diff, prompt_sent, set_up
from crucible.scenario.catalog import list_scenarios
from crucible.scenario.load import LoadedScenario, parse_stored
from crucible.scenario.schema import Scenario
from crucible.store.pages import list_runs
from crucible.store.versions import Version, versions
from crucible.web.changes import diff_lines
from crucible.web.pages.runs import run_row
from crucible.web.site import Ask, Data, NotFound, Site

RUNS_A_PAGE = 25
SORTS = ("name", "state", "runs", "checked")
STATES = (
    "cannot be read",
    "fails its check",
    "changed since it was checked",
    "not checked",
    "ok",
    "frozen failure",
    "no file",
)
"""How a scenario stands, what needs a person first."""
Found = list[tuple[Path, LoadedScenario | ScenarioError]]


def scenarios_page(site: Site, ask: Ask) -> Data:
    """`?sort=` one of SORTS with `dir=up|down`."""
    files, stored = list_scenarios(site.bench), versions(site.store)
    texts = {one.scenario.name: one.text for _, one in files if isinstance(one, LoadedScenario)}
    rows = [_row(line, stored.get(line.name, []), texts.get(line.name)) for line in scenario_lines(files)]
    rows += [{**_row(line, [], None), "state": _frozen(line)} for line in failure_lines(site.bench)]
    known = {row["name"] for row in rows}
    rows += [_stored_only(name, mine) for name, mine in stored.items() if name not in known]
    sort = ask.choice("sort", SORTS)
    up = ask.rising(sort, ("runs", "checked"))
    keys: dict[str, Any] = {
        "name": lambda row: row["name"],
        "state": lambda row: (STATES.index(row["state"]), row["name"]),
        "runs": lambda row: (row["runs"], row["name"]),
        "checked": lambda row: (row["checked"] or "", row["name"]),
    }
    return {
        "scenarios": sorted(rows, key=keys[sort], reverse=not up),
        "bench": str(site.bench),
        "sort": sort,
        "up": up,
    }


def _row(line: ScenarioLine, mine: list[Version], text: str | None) -> Data:
    newest = mine[0] if mine else None
    return {
        **asdict(line),
        "state": state_of(line, mine, text),
        "checked": newest.checked if newest else None,
        "tests": newest.expected if newest else None,
        "quarantined": newest.quarantined if newest else 0,
        "versions": len(mine),
        "runs": sum(version.runs for version in mine),
    }


def _frozen(line: ScenarioLine) -> str:
    return "cannot be read" if line.problems else "frozen failure"


def _stored_only(name: str, mine: list[Version]) -> Data:
    line = ScenarioLine(name, "", "Stored, but no file of this bench has this name any more.")
    return {**_row(line, mine, None), "state": "no file"}


def state_of(line: ScenarioLine, mine: list[Version], text: str | None) -> str:
    """One of STATES: by the newest stored version that has the text of the file."""
    if line.problems:
        return "cannot be read"
    same = [version for version in mine if version.text == text and version.ok is not None]
    if not same:
        return "changed since it was checked" if any(version.ok is not None for version in mine) else "not checked"
    return "ok" if same[0].ok else "fails its check"


def scenario_page(site: Site, ask: Ask) -> Data:
    """`/scenarios/NAME?page=N`: what it asks, how it stands, its versions, its runs."""
    name = ask.params["name"]
    files, mine = list_scenarios(site.bench), versions(site.store, name).get(name, [])
    loaded = next((one for path, one in files if path.stem == name), None)
    line = next((one for one in scenario_lines(files) if one.name == name), None)
    if loaded is None and not mine:
        frozen = next((one for one in failure_lines(site.bench) if one.name == name), None)
        if frozen is None:
            known = [path.stem for path, _ in files]
            raise NotFound(
                f"there is no scenario {name[:80]!r}{nearest(name, known)}", hint="they are listed under Scenarios"
            )
        return {**_nothing(name), "line": frozen, "state": _frozen(frozen)}
    page = ask.count("page", 1, 10**9)
    runs, total = list_runs(site.store, scenario=name, offset=(page - 1) * RUNS_A_PAGE, limit=RUNS_A_PAGE)
    text = loaded.text if isinstance(loaded, LoadedScenario) else None
    scenario = _scenario(loaded, mine)
    return {
        "name": name,
        "line": line,
        "state": state_of(line, mine, text) if line else "no file",
        "scenario": scenario,
        "arms": None if scenario is None else arms_of(scenario),
        "versions": [{k: v for k, v in asdict(version).items() if k != "text"} for version in mine],
        "runs": [run_row(run) for run in runs],
        "total": total,
        "page": page,
        "pages": max(1, -(-total // RUNS_A_PAGE)),
    }


def _nothing(name: str) -> Data:
    return {"name": name, "scenario": None, "arms": None, "versions": [], "runs": [], "total": 0, "page": 1, "pages": 1}


def _scenario(loaded: LoadedScenario | ScenarioError | None, mine: list[Version]) -> Scenario | None:
    """As the file says now, else as it was last stored; None when neither can be read."""
    if isinstance(loaded, LoadedScenario):
        return loaded.scenario
    try:
        return parse_stored(mine[0].text) if mine else None
    except CrucibleError:
        return None


def arms_of(scenario: Scenario) -> Data:
    """How both arms are set up, what differs, and their prompts as they are sent, treatment first."""
    both, diff = (scenario.treatment, scenario.baseline), prompt_diff(scenario)
    return {
        "parts": set_up(*both),
        "prompts": [
            {
                "arm": arm.id,
                "baseline": arm is scenario.baseline,
                "own": arm.system_prompt is not None,
                "loop": arm.agent is None,
                "json": arm.tool_protocol == "json",
                "sent": prompt_sent(arm, scenario.budget),
            }
            for arm in both
        ],
        "diff": None if diff is None else diff_lines(diff),
    }
