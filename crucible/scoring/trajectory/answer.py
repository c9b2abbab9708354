"""Facts in the final answer: text that has to be there, and text that must not."""

from __future__ import annotations

from crucible.scoring.trajectory.expectation import Expectation
from crucible.scoring.trajectory.results import NOT_ASKED, Result, failed, passed, unknown
from crucible.scoring.trajectory.values import show
from crucible.transcript.neutral import UNKNOWN, NeutralRun


def facts(expectation: Expectation, run: NeutralRun) -> Result:
    """Whether the answer contains what it should and nothing it should not. Without an answer nothing is contained."""
    wanted, unwanted = expectation.expect_contains, expectation.forbid_contains
    if not wanted and not unwanted:
        return NOT_ASKED
    if run.final_text is UNKNOWN:
        return unknown("the format does not carry the answer")
    text = run.final_text or ""
    missing = [fact for fact in wanted if not contains(text, fact)]
    wrong = [fact for fact in unwanted if contains(text, fact)]
    numbers = {"found": len(wanted) - len(missing), "expected": len(wanted), "forbidden": len(wrong)}
    problems = [f"the answer lacks {_listed(missing)}"] if missing else []
    problems += [f"the answer contains {_listed(wrong)}"] if wrong else []
    if not problems:
        return passed(f"{len(wanted)} of {len(wanted)} in the answer", numbers)
    return failed("; ".join(problems) + ("" if text else " (there is no answer)"), numbers)


def contains(text: str, fact: str) -> bool:
    """Whether a text contains a fact, letter by letter; a number in it is not found within a longer number.

    `T-48` is not in "archived T-481", and "2 tickets" not in "12 tickets".
    """
    at = text.find(fact) if fact else -1
    while at >= 0:
        end = at + len(fact)
        cut_before = fact[0].isdigit() and text[at - 1 : at].isdigit()
        cut_after = fact[-1].isdigit() and text[end : end + 1].isdigit()
        if not cut_before and not cut_after:
            return True
        at = text.find(fact, at + 1)
    return False


def _listed(facts: list[str]) -> str:
    return ", ".join(map(show, facts))
