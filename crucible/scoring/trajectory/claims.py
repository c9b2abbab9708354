"""Whether what the answer says was done agrees with the calls.

The answer "Archived T-481 and T-490" claims two things. Each needs a successful call of an expected tool that concerns
the identifier: it is in the arguments, or in what the tool answered. Otherwise the answer is false, however good it reads.

Nothing is guessed. Only what is plainly claimed is judged (see `claimed`), only identifiers of a kind that the expected
tools are given, and only when the successful calls name what they did; all else is not taken for a claim, or unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crucible.scoring.trajectory.claimed import claimed
from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.identifiers import identifiers, kind, kinds
from crucible.scoring.trajectory.naming import called_as
from crucible.scoring.trajectory.results import NOT_ASKED, Result, failed, passed, unasked, unknown
from crucible.scoring.trajectory.tools import NO_CALLS
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun


def claims(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether every identifier the answer claims as done has a successful call of an expected tool.

    Scored whenever a tool is expected; never asked for, so that its being unknown holds nothing up.
    """
    if not expectation.tools:
        return NOT_ASKED
    if run.final_text is UNKNOWN:
        return unasked(unknown("the format does not carry the answer"))
    named = called_as(expectation.tools, run.calls or ())
    calls = [call for call in run.calls or () if call.tool in named]
    ours = kinds(_concerned(expectation, calls))
    made = [one for one in claimed(run.final_text or "", expectation.tools) if kind(one) in ours]
    if not made:
        return unasked(passed("the answer claims nothing by its identifier", {"claims": 0}))
    if run.calls is None:
        return unasked(unknown(NO_CALLS, {"claims": len(made)}))
    return unasked(_judged(made, calls))


def _concerned(expectation: Expectation, calls: Sequence[NeutralCall]) -> list[str]:
    """Every identifier that the expected tools are known to be about."""
    values: list[Any] = [expectation.expect_contains]
    values += [call.args for call in expectation.expect_args] + [call.args for call in calls]
    return [found for value in values for found in identifiers(value)]


def _judged(made: list[str], calls: Sequence[NeutralCall]) -> Result:
    succeeded = [(call, _about(call)) for call in calls if call.ok is not False and call.executed is not False]
    sure = {one for call, about in succeeded if call.ok and call.executed for one in about}
    maybe = {one for _, about in succeeded for one in about}
    missing = [one for one in made if one not in sure]
    numbers = {"claims": len(made), "true": len(made) - len(missing)}
    if not missing:
        return passed(f"{len(made)} of {len(made)} claims have their call", numbers)
    false = [one for one in missing if one not in maybe]
    silent = any(call.args is UNKNOWN or not about for call, about in succeeded)
    if false and not silent:
        return failed(f"the answer claims {', '.join(false)}, and no successful call is about {_them(false)}", numbers)
    return unknown(f"no call is known to be about {', '.join(missing)}", numbers)


def _about(call: NeutralCall) -> dict[str, None]:
    return identifiers([call.raw_args if call.args is None else call.args, call.result])


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"
