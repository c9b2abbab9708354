"""Was the treatment put to the test? What sets the arms apart, and whether it was used.

Arms may differ in what the scenario declares (model, system prompt, extra tools, agent) and in nothing else; where their
first requests differ in more than that, they are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from crucible.report.arms import Side
from crucible.report.difference import Difference, arms_as_run, differences_of, in_words, undeclared_of
from crucible.report.use import ArmUse, use_of
from crucible.report.words import attempts_in_words
from crucible.scenario.schema import Arm, Scenario
from crucible.store.measures import Measured
from crucible.store.openings import Opening
from crucible.store.tables import RunRow
from crucible.store.traces import Trace

NOT_COMPARISONS = {
    "aa": "this run sets one arm against itself; it measures the noise, not a difference",
    "control": "this run only shows that the tool servers can be used; its attempts were told to call them",
}
"""Why runs of other kinds test nothing."""


@dataclass(frozen=True, slots=True)
class Uptake:
    """`differ`: in what the arms differ, as declared; `recorded` tells whether their first requests show it. `used`: for each
    arm with extra tools, (attempts that got an answer from one, attempts that count); `why_not`: why nothing was tested;
    `undeclared`: a difference nobody declared; `differences`: all of them, part by part, None where unknown.
    """

    differ: tuple[str, ...]
    used: Mapping[str, tuple[int, int]]
    why_not: str | None = None
    undeclared: str | None = None
    recorded: bool = False
    arms: tuple[ArmUse, ...] = ()
    differences: tuple[Difference, ...] | None = None

    def lines(self) -> list[str]:
        """In sentences."""
        said = list(self.difference())
        said += [
            f"{arm} used its extra tools in {used} of {attempts_in_words(of)}." for arm, (used, of) in self.used.items()
        ]
        said += [f"{use.arm} never used {', '.join(idle)}." for use in self.arms if (idle := _idle(use))]
        return said + ([f"UNDECLARED DIFFERENCE: {self.undeclared}."] if self.undeclared else [])

    def difference(self) -> Iterator[str]:
        """In what the arms differ, in a sentence; of several differences at once nobody can tell which had an effect."""
        if self.differ:
            several = f"; which of the {len(self.differ)} made a difference, this run cannot tell"
            yield f"The arms differ in{':' * self.recorded} {', '.join(self.differ)}{several * (len(self.differ) > 1)}."

    def seldom(self) -> list[str]:
        """Arms that used their extra tools in under half of their attempts, in sentences."""
        return [
            f"{arm} used its extra tools in {used} of {of} attempts, so that the rest of them says nothing about these tools"
            for arm, (used, of) in self.used.items()
            if 0 < 2 * used < of
        ]


def _idle(use: ArmUse) -> list[str]:
    """Servers that nobody called, although others of the arm were."""
    return [server.named for server in use.servers if use.used and not server.used]


def uptake(
    run: RunRow,
    scenario: Scenario,
    sides: Iterable[Side],
    openings: Mapping[int, Opening],
    traced: Mapping[int, Trace],
) -> Uptake:
    """What was put to the test on one scenario of a run."""
    sides = list(sides)
    arms = arms_as_run(scenario, sides, without=run.without_extra_tools)
    uses = tuple(use_of(side, arms[side.arm], openings, traced) for side in sides if side.arm in arms)
    used = {use.arm: (use.used, use.of) for use in uses if use.servers}
    found = differences_of(sides, arms, openings)
    differ = _declared(arms, sides) if found is None else tuple(in_words(found, arms, uses))
    return Uptake(
        differ=differ,
        used=used,
        why_not=_why_not(run, scenario, sides, openings, uses),
        undeclared=_undeclared(arms, sides, openings),
        recorded=found is not None,
        arms=uses,
        differences=found,
    )


def _why_not(
    run: RunRow,
    scenario: Scenario,
    sides: list[Side],
    openings: Mapping[int, Opening],
    uses: Iterable[ArmUse],
) -> str | None:
    if run.kind in NOT_COMPARISONS:
        return NOT_COMPARISONS[run.kind]
    if run.rehearsal:
        return "the sessions are scripted, no model was asked"
    if len(sides) < 2:
        return "only one arm was run"
    if _same(sides, openings):
        left_out = any(arm.extra_tools for arm in scenario.arms) and run.without_extra_tools
        return f"both arms were the same{': the extra tools, which set them apart, were left out' if left_out else ''}"
    return next((_unused(use) for use in uses if use.servers and use.of and not use.used), None)


def _unused(use: ArmUse) -> str:
    """A call that never arrived is no use, but it is not the same as none."""
    calls = use.extra.called
    of_them = f": of {calls} call{'' if calls == 1 else 's'} none arrived" if calls else ""
    return f"no attempt of {use.arm} used its extra tools{of_them}"


def _same(sides: list[Side], openings: Mapping[int, Opening]) -> bool:
    """Whether every arm asked the same model the same."""
    asked = {side.arm: {(a.model, openings[a.id].fingerprint) for a in _opened(side, openings)} for side in sides}
    return all(asked.values()) and len(set().union(*asked.values())) == 1


def _opened(side: Side, openings: Mapping[int, Opening]) -> list[Measured]:
    return [a for a in side.counted if a.id in openings]


def _declared(arms: Mapping[str, Arm], sides: list[Side]) -> tuple[str, ...]:
    """What the scenario says, where what was really asked is not known."""
    both = [arms[side.arm] for side in sides if side.arm in arms]
    if len(both) < 2:
        return ()
    one, other = both
    tools = set(one.extra_tools) ^ set(other.extra_tools)
    parts = [
        ("agent", one.agent != other.agent),
        ("model", one.model != other.model),
        ("tool protocol", one.tool_protocol != other.tool_protocol),
        ("system prompt", one.system_prompt != other.system_prompt),
        (f"extra tools ({', '.join(sorted(tools))})", bool(tools)),
    ]
    return tuple(name for name, differs in parts if differs)


def _undeclared(arms: Mapping[str, Arm], sides: list[Side], openings: Mapping[int, Opening]) -> str | None:
    """A difference between first requests that the scenario does not explain."""
    if (found := undeclared_of(sides, arms, openings)) is not None:
        return found.reason
    return _undeclared_names(arms, sides, openings)


def _undeclared_names(arms: Mapping[str, Arm], sides: list[Side], openings: Mapping[int, Opening]) -> str | None:
    """The same by what was always recorded: prompts and names of tools. It is all there is of older attempts."""
    opened = {side.arm: [openings[a.id] for a in _opened(side, openings)] for side in sides}
    older = {arm: [one for one in mine if one.content is None] for arm, mine in opened.items()}
    for arm, mine in older.items():
        if len(set(mine)) > 1:
            return f"the attempts of {arm} did not all begin with the same request"
    first = [(arm, mine[0]) for arm, mine in opened.items() if mine]
    if len(first) < 2:
        return None
    (arm_a, a), (arm_b, b) = first
    if a.task != b.task:
        return "the arms were given different tasks"
    if a.content is not None and b.content is not None:
        return None
    extra = {arm: set(one.extra_tools) for arm, one in arms.items()}
    if _own_tools(a, extra.get(arm_a, set())) != _own_tools(b, extra.get(arm_b, set())):
        return "the arms were given different tools that no extra tool server explains"
    prompts = {name: arm.system_prompt for name, arm in arms.items()}
    if a.system_prompt != b.system_prompt and prompts.get(arm_a) == prompts.get(arm_b):
        return "the arms were given different system prompts that the scenario does not declare"
    return None


def _own_tools(opening: Opening, servers: set[str]) -> frozenset[str]:
    return frozenset(tool for tool in opening.tools if tool.partition("__")[0] not in servers)
