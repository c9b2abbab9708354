"""A plan as people read it, and the one line of it that a run says before its first call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crucible.report.assumptions import BASE, POWER, SCORE_SD, SPREAD, Known, ScenarioPart
from crucible.report.planning import MOST_DESIGNED, Need, Plan, design_of
from crucible.report.reach import what_can_be_seen
from crucible.report.words import dollars
from crucible.runner.declare import Declared
from crucible.scenario.schema import Scenario
from crucible.stats.planning import SIGMA2, Suite, detectable_like_these, detectable_these
from crucible.stats.sequential import FIRST_LOOK

EXAMPLE = 0.3
"""The difference by which a run until decided is described before it starts."""


def plan_lines(plan: Plan) -> Iterator[str]:
    """The plan, one line each."""
    asked = plan.asked
    metric = "pass rate" if asked.metric == "pass_rate" else "score"
    yield f"To find a difference of {_points(asked.detect)} points in {metric} with power {asked.power:g} (two-sided, 5%):"
    yield ""
    yield from _basis(plan)
    yield ""
    alone = len(plan.scenarios) == 1
    yield f"on {'this scenario' if alone else f'these {len(plan.scenarios)} scenarios'}: {_need(plan.these, alone=alone)}"
    yield f"on scenarios like {'this' if alone else 'these'}: {_like_these(plan)}"
    yield from _seen(plan)
    yield from _until_decided(plan)


def _basis(plan: Plan) -> Iterator[str]:
    for part in plan.scenarios:
        yield f"{part.name}: {_result(part, alone=len(plan.scenarios) == 1)}"
        for arm in part.arms:
            cost = "cost unknown (--cost)" if arm.cost is None else f"{_usd(arm.cost.value)} ({_source(arm.cost)})"
            time = (
                "time unknown (--seconds)"
                if arm.seconds is None
                else f"{_time(arm.seconds.value)} ({_source(arm.seconds)})"
            )
            yield f"  {arm.arm}, {arm.model}: one attempt {cost}, {time}"
    yield f"true effects spread by {_points(plan.spread.value)} points between scenarios ({_source(plan.spread, '--spread')})"


def _result(part: ScenarioPart, *, alone: bool) -> str:
    """What is known of one attempt's result."""
    if part.base is None or part.other is None:
        return f"scores spread by {part.sigma2.value**0.5:.2f} within an arm ({_source(part.sigma2, '--sd')})"
    if part.base.source == "assumed" and not alone:
        return f"pass rate unknown; variance {part.sigma2.value:g} within an arm ({_source(part.sigma2, '--base')})"
    return f"from {100 * part.base.value:.0f}% to {100 * part.other:.0f}% ({_source(part.base, '--base')})"


def _source(known: Known, flag: str = "") -> str:
    if known.source == "stored":
        return f"from {known.n} stored attempts"
    return "as you say" if known.source == "given" else f"assumed; say better with {flag}"


def _need(need: Need, *, alone: bool) -> str:
    about = "" if need.exact else "about "
    cost = "cost unknown" if need.usd is None else f"about {_usd(need.usd)}"
    time = "time unknown" if need.seconds is None else f"about {_time(need.seconds)} one at a time"
    each = "" if alone else " on each"
    return f"{about}{_attempts(need.per_arm)} per arm{each}, {need.attempts:,} in all; {cost}, {time}"


def _attempts(count: int) -> str:
    return f"{count:,} attempt{'s' * (count != 1)}"


def _like_these(plan: Plan) -> str:
    if plan.like_these is not None:
        return _need(plan.like_these, alone=False)
    count = len(plan.scenarios)
    said = f"{count} scenario{'s' * (count > 1)}"
    hopeless = (
        f"impossible with {said}, whatever the number of attempts" if plan.never else f"over 1,000 per arm with {said}"
    )
    if not plan.instead:
        return f"{hopeless}, and with 5,000 scenarios too"
    (fewest, attempts), *more = plan.instead
    also = "".join(f", or {scenarios} with {_attempts(number)}" for scenarios, number in more)
    return f"{hopeless}. It takes {fewest} scenarios with {_attempts(attempts)} per arm on each{also}"


