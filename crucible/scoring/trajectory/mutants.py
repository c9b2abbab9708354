"""Runs that went wrong on purpose: one green run with one thing changed, to see what a scenario notices.

No chance is involved: the same run and expectation give the same mutants, in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count, islice
from typing import Any, Final

from crucible.scoring.trajectory.answer import contains
from crucible.scoring.trajectory.claimed import participles
from crucible.scoring.trajectory.expectation import ANY_TOOL, Expectation
from crucible.scoring.trajectory.expected import ExpectedCall, show_call
from crucible.scoring.trajectory.identifiers import identifiers
from crucible.scoring.trajectory.naming import same_tool
from crucible.scoring.trajectory.values import show
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun, NeutralTokens

Calls = tuple[NeutralCall, ...]
OTHER_TOOL: Final = "some_other_tool"
"""What is called in place of an expected tool where the scenario forbids none."""
MOST_OF_A_KIND: Final = 100
"""Mutants of one kind that are made of one run; a run of thousands of calls has no end of them."""


class Mutation(StrEnum):
    """What was done to a run."""

    WRONG_TOOL = "wrong tool"
    FORBIDDEN_CALL = "forbidden call"
    WRONG_ARGUMENT = "wrong argument"
    LOST_FACT = "lost fact"
    FALSE_CLAIM = "false claim"
    FORBIDDEN_TEXT = "forbidden text"
    DROPPED = "dropped call"
    DUPLICATE = "duplicate call"
    SWAPPED = "swapped calls"
    IDLE = "nothing done"
    CUT = "cut off"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A run with one thing changed; `what` says which. `harmful` are those of which a scenario has to notice some."""

    kind: Mutation
    what: str
    run: NeutralRun
    harmful: bool = False


def mutants(run: NeutralRun, expectation: Expectation) -> list[Mutant]:
    """Every mutant of a run. What the run does not carry is not mutated: no arguments, no wrong ones.

    Harmful are a wrong tool, a forbidden call, a lost fact, and wrong arguments where the scenario gives them.
    """
    makers = (_wrong_tool, _forbidden, _arguments, _answers, _dropped, _duplicated, _swapped, _ends)
    made = [mutant for maker in makers for mutant in islice(maker(run, expectation), MOST_OF_A_KIND)]
    return [mutant for mutant in made if mutant.run != run]


def passing_run(expectation: Expectation) -> NeutralRun:
    """A run made up from what is expected of it: the expected calls, the facts as its answer, and nothing used.

    It is green unless the assertions contradict one another, or want calls in an order that leaves no room for an error
    to recover from.
    """
    calls = [_made(call) for call in expectation.expect_args]
    missing = Counter(expectation.expect_tool) - Counter(call.tool for call in calls)
    calls += [_made(ExpectedCall(tool)) for tool in missing.elements()]
    for tool in expectation.recovers_from:
        named = next((call for call in calls if tool in (ANY_TOOL, call.tool)), None)
        good = named or NeutralCall("any_tool" if tool == ANY_TOOL else tool, {}, ok=True)
        calls = [replace(good, ok=False), *calls, *([] if named else [good])]
    return NeutralRun(
        calls=tuple(replace(call, result=list(expectation.expect_contains)) for call in calls),
        final_text="\n".join(expectation.expect_contains),
        complete=True,
        turns=0,
        cost_usd=0.0,
        tokens=NeutralTokens(input=0, output=0),
        seconds=0.0,
    )


def _made(call: ExpectedCall) -> NeutralCall:
    return NeutralCall(call.tool, dict(call.args) if isinstance(call.args, Mapping) else {}, ok=True)


