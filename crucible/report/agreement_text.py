"""Agreement with a judge as text: the light, the table of counts always, and each arm's corrected pass rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crucible.judging.types import TOP_SCORE
from crucible.report.agreement import ENOUGH_PER_ARM, FEW, FEWEST, Agreement, Corrected, ErrorRates
from crucible.report.words import number, percent, percent_range
from crucible.runner.judge import SCRIPTED


def agreement_lines(found: Sequence[Agreement]) -> Iterator[str]:
    """Everything about every dimension, as text; the table of counts always."""
    for one in found:
        by = f"{one.judge} (REHEARSAL: written by hand)" if one.judge == SCRIPTED else one.judge
        yield f"{one.dimension}, judged by {by}; attempts labelled by {', '.join(one.people)}: {one.labelled}"
        yield f"  {one.light}: {_kappa(one)}, the same score on {percent(one.same)}"
        if one.between_people is not None:
            yield f"  people among themselves: alpha {number(one.between_people)}"
        yield f"  {'':11}judge{''.join(f'{score:>5}' for score in range(TOP_SCORE + 1))}"
        yield from (
            f"  {'people' if not score else '':10}{score:>6}{''.join(f'{count:>5}' for count in row)}"
            for score, row in enumerate(one.table)
        )
        yield f"  {_errors(one.errors)}"
        yield from (f"  {_rate(arm)}" for arm in one.arms)
        yield ""


def _kappa(one: Agreement) -> str:
    if one.kappa is None:
        return "all scores are alike, which says nothing about agreement"
    if one.labelled < FEWEST:
        few = "1 label is" if one.labelled == 1 else f"{one.labelled} labels are"
        return f"{few} too few for a weighted kappa, which takes {FEWEST}"
    if one.interval is None:
        return f"weighted kappa {one.kappa:.2f} (no interval: it needs a disagreement)"
    rough = "" if one.labelled >= FEW else f", rough with {one.labelled} labels"
    return f"weighted kappa {one.kappa:.2f} (95% {one.interval[0]:.2f} to {one.interval[1]:.2f}{rough})"


def _errors(errors: ErrorRates) -> str:
    if errors.labels is None:
        return f"people passed {errors.passed} and failed {errors.failed}: the judge's errors need both"
    return (
        f"the judge passes {percent(errors.labels.sensitivity)} of what people pass ({errors.passed} labels) and fails "
        f"{percent(errors.labels.specificity)} of what they fail ({errors.failed})"
    )


def _rate(arm: Corrected) -> str:
    judged = f"{arm.arm}: judged {arm.passed} of {arm.judged} = {percent(arm.passed / arm.judged)} at 3 of 5 or better"
    if arm.rate is None:
        return f"{judged}; not corrected, {arm.why_not}"
    source = (
        "its own labels"
        if arm.own
        else f"the labels of all arms (its own need {ENOUGH_PER_ARM} of each class): if the judge errs differently by arm, "
        "this cannot show it"
    )
    return f"{judged}, corrected {percent(arm.rate)} (95% {percent_range(arm.interval)}) by {source}"
