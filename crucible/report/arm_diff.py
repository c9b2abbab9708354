"""How the first requests of a run's arms differ, to the letter: what `crucible compare RUN --differences` shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crucible.report.difference import UNKNOWN_START
from crucible.report.gather import Scene, gather
from crucible.store.writes import Store


def arm_diff(store: Store, run_id: int) -> list[dict[str, Any]] | None:
    """Scenario by scenario, every part that differs, from the baseline to the treatment; None when there is no such run.

    `differences` is None where it is not known. `undeclared` is a sentence, or None.
    """
    gathered = gather(store, run_id)
    return None if gathered is None else [_scene(scene) for scene in gathered.scenes]


def _scene(scene: Scene) -> dict[str, Any]:
    found = scene.uptake.differences
    return {
        "scenario": scene.scenario.name,
        "arms": [side.arm for side in scene.sides],
        "differences": None if found is None else [one.as_dict() for one in found],
        "undeclared": scene.uptake.undeclared,
    }


def arm_diff_lines(scenes: list[dict[str, Any]]) -> Iterator[str]:
    """The same as people read it."""
    for scene in scenes:
        found = scene["differences"]
        yield f"{scene['scenario']}: {_summary(found)}"
        if scene["undeclared"]:
            yield f"UNDECLARED DIFFERENCE: {scene['undeclared']}."
        for one in found or ():
            title = " ".join(filter(None, (one["kind"], one["name"])))
            yield f"\n{title}{'' if one['declared'] else '  (NOT DECLARED)'}"
            yield one["diff"]


def _summary(found: list[dict[str, Any]] | None) -> str:
    if found is None:
        return f"how the first requests of the arms differ is {UNKNOWN_START}, or an arm has none that counts"
    stray = sum(not one["declared"] for one in found)
    parts = (
        f"{len(found)} part{'' if len(found) == 1 else 's'} of the first request differ{'s' if len(found) == 1 else ''}"
    )
    return (
        f"{parts}, {stray or 'none'} of them undeclared" if found else "the first requests are the same to the letter"
    )
