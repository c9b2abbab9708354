"""The moments of an attempt that people look for: the first edit, the first edit that the other attempt does not make, the
first green, and what it took to get there. Pure.

Read off the calls alone, as far as they say it: what a shell command wrote, and whether a test run that was piped away
passed, is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crucible.report.commands import command_of, programs_of, ran_tests, target
from crucible.report.edits import Edit, edit_of, new_lines, new_texts
from crucible.report.went import went
from crucible.store.turns import Step, Turn

UNSEEN = "no failing run seen before"


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: the turn, `what` was done, the tokens billed and the seconds up to and with it; None is unknown.

    Where there was none, or it cannot be told, `turn` is None and `why_not` says why. `note` is what a reader must know of
    it; `wrote` the beginning of what an edit brings that is new.
    """

    turn: int | None
    what: str = ""
    tokens: int | None = None
    seconds: float | None = None
    why_not: str | None = None
    note: str = ""
    wrote: str = ""


def moment_at(turns: Sequence[Turn], place: int | None, why_not: str) -> Moment:
    """The turn at a place in the list as a moment; `why_not` stands where there is no place."""
    if place is None:
        return Moment(None, why_not=why_not)
    turn = turns[place]
    return Moment(turn.number, did(turn), _tokens(turns, place), turn.at)


@dataclass(frozen=True, slots=True)
class _Edited:
    """A call that succeeded and is known to write, with the place of its turn."""

    place: int
    step: Step
    edit: Edit


def _edited(turns: Sequence[Turn]) -> Iterator[_Edited]:
    for place, turn in enumerate(turns):
        for step in turn.steps:
            if step.ok and not step.exit_code and (edit := edit_of(step.tool, step.arguments)) is not None:
                yield _Edited(place, step, edit)


def first_edit(turns: Sequence[Turn]) -> Moment:
    """The first call that succeeded and is known to write a file."""
    shell = any(command_of(step.tool, step.arguments) is not None for turn in turns for step in turn.steps)
    why = "no call that is known to write succeeded" + ("; a shell command may have written" if shell else "")
    return _edit_moment(turns, next(_edited(turns), None), None, why)


def different_edits(one: Sequence[Turn], other: Sequence[Turn], why_not: str) -> tuple[Moment, Moment]:
    """The first edit of each that the other never makes; `why_not` stands where there is none."""
    mine, theirs = list(_edited(one)), list(_edited(other))
    here, there = _first_not_of(theirs, mine), _first_not_of(mine, theirs)
    beside = [None if found is None else turns[found.place] for turns, found in ((one, here), (other, there))]
    return _edit_moment(one, here, beside[1], why_not), _edit_moment(other, there, beside[0], why_not)


def _first_not_of(others: Sequence[_Edited], mine: Sequence[_Edited]) -> _Edited | None:
    known = {one.edit for one in others}
    return next((one for one in mine if one.edit not in known), None)


def _edit_moment(turns: Sequence[Turn], found: _Edited | None, beside: Turn | None, why_not: str) -> Moment:
    if found is None:
        return Moment(None, why_not=why_not)
    turn, step = turns[found.place], found.step
    return Moment(turn.number, call_line(step), _tokens(turns, found.place), step.at, wrote=brings(step, beside))


def brings(step: Step, beside: Turn | None = None) -> str:
    """The first lines an edit brings that neither were there before nor are brought by the turn beside it."""
    known = [text for other in (beside.steps if beside else ()) for text in new_texts(other.arguments or {})]
    return "\n".join(_line(line) for line in new_lines(step.tool, step.arguments or {}, known))


def first_green(turns: Sequence[Turn], test_command: str = "") -> Moment:
    """The first test run that passed after one that had failed, else the first that passed; the scenario's `test_command`
    counts as one."""
    own = tuple(run.words for run in programs_of(test_command)[-1:])
    red = hidden = 0
    first: Moment | None = None
    for place, turn in enumerate(turns):
        for step in turn.steps:
            told = _tests_told(step, own)
            if told == "passed":
                green = Moment(turn.number, call_line(step), _tokens(turns, place), step.at)
                if red:
                    return green
                first = first or replace(green, note=UNSEEN)
            red, hidden = red + (told == "failed"), hidden + (told == "hidden")
    return first or Moment(None, why_not=_no_green(red, hidden))


def _tests_told(step: Step, own: tuple[tuple[str, ...], ...]) -> str | None:
    """How a test run ended: passed, failed, or hidden where the call does not tell; None for what is no test run."""
    command = command_of(step.tool, step.arguments)
    said = None if command is None else ran_tests(command, own)
    if said is None:
        return None
    if not said or step.exit_code is None:
        return "hidden"
    return "failed" if step.exit_code else "passed"


def did(turn: Turn) -> str:
    """A turn in one line: its calls, or the beginning of what it said."""
    if not turn.steps:
        return f"says: {_line(turn.said)}" if turn.said.strip() else "says nothing and calls nothing"
    more = f" and {len(turn.steps) - 1} more" if len(turn.steps) > 1 else ""
    return call_line(turn.steps[0]) + more


def call_line(step: Step) -> str:
    """A call in one line: the tool and what it is about."""
    if step.arguments is None:
        return step.tool if step.ok else f"{step.tool} ({went(step).words})"
    command = command_of(step.tool, step.arguments)
    return f"{step.tool} {_line(command if command is not None else target(step.tool, step.arguments))}".rstrip()


def _line(text: str, most: int = 120) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _no_green(red: int, hidden: int) -> str:
    if hidden:
        return f"{hidden} of {red + hidden} test runs do not tell how they ended"
    return f"its tests failed each time they were run ({red})" if red else "ran no tests that are known as such"


def _tokens(turns: Sequence[Turn], place: int) -> int | None:
    known = [turn.tokens for turn in turns[: place + 1]]
    return None if any(one is None for one in known) else sum(one for one in known if one is not None)
