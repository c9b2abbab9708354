"""How the two arms of a scenario are set up, part by part beside each other, as its file says. Pure.

What they were really asked is told by their first requests; this is what there is before any was made.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from crucible.agents.types import system_prompt
from crucible.report.arms import side
from crucible.report.difference import arms_as_run
from crucible.scenario.schema import Arm, Budget, Scenario
from crucible.store.measures import Slot

_SENTENCE = re.compile(r"(?<=[.!?;:] )")


@dataclass(frozen=True, slots=True)
class PartOfArm:
    """One part of a set-up as the treatment and the baseline have it."""

    name: str
    treatment: str
    baseline: str
    differs: bool


def set_up(treatment: Arm, baseline: Arm) -> list[PartOfArm]:
    """Every part, what differs or not; `treatment` and `baseline` in it are short enough for a table."""
    both = (treatment, baseline)
    parts = (
        ("model", [arm.model for arm in both], treatment.model != baseline.model),
        ("system prompt", [_prompt(arm) for arm in both], treatment.system_prompt != baseline.system_prompt),
        ("extra tools", [_tools(arm) for arm in both], set(treatment.extra_tools) != set(baseline.extra_tools)),
        ("agent", [_agent(arm) for arm in both], treatment.agent != baseline.agent),
        ("tool protocol", [arm.tool_protocol for arm in both], treatment.tool_protocol != baseline.tool_protocol),
    )
    return [PartOfArm(name, shown[0], shown[1], differs) for name, shown, differs in parts]


def _prompt(arm: Arm) -> str:
    if arm.system_prompt is None:
        return "Crucible's default" if arm.agent is None else "the agent's own"
    return f"its own, {len(arm.system_prompt):,} characters"


def _tools(arm: Arm) -> str:
    return ", ".join(sorted(arm.extra_tools)) or "none"


def _agent(arm: Arm) -> str:
    if arm.agent is None:
        return "built-in loop"
    called = " ".join([*(arm.agent.command or (arm.agent.preset or "",)), *arm.agent.args])
    return f"{called}, with {', '.join(sorted(arm.agent.env))} set" if arm.agent.env else called


def differing_parts(scenario: Scenario, plan: Sequence[Slot], *, without_extra_tools: bool) -> list[str] | None:
    """The parts in which the arms of a run differ, with the models it asks; None where it has not two arms to compare.

    `plan` is the run's plan on this scenario.
    """
    names = sorted({(slot.baseline, slot.arm) for slot in plan})
    arms = arms_as_run(scenario, [side(name, plan, ()) for _, name in names], without=without_extra_tools)
    if len(arms) != 2:
        return None
    return [part.name for part in set_up(*arms.values()) if part.differs]


def prompt_sent(arm: Arm, budget: Budget) -> str | None:
    """The system prompt of an arm as it is sent, its budget told; of an agent CLI what it is handed, None for nothing."""
    return system_prompt(arm.system_prompt, budget) if arm.agent is None else arm.system_prompt


def prompt_diff(scenario: Scenario) -> str | None:
    """A unified diff from the baseline's prompt to the treatment's, sentence by sentence. None where both have the same,
    and where they cannot be compared: an agent's own is not known, and is no prompt of the built-in loop."""
    if (scenario.baseline.agent is None) != (scenario.treatment.agent is None):
        return None
    baseline, treatment = (prompt_sent(arm, scenario.budget) for arm in (scenario.baseline, scenario.treatment))
    if baseline is None or treatment is None or baseline == treatment:
        return None
    names = (scenario.baseline.id, scenario.treatment.id)
    return "\n".join(difflib.unified_diff(_sentences(baseline), _sentences(treatment), *names, n=2, lineterm=""))


def _sentences(text: str) -> list[str]:
    return [sentence for line in text.split("\n") for sentence in _SENTENCE.split(line)]
