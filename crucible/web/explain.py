"""What the words and numbers of a report mean, for whoever points at one: how it was computed, and over what."""

from __future__ import annotations

EXPLAIN = {
    "attempts counted": "Attempts that ended by the agent or its budget. Those ended by the provider, by Crucible itself or "
    "by the fixture count for neither arm and are run again.",
    "scored": "Counted attempts with a score in every dimension of the rubric.",
    "calls blocked / warned / got past": "Tool calls a policy refused, warned about, or that the audit found to have got "
    "past it, summed over counted attempts.",
    "flagged": "Counted attempts with something a reader must know beside their score.",
    "first requests": "Everything that could set two attempts of an arm apart before the first reply, compared by content.",
    "lost turns": "Turns in which no tool call succeeded, of the turns with calls.",
    "pass rate": "Share of counted attempts whose suite is green; over several scenarios their mean, all weighing the same.",
    "score": "Weighted mean of the rubric's dimensions, 0 to 1, over attempts in which all are scored.",
    "difference": "Treatment minus baseline.",
    "like the reference": "How alike the change and the reference fix are, 0 to 1, by structure and text.",
    "ratio": "Treatment to baseline, of geometric means; below 1 the treatment takes less. Interval: Welch's on logarithms.",
    "as billed": "What was paid, which depends on what happened to lie in the provider's cache.",
    "as if nothing were cached": "All input at the price of uncached input: what an arm takes by its own nature.",
    "output only": "Output tokens alone, at their price.",
    "tokens billed": "Input, cached or not, plus output, each once, as the provider counted them.",
    "cost of one success": "The cost of all counted attempts, failed ones too, over the number of green suites.",
    "time": "Seconds of an attempt, without waiting for a provider's retries.",
    "p": "How often so large a difference, either way, would come up if the arms were equally good.",
    "Holm": "p adjusted by Holm for the number of rows: at most 5% of such tables name any row wrongly.",
    "BH": "p adjusted by Benjamini and Hochberg: of the rows named, about 5% wrongly.",
    "points": "Percentage points of the pass rate, treatment minus baseline.",
    "identical arms": "The range in which differences of an arm against itself lie: noise.",
    "dimension": "One row of the rubric, scored 0 to 1 by the judge or by measurement.",
}
"""By the title of a row or a column, as the report writes it."""

WORDS = {
    "better": ("▲", "the treatment does better, more surely than chance explains"),
    "worse": ("▼", "the treatment does worse, more surely than chance explains"),
    "equivalent": ("=", "whatever difference there is lies within the margin declared beforehand"),
    "inconclusive": ("?", "these attempts do not tell; it is not a draw"),
    "not tested": ("○", "the treatment was not put to the test, so nothing is claimed"),
}
"""The words of a verdict: their shape, and what each means."""


def explained(title: str) -> str:
    """What a row or column means; nothing when its title says it all."""
    return EXPLAIN.get(title.strip(), "")
