"""In what the arms of a run differ, as their first requests show it, beside what the scenario declares.

What is said rests on the openings that were stored. Attempts made before these were recorded have none: then what they
were really asked is unknown beyond names, and is never called alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crucible.report.arms import Side
from crucible.report.use import ArmUse
from crucible.runner.arm_proof import Beginnings, Undeclared
from crucible.runner.twins import AGAIN
from crucible.scenario.schema import Arm, ExternalAgent, Scenario
from crucible.store.openings import Opening
from crucible.transcript.declared import undeclared
from crucible.transcript.differing import Part, differences

UNKNOWN_START = "unknown: made before this was recorded"


@dataclass(frozen=True, slots=True)
class Difference:
    """One part in which the treatment's first request differs from the baseline's, with its diff."""

    part: Part
    declared: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self.part), "declared": self.declared}


def arms_as_run(scenario: Scenario, sides: Sequence[Side], *, without: bool) -> dict[str, Arm]:
    """The arms by id as they were run: with the model that was asked, without the extra tools that were left out."""
    known = {arm.id: arm for arm in scenario.arms}
    found = {}
    for side in sides:
        if (arm := known.get(side.arm) or known.get(side.arm.removesuffix(AGAIN))) is not None:
            tools = () if without else arm.extra_tools
            found[side.arm] = arm.model_copy(update={"model": side.model, "extra_tools": tools})
    return found


def differences_of(
    sides: Sequence[Side], arms: Mapping[str, Arm], opened: Mapping[int, Opening]
) -> tuple[Difference, ...] | None:
    """All of them, declared or not; None where the openings of an arm are not known."""
    firsts = {side.arm: start for side in sides if (start := _first(side, opened)) is not None}
    if len(sides) != 2 or len(firsts) < 2 or not firsts.keys() <= arms.keys():
        return None
    treatment, baseline = (side.arm for side in sides)
    parts = differences(firsts[baseline], firsts[treatment], (baseline, treatment))
    stray = undeclared(parts, (arms[baseline], arms[treatment]))
    return tuple(Difference(part, part not in stray) for part in parts)


def undeclared_of(sides: Sequence[Side], arms: Mapping[str, Arm], opened: Mapping[int, Opening]) -> Undeclared | None:
    """What nobody declared, between the arms or between the attempts of one."""
    baseline = next((side.arm for side in sides if side.baseline), "")
    beginnings = Beginnings(arms, baseline)
    starts = ((side.arm, opened[a.id].content) for side in sides for a in side.counted if a.id in opened)
    found = (beginnings.take(arm, start) for arm, start in starts if start is not None)
    return next((one for one in found if one is not None), None)


def _first(side: Side, opened: Mapping[int, Opening]) -> Mapping[str, Any] | None:
    starts = (opened[a.id].content for a in side.counted if a.id in opened)
    return next((start for start in starts if start is not None), None)


def in_words(found: Sequence[Difference], arms: Mapping[str, Arm], uses: Sequence[ArmUse]) -> Iterator[str]:
    """What is declared and really differs, with what really ran: `system prompt`, `extra tools (asd: 8 tools, ...)`."""
    kinds = {one.part.kind for one in found if one.declared}
    one, other = (arms[use.arm] for use in uses)
    if one.agent != other.agent:
        yield f"agent ({_agent(uses[0], one)} against {_agent(uses[1], other)})"
    if one.model != other.model:
        yield "model"
    if one.tool_protocol != other.tool_protocol:
        yield f"tool protocol ({one.tool_protocol} against {other.tool_protocol})"
    if "system prompt" in kinds and one.system_prompt != other.system_prompt:
        yield "system prompt"
    apart = set(one.extra_tools) ^ set(other.extra_tools)
    if servers := [server.text() for use in uses for server in use.servers if server.server in apart]:
        yield f"extra tools ({'; '.join(servers)})"


def _agent(use: ArmUse, arm: Arm) -> str:
    """What played the arm, by the version it gave of itself where it did."""
    return use.agent or ("the built-in loop" if arm.agent is None else _name(arm.agent))


def _name(agent: ExternalAgent) -> str:
    return agent.preset or (agent.command or ("an agent",))[0]
