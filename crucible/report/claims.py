"""What a run says, claim by claim. The claims are separate: the scenarios at hand, and scenarios like them.

The first is what the run was made to tell and is its verdict. The second is what people mostly want to hear, asks far
more of the data, and is never what the first says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from crucible.report.tallies import Pairs, Terms
from crucible.report.verdict import Verdict, verdict_like_these, verdict_on_these

About = Literal["on these scenarios", "on scenarios like these"]
THESE: About = "on these scenarios"
LIKE_THESE: About = "on scenarios like these"


@dataclass(frozen=True, slots=True)
class Claim:
    """One question with its own verdict. `difference` is treatment minus baseline in the run's metric, a share of 1;
    `interval` (at 95%), `p_value` and `test` are those of this claim, None where nothing was tested."""

    about: About
    verdict: Verdict
    difference: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    test: str | None

    @classmethod
    def of(cls, about: About, verdict: Verdict) -> Claim:
        """The claim that a verdict settles, or does not."""
        return cls(about, verdict, verdict.difference, verdict.interval, verdict.p_value, verdict.test)


def claims(pairs: Pairs, why_not: str | None = None, terms: Terms | None = None) -> tuple[Claim, ...]:
    """Both claims; the first is the primary one."""
    these, like_these = verdict_on_these(pairs, why_not, terms), verdict_like_these(pairs, why_not, terms)
    return Claim.of(THESE, these), Claim.of(LIKE_THESE, like_these)


def claims_when_stopped(verdicts: Mapping[str, Verdict]) -> tuple[Claim, ...]:
    """Both claims of a run that may stop early, from the verdicts of its scenarios by name."""
    if len(verdicts) == 1:
        (verdict,) = verdicts.values()
        reason = "one scenario, however often it is attempted, says nothing about others; it takes at least two"
    else:
        reason = (
            "each scenario stopped on its own results, which biases a mean over them; "
            "the verdict on each scenario stands by itself"
        )
        verdict = Verdict("inconclusive", f"No verdict over the {len(verdicts)} scenarios: {reason}.")
    like_these = Verdict("not tested", f"Not tested {LIKE_THESE}: {reason}.")
    return Claim.of(THESE, verdict), Claim.of(LIKE_THESE, like_these)
