"""Was the treatment put to the test? What sets the arms apart, and whether it was used.

Arms may differ in what the scenario declares (model, system prompt, extra tools) and in nothing else; where their first
requests differ in more than that, they are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crucible.report.arms import Side
from crucible.scenario.schema import Scenario
from crucible.store.measures import Measured
from crucible.store.openings import Opening
from crucible.store.tables import RunRow


@dataclass(frozen=True, slots=True)
class Uptake:
    """`differ`: in what the arms differ, as declared. `used`: for each arm with extra tools, (attempts that got an answer
    from one, attempts that count); `why_not`: why nothing was tested; `undeclared`: a difference nobody declared."""

    differ: tuple[str, ...]
    used: Mapping[str, tuple[int, int]]
    why_not: str | None = None
    undeclared: str | None = None

    def lines(self) -> list[str]:
        """In sentences."""
        said = [f"The arms differ in {', '.join(self.differ)}."] if self.differ else []
        said += [f"{arm} used its extra tools in {used} of {of} attempts." for arm, (used, of) in self.used.items()]
        return said + ([f"UNDECLARED DIFFERENCE: {self.undeclared}."] if self.undeclared else [])


def uptake(
    run: RunRow,
    scenario: Scenario,
    sides: Iterable[Side],
    openings: Mapping[int, Opening],
    using: Mapping[int, set[str]],
) -> Uptake:
    """What was put to the test on one scenario of a run."""
    sides = list(sides)
    declared = {arm.id: arm for arm in scenario.arms}
    extra = {} if run.without_extra_tools else {id_: set(arm.extra_tools) for id_, arm in declared.items()}
    used = {
        side.arm: (sum(bool(using.get(a.id, set()) & extra[side.arm]) for a in side.counted), len(side.counted))
        for side in sides
        if extra.get(side.arm)
    }
    opened = {side.arm: [openings[a.id] for a in side.counted if a.id in openings] for side in sides}
    why_not = _why_not(run, scenario, sides, openings, used)
    return Uptake(_declared(scenario, sides, run), used, why_not, _undeclared(scenario, opened, extra))


def _why_not(
    run: RunRow,
    scenario: Scenario,
    sides: list[Side],
    openings: Mapping[int, Opening],
    used: Mapping[str, tuple[int, int]],
) -> str | None:
    if run.kind == "aa":
        return "this run sets one arm against itself; it measures the noise, not a difference"
    if run.rehearsal:
        return "the sessions are scripted, no model was asked"
    if len(sides) < 2:
        return "only one arm was run"
    if _same(sides, openings):
        left_out = any(arm.extra_tools for arm in scenario.arms) and run.without_extra_tools
        return f"both arms were the same{': the extra tools, which set them apart, were left out' if left_out else ''}"
    unused = [arm for arm, (many, of) in used.items() if of and not many]
    return f"no attempt of {unused[0]} used its extra tools" if unused else None


def _same(sides: list[Side], openings: Mapping[int, Opening]) -> bool:
    """Whether every arm asked the same model the same."""
    asked = {side.arm: {(a.model, openings[a.id].fingerprint) for a in _opened(side, openings)} for side in sides}
    return all(asked.values()) and len(set().union(*asked.values())) == 1


def _opened(side: Side, openings: Mapping[int, Opening]) -> list[Measured]:
    return [a for a in side.counted if a.id in openings]


def _declared(scenario: Scenario, sides: list[Side], run: RunRow) -> tuple[str, ...]:
    arms = [scenario.arm(side.arm) for side in sides if side.arm in {arm.id for arm in scenario.arms}]
    if len(arms) < 2:
        return ()
    one, other = arms
    tools = set(one.extra_tools) ^ set(other.extra_tools)
    parts = [
        ("model", sides[0].model != sides[1].model),
        ("system prompt", one.system_prompt != other.system_prompt),
        (f"extra tools ({', '.join(sorted(tools))})", bool(tools) and not run.without_extra_tools),
    ]
    return tuple(name for name, differs in parts if differs)


def _undeclared(scenario: Scenario, opened: Mapping[str, list[Opening]], extra: Mapping[str, set[str]]) -> str | None:
    """A difference between first requests that the scenario does not explain."""
    for arm, mine in opened.items():
        if len(set(mine)) > 1:
            return f"the attempts of {arm} did not all begin with the same request"
    first = [(arm, mine[0]) for arm, mine in opened.items() if mine]
    if len(first) < 2:
        return None
    (arm_a, a), (arm_b, b) = first
    if a.task != b.task:
        return "the arms were given different tasks"
    if _own_tools(a, extra.get(arm_a, set())) != _own_tools(b, extra.get(arm_b, set())):
        return "the arms were given different tools that no extra tool server explains"
    prompts = {arm.id: arm.system_prompt for arm in scenario.arms}
    if a.system_prompt != b.system_prompt and prompts.get(arm_a) == prompts.get(arm_b):
        return "the arms were given different system prompts that the scenario does not declare"
    return None


def _own_tools(opening: Opening, servers: set[str]) -> frozenset[str]:
    return frozenset(tool for tool in opening.tools if tool.partition("__")[0] not in servers)