def _wrong_tool(run: NeutralRun, expectation: Expectation) -> Iterator[Mutant]:
    """Each expected call made with another tool, and all of them; any call where no tool is expected."""
    for other in expectation.forbid_tool or (OTHER_TOOL,):
        if run.calls is None:
            yield from _wrong_count(run, expectation, other)
            continue
        places = [at for at, call in enumerate(run.calls) if not expectation.tools or _is_one(call, expectation.tools)]
        for at in places:
            what = f"call {at + 1}, {show_call(run.calls[at])}: {other} instead"
            yield Mutant(Mutation.WRONG_TOOL, what, _with(run, _renamed(run.calls, [at], other)), harmful=True)
        if len(places) > 1:
            changed = _with(run, _renamed(run.calls, places, other))
            yield Mutant(Mutation.WRONG_TOOL, f"all {len(places)} such calls: {other} instead", changed, harmful=True)


def _renamed(calls: Calls, places: Sequence[int], tool: str) -> Calls:
    return tuple(replace(call, tool=tool) if at in places else call for at, call in enumerate(calls))


def _wrong_count(run: NeutralRun, expectation: Expectation, other: str) -> Iterator[Mutant]:
    """Of a run that says only how often each tool was called."""
    for name, times in (run.tool_counts or {}).items():
        if any(same_tool(tool, name) for tool in expectation.tools):
            counts = {tool: n for tool, n in (run.tool_counts or {}).items() if tool != name} | {other: times}
            what = f"{name}, called {times} times: {other} instead"
            yield Mutant(Mutation.WRONG_TOOL, what, replace(run, tool_counts=counts), harmful=True)


def _forbidden(run: NeutralRun, expectation: Expectation) -> Iterator[Mutant]:
    for tool in expectation.forbid_tool:
        if run.calls is None:
            counts = {**(run.tool_counts or {}), tool: 1}
            yield Mutant(Mutation.FORBIDDEN_CALL, f"{tool} as well", replace(run, tool_counts=counts), harmful=True)
            continue
        like = next((call.args for call in reversed(run.calls) if _is_one(call, expectation.tools)), UNKNOWN)
        ran = NeutralCall(tool, like, ok=True)
        refused = replace(ran, ok=False, executed=False)
        for call, how in ((ran, "at the end"), (refused, "asked for at the end, and refused")):
            what = f"{show_call(call)} {how}"
            yield Mutant(Mutation.FORBIDDEN_CALL, what, _with(run, (*run.calls, call)), harmful=True)


def _arguments(run: NeutralRun, expectation: Expectation) -> Iterator[Mutant]:
    """Each argument of each call, another value of its type."""
    known = identifiers([[call.args, call.result] for call in run.calls or ()])
    asserted = [call.tool for call in expectation.expect_args]
    for at, call in enumerate(run.calls or ()):
        for name, value in call.args.items() if isinstance(call.args, Mapping) else ():
            other = _other(value, known)
            changed = replace(call, args={**call.args, name: other})  # type: ignore[dict-item]  # a Mapping, as asked above
            what = f"call {at + 1}, {call.tool}: {name} {show(other)} for {show(value)}"
            harmful = _is_one(call, asserted)
            yield Mutant(Mutation.WRONG_ARGUMENT, what, _replaced(run, at, (changed,)), harmful)


def _other(value: Any, known: Mapping[str, None]) -> Any:
    """Another value of the same type; for null, which has no other, a text."""
    if isinstance(value, str):
        named = next(iter(identifiers(value)), None)
        return value.replace(named, _fresh(named, known)) if named else f"{value} (changed)"
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return 0.0 if value else 1.0
    if isinstance(value, int):
        return value + 1
    if isinstance(value, Mapping):
        return dict(list(value.items())[:-1]) or {"changed": True}
    return (list(value)[:-1] or ["changed"]) if isinstance(value, list | tuple) else "changed"


def _fresh(identifier: str, known: Mapping[str, None]) -> str:
    """The next identifier of the same kind that nothing is known by: T-482 after T-481."""
    start, digits = re.match(r"(.*?)(\d{1,9})$", identifier, re.DOTALL).groups()  # type: ignore[union-attr]  # each ends in digits
    after = (f"{start}{number:0{len(digits)}d}" for number in count(int(digits) + 1))
    return next(one for one in after if one not in known)


