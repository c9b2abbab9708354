"""Proof that the arms differ as declared and in nothing else: before the first block, after it, and in every later attempt.

Before it, the openings that can be made without asking a model are held against each other. From then on it is what
attempts really began with, as it is stored: each scenario's first block is made before its later ones, and a difference
that nobody declared stops the run. Going on with such a run finds the same in the store, and stops again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crucible.agents.loop import LoopAgent
from crucible.errors import PreflightError
from crucible.runner.arms import player
from crucible.runner.attempt import task_of
from crucible.runner.surroundings import surroundings
from crucible.scenario.schema import Arm, Scenario
from crucible.store.openings import begun
from crucible.store.tables import PlannedRow
from crucible.store.writes import Store
from crucible.transcript.declared import undeclared
from crucible.transcript.differing import Opening, Part, differences
from crucible.transcript.opening import completed, fingerprint

if TYPE_CHECKING:
    from crucible.agents.types import Agent, Task
    from crucible.llm.types import Model
    from crucible.runner.arms import Instead
    from crucible.runner.equip import Tried
    from crucible.runner.prepare import Prepared
    from crucible.runner.until_decided import Pace
    from crucible.settings import Settings
    from crucible.world.types import SandboxMode

MOST_NAMED = 5
"""Parts that a sentence names; the diff has them all."""


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A difference between first requests that no declaration explains."""

    reason: str
    parts: tuple[Part, ...]

    def diff(self) -> list[str]:
        """The differences as lines, part by part."""
        return [line for part in self.parts for line in (f"{part}:", *part.diff.split("\n"))]


@dataclass
class Beginnings:
    """The openings of one scenario's arms, taken one by one. `arms` are the arms by id, with the models really asked."""

    arms: Mapping[str, Arm]
    baseline: str
    without_extra_tools: bool = False
    first: dict[str, Opening] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, *, without: bool) -> Beginnings:
        """None taken yet."""
        return cls({arm.id: arm for arm in scenario.arms}, scenario.baseline.id, without)

    def ask(self, arm: str, model: str) -> None:
        """Take note of the model that an arm really asks."""
        self.arms = {**self.arms, arm: self.arms[arm].model_copy(update={"model": model})}

    def take(self, arm: str, opening: Opening) -> Undeclared | None:
        """What is wrong with an attempt's opening, held against those before it."""
        if arm in self.first:
            return self._later(arm, opening)
        self.first[arm] = opening
        return next((found for other in self.first if (found := self._held(arm, other)) is not None), None)

    def _later(self, arm: str, opening: Opening) -> Undeclared | None:
        if opening is self.first[arm] or fingerprint(opening) == fingerprint(self.first[arm]):
            return None
        parts = differences(self.first[arm], opening, ("the first attempt", "a later attempt"))
        reason = f"the attempts of {arm} did not all begin with the same request{_named(parts)}"
        return Undeclared(reason, parts) if parts else None

    def _held(self, arm: str, other: str) -> Undeclared | None:
        if arm == other or not {arm, other} <= self.arms.keys():
            return None
        baseline, treatment = sorted((arm, other), key=lambda name: name != self.baseline)
        parts = differences(self.first[baseline], self.first[treatment], (baseline, treatment))
        both = self.arms[baseline], self.arms[treatment]
        found = undeclared(parts, both, without_extra_tools=self.without_extra_tools)
        reason = f"the arms differ in what the scenario does not declare{_named(found)}"
        return Undeclared(reason, found) if found else None


def _named(parts: Sequence[Part]) -> str:
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return f": {', '.join(map(str, parts[:MOST_NAMED]))}{more}" if parts else ""


class ArmProof:
    """The proof of one run, from what is stored of it. `scenarios` by hash, with the arms that are run."""

    def __init__(self, store: Store, run_id: int, scenarios: Mapping[str, Scenario], *, without: bool) -> None:
        self.store, self.run_id = store, run_id
        self.beginnings = {digest: Beginnings.of(one, without=without) for digest, one in scenarios.items()}
        self.names = {digest: scenario.name for digest, scenario in scenarios.items()}
        self._seen: set[int] = set()

    def look(self) -> Undeclared | None:
        """What is wrong with the attempts stored since the last look."""
        for one in begun(self.store, self.run_id, self._seen):
            self._seen.add(one.attempt_id)
            beginnings = self.beginnings.get(one.scenario_hash)
            if beginnings is None or one.opening.content is None or one.arm not in beginnings.arms:
                continue
            beginnings.ask(one.arm, one.model)
            if (found := beginnings.take(one.arm, one.opening.content)) is not None:
                return replace(found, reason=f"{self.names[one.scenario_hash]}: {found.reason}")
        return None


class FirstBlocksFirst:
    """Hands out what another pace does, each scenario's first block before the rest, so that it can be looked at."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._begun: set[str] = set()
        self._held_back: list[PlannedRow] = []

    def next(self) -> list[PlannedRow]:
        """What may be made now."""
        if self._held_back:
            batch, self._held_back = self._held_back, []
            return batch
        batch = self.pace.next()
        lowest: dict[str, int] = {}
        for slot in batch:
            if slot.scenario_hash not in self._begun:
                lowest[slot.scenario_hash] = min(slot.block, lowest.get(slot.scenario_hash, slot.block))
        self._begun |= lowest.keys()
        self._held_back = [slot for slot in batch if slot.block > lowest.get(slot.scenario_hash, slot.block)]
        return [slot for slot in batch if slot.block <= lowest.get(slot.scenario_hash, slot.block)]

    def finished(self) -> bool:
        """Whether the run needs no further attempt."""
        return self.pace.finished()


def check_before(openings: Mapping[str, Opening], scenario: Scenario, *, without: bool) -> None:
    """Hold the openings of a scenario's arms, by arm, against each other. Raises PreflightError with the diff."""
    beginnings = Beginnings.of(scenario, without=without)
    for arm, opening in openings.items():
        if (found := beginnings.take(arm, opening)) is not None:
            raise PreflightError(
                "\n".join([f"{scenario.name}: {found.reason}", *found.diff()]),
                hint="make the arms alike in this, or declare it: arms may differ in model, prompt, tools and agent",
            )


def planned_openings(
    prepared: Prepared, settings: Settings, mode: SandboxMode, instead: Instead, model: Callable[[str], Model],
    tried: Mapping[str, Sequence[Tried]],
) -> dict[str, Opening]:  # fmt: skip
    """What arms will begin with, by arm, as far as it can be told without asking a model: the built-in loop's.

    `tried`: the tool servers of each arm, as they were when they were tried.
    """
    found: dict[str, Opening] = {}
    for arm in prepared.scenario.arms:
        if arm.agent is not None:
            continue
        plays = player(arm, prepared.scenario, settings, instead, model)
        opening = _opening(plays.agent, task_of(prepared, arm), tried.get(arm.id, ()))
        if opening is not None:
            spec = replace(prepared.world_spec(settings), shown=plays.shown)
            found[arm.id] = completed(opening, surroundings(spec, mode))
    return found


def _opening(agent: Agent, task: Task, tried: Sequence[Tried]) -> Opening | None:
    if isinstance(agent, LoopAgent):
        return agent.opening(task)
    from crucible.agents.mcp.agent import McpAgent

    return agent.opening(task, [one.server for one in tried]) if isinstance(agent, McpAgent) and tried else None
