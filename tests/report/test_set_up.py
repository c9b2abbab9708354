"""How the two arms of a scenario are set up, and in what they differ, as its file says."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.types import NEUTRAL_PROMPT
from crucible.report.set_up import differing_parts, prompt_diff, prompt_sent, set_up
from crucible.scenario.schema import ExternalAgent, Scenario
from crucible.store.measures import Slot

CLAUDE = ExternalAgent(preset="claude-code")
WORDS = st.text(st.sampled_from("ab. \n:"), max_size=30).filter(str.strip)


def scenario(new: dict[str, Any], old: dict[str, Any]) -> Scenario:
    """One whose arms are these."""
    arms = [
        {"id": "new", "model": "openai/m", **new},
        {"id": "old", "model": "openai/m", "baseline": True, **old},
    ]
    rest = {
        "name": "s", "fixture_path": "f", "test_command": "true", "reference_fix": "r.md", "task_prompt": "Mend it.",
        "rubric": {"dimensions": ({"name": "correctness", "weight": 1.0, "criteria": "green?"},)},
    }  # fmt: skip
    return Scenario.model_validate({**rest, "arms": tuple(arms)})


def parts_that_differ(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    found = scenario(new, old)
    return [part.name for part in set_up(found.treatment, found.baseline) if part.differs]


def test_every_part_that_differs_is_named_and_no_other() -> None:
    assert [] == parts_that_differ({}, {})
    assert ["model"] == parts_that_differ({"model": "openai/n"}, {})
    assert ["system prompt"] == parts_that_differ({"system_prompt": "Be careful."}, {})
    assert ["extra tools"] == parts_that_differ({"extra_tools": ("ctx",)}, {})
    assert ["agent"] == parts_that_differ({"agent": CLAUDE}, {})
    assert ["tool protocol"] == parts_that_differ({"tool_protocol": "json"}, {})


def test_the_order_of_extra_tools_is_no_difference() -> None:
    assert [] == parts_that_differ({"extra_tools": ("a", "b")}, {"extra_tools": ("b", "a")})


def test_parts_are_shown_in_words_for_a_table() -> None:
    agent = {"command": ("bot", "{prompt}"), "env": {"DEEP": "1"}}
    found = scenario({"agent": agent}, {"system_prompt": "Be careful."})
    shown = {part.name: (part.treatment, part.baseline) for part in set_up(found.treatment, found.baseline)}
    assert ("bot {prompt}, with DEEP set", "built-in loop") == shown["agent"]
    assert ("the agent's own", "its own, 11 characters") == shown["system prompt"]
    assert ("none", "none") == shown["extra tools"]


def test_a_prompt_of_its_own_takes_the_place_of_the_default() -> None:
    found = scenario({"system_prompt": "Be careful."}, {})
    own, default = (prompt_sent(arm, found.budget) or "" for arm in (found.treatment, found.baseline))
    assert NEUTRAL_PROMPT not in own
    assert default.startswith(NEUTRAL_PROMPT)
    assert own.removeprefix("Be careful.") == default.removeprefix(NEUTRAL_PROMPT)


def test_prompts_are_compared_sentence_by_sentence() -> None:
    found = scenario({"system_prompt": "One. Two. Three."}, {"system_prompt": "One. Other. Three."})
    lines = (prompt_diff(found) or "").splitlines()
    assert ["--- old", "+++ new", " One. ", "-Other. ", "+Two. ", " Three."] == [*lines[:2], *lines[3:7]]


@given(WORDS, WORDS)
def test_prompts_that_differ_at_all_have_a_diff(one: str, other: str) -> None:
    found = prompt_diff(scenario({"system_prompt": one}, {"system_prompt": other}))
    assert (found is None) == (one == other)
    assert found is None or any(line.startswith(("+", "-")) for line in found.splitlines()[2:])


def test_an_agents_own_prompt_is_not_compared_with_one_of_the_loop() -> None:
    assert prompt_diff(scenario({"agent": CLAUDE, "system_prompt": "Be careful."}, {})) is None
    assert prompt_diff(scenario({"agent": CLAUDE}, {"agent": CLAUDE, "system_prompt": "Be careful."})) is None


def _plan(treatment: str, baseline: str, models: tuple[str, str] = ("openai/m", "openai/m")) -> list[Slot]:
    both = zip((treatment, baseline), models, (False, True), strict=True)
    return [Slot(n, "h", 1, arm, model, is_baseline) for n, (arm, model, is_baseline) in enumerate(both)]


def test_the_arms_of_a_run_differ_in_what_was_really_run() -> None:
    found = scenario({"extra_tools": ("ctx",)}, {})
    assert ["extra tools"] == differing_parts(found, _plan("new", "old"), without_extra_tools=False)
    assert [] == differing_parts(found, _plan("new", "old"), without_extra_tools=True)
    other = _plan("new", "old", ("openai/n", "openai/m"))
    assert ["model", "extra tools"] == differing_parts(found, other, without_extra_tools=False)


def test_an_arm_against_itself_differs_in_nothing_and_one_arm_alone_is_not_compared() -> None:
    found = scenario({"extra_tools": ("ctx",)}, {})
    assert [] == differing_parts(found, _plan("new-again", "new"), without_extra_tools=False)
    assert differing_parts(found, _plan("new", "old")[:1], without_extra_tools=False) is None
