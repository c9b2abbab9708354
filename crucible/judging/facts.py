"""Facts mode (`--judge facts`): scores from measurements, with no model. What cannot be measured is not scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from crucible.judging.clamps import NOT_GREEN_CAP, clamp, size_cap
from crucible.judging.types import CORRECTNESS, EFFICIENCY, MINIMALITY, Facts, NotScored, Score, Scored

GREEN_FLOOR = 0.8
"""Correctness of a green suite; the rest is for similarity to the reference."""

RULES = """\
correctness: red 0.3 x (originally failing tests that pass now / originally failing tests);
green 0.8 + 0.2 x similarity, 0.8 when similarity is unknown; tampered, no verdict or nothing changed: 0
minimality: 1 up to 1.5 x the reference's size, then 1.5 / ratio; nothing changed: 0
efficiency: 1 - mean of turns / budget, calls / turn budget, tokens / budget, each at most 1; nothing changed: 0
both while the suite is not green: x the share of originally failing tests that pass now; tampered, no verdict: x 0
any other dimension: not scored
"""
"""The rules in words; their hash names this mode as a prompt's hash names a judge."""


def score_facts(dimensions: Iterable[str], facts: Facts) -> dict[str, Score]:
    """A score for every named dimension: measured, or not scored with the reason."""
    return {name: _MEASURES.get(name, _needs_a_judge)(facts) for name in dimensions}


def _correctness(facts: Facts) -> Score:
    match facts.suite:
        case "green":
            return _green(facts)
        case "red":
            return _red(facts)
        case "tampered":
            return _scored(CORRECTNESS, 0.0, facts, "what the suite reported was not made by running the tests")
        case _:
            why = "the suite gave no verdict; as it gives one with the reference, that is the change's doing"
            return _scored(CORRECTNESS, 0.0, facts, why)


def _green(facts: Facts) -> Score:
    suite = f"the suite is green{_counts(facts)}: {GREEN_FLOOR}"
    if facts.similarity is None:
        unknown = "similarity to the reference is unknown: nothing is added for it, so this is the least it can be"
        return _scored(CORRECTNESS, GREEN_FLOOR, facts, suite, unknown)
    bonus = (1 - GREEN_FLOOR) * facts.similarity
    similar = f"similarity to the reference is {facts.similarity:.2f}: + {bonus:.2f}"
    # 0.8 + 0.2 * 1.0 is 1.0 only by luck of rounding; the bound must not hang on it.
    return _scored(CORRECTNESS, min(1.0, GREEN_FLOOR + bonus), facts, suite, similar)


def _red(facts: Facts) -> Score:
    suite = f"the suite is red{_counts(facts)}"
    if not facts.failing_before or facts.fixed is None:
        whole = "single tests are not known: the suite failed before and fails now, 0 of 1 fixed"
        return _scored(CORRECTNESS, 0.0, facts, suite, whole)
    share = NOT_GREEN_CAP * facts.fixed / facts.failing_before
    fixed = f"{facts.fixed} of {facts.failing_before} originally failing tests pass now: {NOT_GREEN_CAP} x that share"
    return _scored(CORRECTNESS, min(NOT_GREEN_CAP, share), facts, suite, fixed)


def _minimality(facts: Facts) -> Score:
    if not facts.changed:
        return _scored(MINIMALITY, 0.0, facts, "nothing was changed, so there is no change to be minimal")
    if facts.size_ratio is None:
        return NotScored("the size of the change relative to the reference is unknown")
    size = f"the change is {facts.size_ratio:.2f} times the size of the reference"
    done, why = _done(facts)
    return _scored(MINIMALITY, done * size_cap(facts.size_ratio), facts, size, *why)


def _efficiency(facts: Facts) -> Score:
    if not facts.changed:
        return _scored(EFFICIENCY, 0.0, facts, "nothing was changed, so nothing was done efficiently")
    if facts.tokens is None:
        return NotScored("the tokens used are unknown")
    used = (
        Fraction(facts.turns, facts.budget_turns),
        Fraction(facts.tool_calls, facts.budget_turns),
        Fraction(facts.tokens, facts.budget_tokens),
    )
    value = float(1 - sum(min(share, Fraction(1)) for share in used) / len(used))
    done, why = _done(facts)
    return _scored(
        EFFICIENCY,
        done * value,
        facts,
        f"{facts.turns} of {facts.budget_turns} turns used",
        f"{facts.tool_calls} tool calls ({facts.blocked_calls} blocked), against one for each turn of the budget",
        f"{facts.tokens} of {facts.budget_tokens} tokens billed",
        *why,
    )


def _done(facts: Facts) -> tuple[float, tuple[str, ...]]:
    """How much of the job was done, and why not all: what was not done was neither minimal nor efficient."""
    if facts.suite == "green":
        return 1.0, ()
    if facts.suite != "red" or not facts.failing_before or facts.fixed is None:
        return 0.0, ("the suite is not green, and nothing shows that a part of the job was done: x 0",)
    share = min(1.0, facts.fixed / facts.failing_before)
    return share, (f"{facts.fixed} of {facts.failing_before} originally failing tests pass now: x {share:.2f}",)


def _needs_a_judge(_: Facts) -> Score:
    return NotScored("needs a judge model")


_MEASURES: dict[str, Callable[[Facts], Score]] = {
    CORRECTNESS: _correctness,
    MINIMALITY: _minimality,
    EFFICIENCY: _efficiency,
}


def _scored(dimension: str, raw: float, facts: Facts, *evidence: str) -> Scored:
    value, clamps = clamp(dimension, raw, facts)
    return Scored(value, raw, clamps, evidence, reasoning="measured, not judged")


def _counts(facts: Facts) -> str:
    if facts.tests_passed is None or facts.tests_failed is None:
        return ""
    return f" ({facts.tests_passed} passed, {facts.tests_failed} failed)"
