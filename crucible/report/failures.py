"""Frozen failures on a terminal: what `repro` and `confirm` are going to do, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path

from crucible.report.floor import runs_of
from crucible.runner.failures.confirm import Confirmation, Verdict
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.made import Colour, Made, one_line
from crucible.runner.failures.planned import ConfirmPlan
from crucible.runner.failures.repro import Repro, ReproPlan
from crucible.scoring.trajectory.expected import show_call

Shown = Callable[[Path], str]
MOST_ANSWER = 200
"""Characters of an answer that are shown beside its calls."""


def percent(chance: Fraction | float) -> str:
    """A chance as people read it: `4.40%`; `< 0.01%` for what would be shown as nothing."""
    share = 100 * float(chance)
    return "< 0.01%" if 0 < share < 0.005 else f"{share:.2f}%"


def odds(rate: Fraction) -> str:
    """A rate in words: `1 in 5`; as a percentage where that says no more."""
    return f"{rate.numerator} in {rate.denominator}" if rate.denominator <= 1000 else percent(rate)


def plan_line(frozen: Frozen, plan: ReproPlan) -> str:
    """What `repro` is about to do."""
    name = frozen.failure.slug
    if plan.counting:
        return f"{name}: {runs_of(plan.runs)}, all of them counted"
    return (
        f"{name}: until it fails, at most {plan.runs} runs: at {frozen.failure.report} "
        f"they would show it {percent(plan.chance or 0)} of the time"
    )


def repro_lines(found: Repro, shown: Shown) -> Iterator[str]:
    """What `repro` found."""
    valid = len(found.series.valid)
    if found.seen is not None:
        yield f"seen failing: {found.seen.failed} of {valid} runs, first on {', '.join(found.seen.dimensions)}"
        yield f"  {found.seen.verdict}"
        yield f"recorded in {shown(found.frozen.failure.seen_path)}: commit it beside the scenario"
        if found.seen.code is None:
            yield "  the version of the code that failed is not known: git knows of no commit here"
    elif found.series.cut:
        yield f"inconclusive: {found.series.cut}"
        yield f"  {valid} of {found.plan.runs} runs counted, and none of them failed as the scenario says"
    else:
        yield from _not_seen(found)
    yield from _elsewhere(found)
    yield from _invalid(found.series.of(Colour.INVALID))
    yield f"every run is kept in {shown(found.journal)}"


def _not_seen(found: Repro) -> Iterator[str]:
    runs = found.plan.runs
    yield f"not seen failing: 0 of {runs} runs failed as the scenario says; nothing was recorded"
    if found.plan.rate is not None:
        chance = percent(found.plan.chance or 0)
        yield f"  had it fired {odds(found.plan.rate)}, {runs_of(runs)} would have shown it {chance} of the time"
    yield "  so either the scenario does not exercise the bug (its context is too easy, or it asserts at the wrong layer),"
    yield "  or the code here has no bug any more, or the bug is rarer than reported: mend the scenario, not the code"


def _elsewhere(found: Repro) -> Iterator[str]:
    others = found.elsewhere
    if others:
        yield f"  {runs_of(len(others))} failed on something else, or cut short, not the reported failure: {others[0].line}"


def _invalid(made: list[Made]) -> Iterator[str]:
    if made:
        yield f"  {runs_of(len(made))} did not count; the first, run {made[0].number}: {made[0].line}"


def confirm_plan_lines(frozen: Frozen, plan: ConfirmPlan) -> Iterator[str]:
    """What `confirm` is about to do."""
    worth = plan.worth(plan.runs)
    if worth is None or plan.count is None:
        yield f"{frozen.failure.slug}: {runs_of(plan.runs)}, all to be green; how often it failed was never counted"
    else:
        source = "reported" if frozen.failure.report else "counted"
        yield (
            f"{frozen.failure.slug}: {runs_of(plan.runs)}, all to be green: at {plan.count} as {source}, "
            f"an unchanged bug would pass them {percent(worth)} of the time"
        )
    if plan.below_floor:
        yield f"  below the floor of {plan.floor} for a tolerance of {percent(plan.tolerance)}"
    if plan.seen is None:
        yield "  never seen failing as it is now: greens say nothing of whether it exercises the bug (--unproven)"


def confirm_lines(found: Confirmation, shown: Shown) -> Iterator[str]:
    """What `confirm` found, and which claim that makes."""
    yield headline(found)
    yield from (f"  {line}" for line in [*claims(found), *warnings(found)])
    yield from _invalid(found.series.of(Colour.INVALID))
    yield from difference(found)
    yield f"every run is kept in {shown(found.journal)}"


def headline(found: Confirmation) -> str:
    """The verdict in one line: `confirmed: 14/14 green`."""
    runs, red = found.plan.runs, found.red
    mark = "" if found.plan.seen else " (unproven: never seen failing as it is now)"
    if red is not None:
        return f"refuted: run {red.number} is red, after {found.greens} green{mark}: {red.line}"
    if found.verdict is Verdict.CONFIRMED:
        return f"confirmed: {found.greens}/{runs} green{mark}"
    return f"inconclusive: {found.greens}/{runs} green{mark}: {found.series.cut}"


def claims(found: Confirmation) -> Iterator[str]:
    """What the greens are worth, as two claims that are not the same."""
    if found.red is not None:
        yield from _which_failure(found)
        return
    plan, greens = found.plan, found.greens
    worth, averaged = plan.worth(greens), plan.worth_averaged(greens)
    if greens and plan.count is not None and worth is not None and averaged is not None:
        rate, all_of_them = odds(plan.count.rate), runs_of(greens, "green run")
        yield f"if the bug still fired {rate}, {all_of_them} would happen {percent(worth)} of the time"
        yield f"  {percent(averaged)} when it is allowed for that {plan.count} is a small count (Jeffreys)"
    p, before = found.p_old_fails_more, plan.before
    if p is not None and before is not None:
        word = "differ" if p < 0.05 else "are not shown to differ"
        yield f"{before} red before against 0 of {greens} now: old and new {word} ({_p_value(p)}, exact, one-sided)"
        if p >= 0.05 and found.greens_for_difference is not None:
            yield f"  {found.greens_for_difference} greens would show that they do; the floor makes the first claim only"


def _p_value(p: float) -> str:
    return f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"


def _which_failure(found: Confirmation) -> Iterator[str]:
    red, seen = found.red, found.plan.seen
    if red is None or seen is None:
        return
    failed = [name.value for name in red.failed]
    if not set(failed) & set(seen.dimensions):
        yield f"not the failure that was seen before ({one_line(', '.join(seen.dimensions))}), but {', '.join(failed)}"


def warnings(found: Confirmation) -> Iterator[str]:
    """What a reader must know before the verdict is believed."""
    plan, seen = found.plan, found.plan.seen
    if plan.below_floor and found.verdict is not Verdict.REFUTED:
        yield f"warning: only {runs_of(plan.runs)} asked for, below the floor of {plan.floor} for {percent(plan.tolerance)}"
    if found.alike > 1:
        yield (
            f"warning: {found.alike} of {len(found.series.valid)} runs called and answered the same to the letter; if the "
            "agent always does, or answers from a cache, they are worth one run"
        )
    if seen is not None and seen.agent != found.subject:
        yield f"note: it was seen failing with another agent: {one_line(seen.agent)}"
    if seen is not None and seen.code is not None and seen.code == found.code and not seen.code.endswith("-dirty"):
        yield f"warning: this is the very code that was seen failing ({seen.code})"


def difference(found: Confirmation) -> Iterator[str]:
    """The calls of the first red run against those of a green one, if there was one; else as they were."""
    red = found.red
    if red is None or red.run.calls is None:
        return
    green = next((made for made in found.series.of(Colour.GREEN) if made.run.calls is not None), None)
    if green is None:
        yield f"calls of run {red.number}:"
        yield from (f"  {line}" for line in _calls(red))
        return
    lines = unified_diff(
        _calls(green), _calls(red), f"run {green.number} (green)", f"run {red.number} (red)", lineterm="", n=1000
    )
    yield from (f"  {line}" for line in lines if not line.startswith("@@"))


def _calls(made: Made) -> list[str]:
    answer = made.run.final_text
    said = [f"answer: {answer[:MOST_ANSWER]}"] if isinstance(answer, str) else []
    return [one_line(text) for text in [*map(show_call, made.run.calls or ()), *said]]
