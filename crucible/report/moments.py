"""The moments of an attempt that people look for: the first edit, the first green, and what it took to get there. Pure.

Read off the calls alone, as far as they say it: what a shell command wrote, and whether a test run that was piped away
passed, is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucible.agents.external.naming import as_builtin
from crucible.report.commands import command_of, programs_of, ran_tests, shell_writes, target
from crucible.scenario.schema import WRITING_TOOLS
from crucible.store.turns import Step, Turn


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: the turn, `what` was done, the tokens billed and the seconds up to and with it; None is unknown.

    Where there was none, or it cannot be told, `turn` is None and `why_not` says why.
    """

    turn: int | None
    what: str = ""
    tokens: int | None = None
    seconds: float | None = None
    why_not: str | None = None


def moment_at(turns: Sequence[Turn], place: int | None, why_not: str) -> Moment:
    """The turn at a place in the list as a moment; `why_not` stands where there is no place."""
    if place is None:
        return Moment(None, why_not=why_not)
    turn = turns[place]
    return Moment(turn.number, did(turn), _tokens(turns, place), turn.at)


def first_edit(turns: Sequence[Turn]) -> Moment:
    """The first call that succeeded and is known to write a file."""
    for place, turn in enumerate(turns):
        for step in turn.steps:
            if step.ok and not step.exit_code and _writes(step):
                return Moment(turn.number, call_line(step), _tokens(turns, place), step.at)
    shell = any(command_of(step.tool, step.arguments) is not None for turn in turns for step in turn.steps)
    why = "no call that is known to write succeeded" + ("; a shell command may have written" if shell else "")
    return Moment(None, why_not=why)


def first_green(turns: Sequence[Turn], test_command: str = "") -> Moment:
    """The first test run that passed after one that had failed; the scenario's `test_command` counts as one."""
    own = tuple(run.words for run in programs_of(test_command)[-1:])
    red = green = hidden = 0
    first: int | None = None
    for place, turn in enumerate(turns):
        for step in turn.steps:
            command = command_of(step.tool, step.arguments)
            said = None if command is None else ran_tests(command, own)
            if said is None:
                continue
            if not said or step.exit_code is None:
                hidden += 1
            elif step.exit_code:
                red += 1
            elif red:
                return Moment(turn.number, call_line(step), _tokens(turns, place), step.at)
            else:
                green, first = green + 1, turn.number if first is None else first
    return Moment(None, why_not=_no_green(red, green, hidden, first))


def did(turn: Turn) -> str:
    """A turn in one line: its calls, or the beginning of what it said."""
    if not turn.steps:
        return f"says: {_line(turn.said)}" if turn.said.strip() else "says nothing and calls nothing"
    more = f" and {len(turn.steps) - 1} more" if len(turn.steps) > 1 else ""
    return call_line(turn.steps[0]) + more


def call_line(step: Step) -> str:
    """A call in one line: the tool and what it is about."""
    if step.arguments is None:
        return f"{step.tool} (not understood)"
    command = command_of(step.tool, step.arguments)
    return f"{step.tool} {_line(command if command is not None else target(step.tool, step.arguments))}".rstrip()


def _line(text: str, most: int = 120) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _writes(step: Step) -> bool:
    name, _ = as_builtin(step.tool, step.arguments or {})
    command = command_of(step.tool, step.arguments)
    return name in WRITING_TOOLS or (command is not None and shell_writes(command))


def _no_green(red: int, green: int, hidden: int, first: int | None) -> str:
    if not red + green + hidden:
        return "unknown: it ran no tests that are known as such"
    if first is not None and not red:
        return f"unknown: its tests passed at turn {first}, but no failing run was seen before"
    if hidden:
        return f"unknown: {hidden} of {red + green + hidden} test runs do not tell how they ended"
    return f"none: its tests failed each time they were run ({red})"


def _tokens(turns: Sequence[Turn], place: int) -> int | None:
    known = [turn.tokens for turn in turns[: place + 1]]
    return None if any(one is None for one in known) else sum(one for one in known if one is not None)