def _answers(run: NeutralRun, expectation: Expectation) -> Iterator[Mutant]:
    if run.final_text is UNKNOWN:
        return
    text = run.final_text or ""
    for fact in expectation.expect_contains:
        yield Mutant(
            Mutation.LOST_FACT, f"answer without {show(fact)}", _saying(run, _without(text, fact)), harmful=True
        )
    for fact in expectation.forbid_contains:
        yield Mutant(Mutation.FORBIDDEN_TEXT, f"answer with {show(fact)}", _saying(run, f"{text}\n{fact}"))
    yield from _false_claim(run, text, expectation)


def _without(text: str, fact: str) -> str:
    while contains(text, fact):
        text = text.replace(fact, "")
    return text


def _false_claim(run: NeutralRun, text: str, expectation: Expectation) -> Iterator[Mutant]:
    """The answer claims one more thing done, of the kind that the expected tools deal with."""
    calls = [call for call in run.calls or () if _is_one(call, expectation.tools)]
    given = [call.args for call in expectation.expect_args] + [call.args for call in calls]
    about = identifiers([given, expectation.expect_contains])
    known = identifiers([text, [[call.args, call.result] for call in run.calls or ()]]) | about
    done = sorted(form for tool in expectation.tools[:1] for form in participles(re.split(r"[^A-Za-z]", tool)[0]))
    if about and done:
        claim = f"{done[0].capitalize()} {_fresh(next(iter(about)), known)}."
        yield Mutant(Mutation.FALSE_CLAIM, f"answer with {show(claim)}", _saying(run, f"{text}\n{claim}"))


def _dropped(run: NeutralRun, _expectation: Expectation) -> Iterator[Mutant]:
    for at, call in enumerate(run.calls or ()):
        yield Mutant(Mutation.DROPPED, f"call {at + 1}, {show_call(call)}", _replaced(run, at, ()))


def _duplicated(run: NeutralRun, _expectation: Expectation) -> Iterator[Mutant]:
    for at, call in enumerate(run.calls or ()):
        yield Mutant(Mutation.DUPLICATE, f"call {at + 1}, {show_call(call)}", _replaced(run, at, (call, call)))


def _swapped(run: NeutralRun, _expectation: Expectation) -> Iterator[Mutant]:
    calls = run.calls or ()
    for at in range(len(calls) - 1):
        changed = _with(run, (*calls[:at], calls[at + 1], calls[at], *calls[at + 2 :]))
        yield Mutant(Mutation.SWAPPED, f"calls {at + 1} and {at + 2}", changed)


def _ends(run: NeutralRun, _expectation: Expectation) -> Iterator[Mutant]:
    idle = run if run.calls is None else _with(run, ())
    yield Mutant(Mutation.IDLE, "no call, and an empty answer", _saying(idle, ""))
    short = replace(idle if run.calls is None else _with(run, run.calls[:-1]), final_text=None, complete=False)
    yield Mutant(Mutation.CUT, "no end: the transcript stops", replace(short, valid=False, reason="no terminal event"))
    yield Mutant(Mutation.CUT, "stopped at a limit of turns", replace(short, cap="turns"))


def _is_one(call: NeutralCall, tools: Sequence[str]) -> bool:
    return any(same_tool(tool, call.tool) for tool in tools)


def _saying(run: NeutralRun, text: str) -> NeutralRun:
    return run if run.final_text is UNKNOWN else replace(run, final_text=text)


def _replaced(run: NeutralRun, at: int, by: Calls) -> NeutralRun:
    calls = run.calls or ()
    return _with(run, (*calls[:at], *by, *calls[at + 1 :]))


def _with(run: NeutralRun, calls: Calls) -> NeutralRun:
    """The run with other calls, and the counts of calls to go with them."""
    if run.tool_counts is None:
        return replace(run, calls=calls)
    counts = Counter(dict(run.tool_counts))
    counts.subtract(call.tool for call in run.calls or ())
    counts.update(call.tool for call in calls)
    return replace(run, calls=calls, tool_counts=dict(+counts))
