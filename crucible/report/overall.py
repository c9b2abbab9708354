"""A run as one answer: the verdict on its scenarios together, with all that a reader needs to believe it or not.

A pure function of the store. Numbers that would be a look half-way (tests beside a verdict that is withheld, or of a run
that could stop early on other grounds) are not computed at all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from crucible.llm.price import known_price
from crucible.report.claims import Claim, claims, claims_when_stopped
from crucible.report.comparison import Comparison, comparisons_of
from crucible.report.costs import Costs, Prices, costs
from crucible.report.details import Number, details
from crucible.report.dominance import dominance
from crucible.report.exploratory import DimensionRow, ScenarioRow, dimension_rows, scenario_rows, scenarios_summary
from crucible.report.gather import Gathered, gather
from crucible.report.order import Order, order
from crucible.report.reach import could_see, what_a_design_can_see
from crucible.report.reliability import Reliability, reliability
from crucible.report.tallies import Metric, Terms
from crucible.report.times import Times, times
from crucible.report.verdict import Verdict
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Overall:
    """A run in numbers. `verdict` is that of the first claim, *on these scenarios*; differences are treatment minus
    baseline, in `metric`, shares of 1; `dimensions` and `scenarios` are exploratory and empty where no verdict was given.
    `compared` tells whether anything of the arms may be held against each other, their cost included; `kind` is comparison,
    or aa for an arm against itself.
    """

    run_id: int
    kind: str
    metric: Metric
    margin: float
    sequential: bool
    compared: bool
    treatment: str
    baseline: str
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    verdict: Verdict
    could_see: tuple[str, ...]
    costs: Costs | None
    times: Times | None
    dominance: str | None
    order: Order | None
    reliability: tuple[Reliability, ...]
    dimensions: tuple[DimensionRow, ...]
    scenarios: tuple[ScenarioRow, ...]
    scenarios_summary: str | None
    numbers: tuple[Number, ...]

    @property
    def terms(self) -> Terms:
        """What was declared before the run."""
        return Terms(self.metric, self.margin)

    @property
    def explored(self) -> bool:
        """Whether tests beside the verdict may be shown: it was given, and not by a run that stopped on its results."""
        return given(self.verdict) and not self.sequential

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `numbers` by name."""
        return {**asdict(self), "numbers": {number.key: number.value for number in self.numbers}}


def overall(store: Store, run_id: int, prices: Prices = known_price, *, detailed: bool = False) -> Overall | None:
    """The run by its id; None when there is none. `prices` are asked where some input came from a cache.

    `detailed` adds `numbers`: what every other method says, which takes longer than all the rest.
    """
    gathered = gather(store, run_id)
    return None if gathered is None else overall_of(store, gathered, prices, detailed=detailed)


def overall_of(store: Store, gathered: Gathered, prices: Prices = known_price, *, detailed: bool = False) -> Overall:
    """The same of a run that is already read."""
    run, terms, pairs, found = gathered.measures.run, gathered.terms, gathered.pairs, comparisons_of(store, gathered)
    said = _claims(gathered, found)
    verdict = said[0].verdict
    explored = given(verdict) and not run.sequential
    compared = given(verdict) or (run.sequential and _same_arms(gathered) and all(given(one.verdict) for one in found))
    sides = [(scene.sides[0], scene.sides[1]) for scene in gathered.scenes if len(scene.sides) == 2]
    spent, took = (costs(sides, prices), times(sides)) if sides else (None, None)
    if not compared and spent is not None and took is not None:
        spent, took = spent.uncompared(), took.uncompared()
    if run.sequential and spent is not None:
        spent = replace(spent, success=spent.success.stopped())
    treatment, baseline = _names(gathered)
    rows = scenario_rows(pairs) if explored else ()
    return Overall(
        run_id=run.id or 0,
        kind=run.kind,
        metric=terms.metric,
        margin=terms.margin,
        sequential=run.sequential,
        compared=compared,
        treatment=treatment,
        baseline=baseline,
        comparisons=tuple(found),
        claims=said,
        verdict=verdict,
        could_see=tuple(_could_see(gathered)) if compared else (),
        costs=spent,
        times=took,
        dominance=dominance(treatment, verdict, pairs, terms, spent.headline) if spent else None,
        order=order(gathered),
        reliability=reliability(pairs),
        dimensions=dimension_rows(gathered) if explored else (),
        scenarios=rows,
        scenarios_summary=scenarios_summary(rows) if explored else None,
        numbers=details(gathered, rows) if given(verdict) and detailed else (),
    )


def given(verdict: Verdict) -> bool:
    """Whether it is one: read off a test or an interval, and not withheld."""
    return verdict.p_value is not None or verdict.interval is not None


def _could_see(gathered: Gathered) -> list[str]:
    if gathered.measures.run.sequential:
        return [what_a_design_can_see(gathered.measures.run.blocks)]
    return could_see(gathered.pairs, gathered.terms)


def _same_arms(gathered: Gathered) -> bool:
    return len({tuple(side.arm for side in scene.sides) for scene in gathered.scenes}) == 1


def _claims(gathered: Gathered, found: list[Comparison]) -> tuple[Claim, ...]:
    """Both claims over all scenarios of the run; a reason against one scenario is a reason against them together."""
    undone = [scene for scene in gathered.scenes if scene.uptake.why_not is not None]
    unlike = [scene for scene in gathered.scenes if scene.unlike is not None]
    if undone:
        return claims(gathered.pairs, _named(gathered, undone[0].scenario.name, undone[0].uptake.why_not or ""))
    if unlike:
        return _no_verdict(_named(gathered, unlike[0].scenario.name, unlike[0].unlike or ""))
    if gathered.scenes and not _same_arms(gathered):
        return _no_verdict("the scenarios compare different arms; the verdict on each scenario stands by itself")
    if gathered.measures.run.sequential:
        return claims_when_stopped({one.scenario: one.verdict for one in found})
    return claims(gathered.pairs, None, gathered.terms)


def _no_verdict(reason: str) -> tuple[Claim, ...]:
    verdict = Verdict("inconclusive", f"No verdict: {reason}.")
    return Claim.of("on these scenarios", verdict), Claim.of("on scenarios like these", verdict)


def _named(gathered: Gathered, scenario: str, reason: str) -> str:
    return reason if len(gathered.scenes) == 1 else f"{scenario}: {reason}"


def _names(gathered: Gathered) -> tuple[str, str]:
    """Treatment and baseline; several names where the scenarios compare different arms, none where an arm was not run."""
    sides = [side for scene in gathered.scenes for side in scene.sides]
    named = [" / ".join(dict.fromkeys(s.arm for s in sides if s.baseline is which)) for which in (False, True)]
    return named[0], named[1]