def _seen(plan: Plan) -> Iterator[str]:
    if plan.seen is None:
        return
    alone = len(plan.scenarios) == 1
    these, like = _found(plan.seen.these), _found(plan.seen.like_these)
    each, here, others = ("", "this scenario", "this") if alone else (" on each", "these", "these")
    yield f"{_attempts(plan.seen.blocks)} per arm{each} can see: on {here} {these}; on scenarios like {others} {like}"


def _found(difference: float | None) -> str:
    return "no difference, however large" if difference is None else f"{_points(difference)} points or more"


def _until_decided(plan: Plan) -> Iterator[str]:
    if (design := plan.until_decided) is None:
        return
    alone = "" if len(plan.scenarios) == 1 else f", each scenario alone (numbers for {plan.scenarios[0].name})"
    yield (
        f"--until-decided --max-blocks {design.most}{alone}: power {design.power:.2f}; attempts per arm on average "
        f"{design.pairs_when_real:.1f} when the difference is real, {design.pairs_when_none:.1f} when there is none"
    )


def before_run(scenarios: Sequence[Scenario], declared: Declared) -> Iterator[str]:
    """What a run can see, said before it spends anything. `blocks` of the scenarios are those of the run."""
    if declared.until_decided:
        for most in sorted({scenario.blocks for scenario in scenarios}):
            yield _before_sequential([s.name for s in scenarios if s.blocks == most], most)
    elif len(scenarios) == 1 and declared.primary == "pass_rate":
        yield what_can_be_seen(scenarios[0].blocks)
    else:
        yield _before_fixed(len(scenarios), min(scenario.blocks for scenario in scenarios), declared)


def _before_fixed(count: int, attempts: int, declared: Declared) -> str:
    """Of several scenarios, or of scores."""
    suite = Suite(count, attempts, SIGMA2 if declared.primary == "pass_rate" else SCORE_SD**2, SPREAD)
    like = detectable_like_these(suite, POWER)
    metric = "pass rate" if declared.primary == "pass_rate" else "score"
    found = [_found(None if value is None or value > 1 else value) for value in (detectable_these(suite, POWER), like)]
    return (
        f"{count} scenario{'s' * (count > 1)} with {_attempts(attempts)} per arm on each: four times in five they find, on "
        f"these, {found[0]} of mean {metric}; on scenarios like these, {found[1]} (`crucible plan` says what that rests on)."
    )


def _before_sequential(names: Sequence[str], most: int) -> str:
    said = f"{', '.join(names)}: {'each ' * (len(names) > 1)}stops when decided, at most {most} attempts per arm"
    if most > MOST_DESIGNED:
        return f"{said}; the first look is after {FIRST_LOOK}."
    design = design_of(most, BASE, BASE + EXAMPLE)
    return (
        f"{said}; {100 * EXAMPLE:.0f} points from {100 * BASE:.0f}% would be found with a chance of {100 * design.power:.0f}% "
        f"after {design.pairs_when_real:.0f} on average, without a difference it makes {design.pairs_when_none:.0f}; "
        "`crucible plan` says what it takes."
    )


def expected_attempts(scenario: Scenario, declared: Declared) -> float | None:
    """Attempts per arm to expect: all blocks, or for a run until decided the larger of its means with a difference and
    with none. None where the design is too large to be computed here."""
    if not declared.until_decided:
        return float(scenario.blocks)
    if scenario.blocks > MOST_DESIGNED:
        return None
    design = design_of(scenario.blocks, BASE, BASE + EXAMPLE)
    return max(design.pairs_when_real, design.pairs_when_none)


def _points(share: float) -> str:
    return f"{100 * share:.3g}"


def _usd(value: float) -> str:
    """US dollars: whole cents above a dollar."""
    return dollars(value) if value < 1 else f"${value:,.2f}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
