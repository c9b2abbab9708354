"""What both arms of a scenario were asked, and how they are set up: for a file whose reader has no scenario beside it."""

from __future__ import annotations

from crucible.report.comparison import Comparison
from crucible.report.files.about import About
from crucible.report.set_up import prompt_sent
from crucible.runner.twins import AGAIN
from crucible.scenario.schema import Scenario
from crucible.web.site import Data


def asked(told: About, one: Comparison) -> Data:
    """The question, the task, its rules, and both arms with their prompts."""
    scenario = told.scenarios[one.scenario_hash]
    return {
        "scenario": one.scenario,
        "question": scenario.description,
        "task": scenario.task_prompt,
        "test_command": scenario.test_command,
        "policies": [f"{policy.id}: {policy.rule}" for policy in scenario.policies],
        "arms": [_arm(scenario, arm.arm, arm.model, arm.baseline) for arm in one.arms],
    }


def _arm(scenario: Scenario, name: str, model: str, baseline: bool) -> Data:
    """As it was run: with the model that was asked."""
    known = {arm.id: arm for arm in scenario.arms}
    arm = known.get(name) or known.get(name.removesuffix(AGAIN))
    return {
        "name": name,
        "model": model,
        "baseline": baseline,
        "description": arm.description if arm else "",
        "tools": list(arm.extra_tools) if arm else [],
        "agent": arm.agent.preset or " ".join(arm.agent.command or ()) if arm and arm.agent else None,
        "prompt": prompt_sent(arm, scenario.budget) if arm else None,
        "own": arm is not None and arm.system_prompt is not None,
    }
