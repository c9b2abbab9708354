"""What the words and numbers of a report mean, for whoever points at one: how it was computed, and over what."""

from __future__ import annotations

import re

EXPLAIN = {
    "arm": "One agent set-up under comparison: a model, a prompt, extra tools, or a whole agent CLI. The treatment is the arm "
    "that is tried, the baseline the one it is held against.",
    "block": "One attempt of each arm, in random order, close in time: what keeps order and drift fair.",
    "attempt": "One arm, once, on one scenario, in a freshly reset copy of the fixture.",
    "fixture": "The repository that every attempt starts from, with its bug and its failing suite.",
    "suite green": "Every test that must pass does, in a clean copy with the attempt's change and the grader's own tests.",
    "margin": "Declared before the run. The arms are called equivalent when a difference as large as it, either way, is ruled "
    "out: a small difference that is not is inconclusive.",
    "interval": "The 95% interval: the differences that these attempts do not speak against. Of a rate it is Wilson's, of a "
    "difference of rates that of Miettinen and Nurminen.",
    "model": "What was really asked in each arm.",
    "attempts counted": "Attempts that ended by the agent or its budget. Those ended by the provider, by Crucible itself or "
    "by the fixture count for neither arm and are run again.",
    "scored": "Counted attempts with a score in every dimension of the rubric.",
    "calls blocked / warned / got past": "Tool calls a policy refused, warned about, or that the audit found to have got "
    "past it, summed over counted attempts.",
    "flagged": "Counted attempts with something a reader must know beside their score.",
    "first requests": "Everything an attempt is given before its first reply (prompts, tools, model, files), held "
    "against that of the arm's other attempts. How the two arms differ is said below the table.",
    "extra tools offered": "The arm's tool servers as they really ran.",
    "extra tools used": "Attempts that got an answer from one of them.",
    "turns with extra tools": "The share of turns with such a call, and the turn of the first one in the median attempt.",
    "lost turns": "Turns in which no tool call succeeded, of the turns with calls.",
    "lost turns, extra tools": "The same of the extra tools' calls alone.",
    "pass rate": "Share of counted attempts whose suite is green; over several scenarios their mean, all weighing the same.",
    "score": "Weighted mean of the rubric's dimensions, 0 to 1, over attempts in which all are scored.",
    "difference": "Treatment minus baseline. What is marked exploratory is not tested.",
    "like the reference": "How alike the change and the reference fix are, 0 to 1, by structure and text.",
    "mean per attempt": "The arithmetic mean over counted attempts.",
    "ratio of geometric means": "Treatment to baseline; below 1 the treatment takes less. Geometric means, which a few dear "
    "attempts do not turn round: it can differ from the ratio of the means beside it. Interval: Welch's on logarithms.",
    "as billed": "What was paid, which depends on what happened to lie in the provider's cache.",
    "as if nothing were cached": "All input at the price of uncached input: what an arm takes by its own nature.",
    "output only": "Output tokens alone, at their price.",
    "tokens billed": "Input, cached or not, plus output, each once, as the provider counted them.",
    "cost of one success": "The mean cost of attempts that count, failed ones too, over the pass rate; every scenario weighs "
    "the same.",
    "time": "Seconds of an attempt, without waiting for a provider's retries.",
    "turns": "Model replies of an attempt, with the tool calls in them.",
    "tool calls": "Tool calls of an attempt, whatever came of them.",
    "where the tokens went (estimated)": "An attempt's billed tokens by what they were for. Input and output are the "
    "provider's counts; how the input divides is shared out by the characters sent, once for every turn that sent them.",
    "system prompt and task": "Estimated share of the input.",
    "tool schemas": "Estimated share of the input: the descriptions of the tools, sent again with every turn.",
    "tool output": "Estimated share of the input: what tools gave back, sent again with every later turn.",
    "of one tool": "Estimated share of the input: what this tool gave back.",
    "its own replies, read again": "Estimated share of the input: earlier replies, sent again.",
    "model output (counted)": "Output tokens, as the provider counted them.",
    "p": "How often so large a difference, either way, would come up if the arms were equally good. Of two rates it is "
    "Boschloo's exact test.",
    "all of N pass (pass^N)": "How often N attempts of the arm would all pass, estimated from those that count.",
    "one of N passes (pass@N)": "How often at least one of N attempts of the arm would pass, estimated from those that count.",
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
    "equivalent": ("=", "a difference as large as the margin declared beforehand is ruled out, either way"),
    "inconclusive": ("?", "these attempts do not tell; it is not a draw"),
    "not tested": ("○", "the treatment was not put to the test, so nothing is claimed"),
}
"""The words of a verdict: their shape, and what each means."""


def explained(title: str) -> str:
    """What a row or column means; nothing when its title says it all."""
    if title.startswith("  of "):
        return EXPLAIN["of one tool"]
    return EXPLAIN.get(re.sub(r"\d+", "N", title.strip()), "")
