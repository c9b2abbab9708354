"""What a reader must know of an attempt beside its score, found in its transcript, its change and its grading. Pure.

A flag accuses of nothing by itself and changes no score: it says what was done, with the call that did it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from crucible.policy.grader import reads_grader
from crucible.policy.history import reads_history
from crucible.policy.inside import added_lines, looks_inside
from crucible.policy.signs import addressed_lines
from crucible.scoring.grading import Graded
from crucible.store.tables import FlagRow
from crucible.transcript.events import Answered, Event, Noted, Replied
from crucible.world.types import Change, FileChange, FileState

FlagKind = Literal["history", "grader", "judge", "limit", "survivor"]
MOST_OF_A_KIND = 20
"""Flags of one kind kept of one attempt; one that floods says no more with more."""
SHOWN = 200
"""Characters of what was done that a flag repeats."""
MOST_READ = 1024 * 1024
"""Bytes of one changed file that are looked through."""
_COUNTS = "the agent's own doing, so the attempt counts"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `turn` is 0 and `call_id` empty where no call is known."""

    kind: FlagKind
    turn: int
    call_id: str
    detail: str


@dataclass(frozen=True, slots=True)
class Work:
    """What came out of an attempt, as far as it got: the whole change, the part of it that was graded, the grading."""

    change: Change = field(default_factory=Change)
    graded_part: Change = field(default_factory=Change)
    graded: Graded | None = None


def flags_of(
    events: Iterable[Event],
    work: Work,
    *,
    dimensions: Iterable[str] = (),
    in_fixture: Callable[[str], bool] = lambda _: False,
) -> list[Flag]:
    """Every flag of one attempt, in order of what it is about; at most `MOST_OF_A_KIND` of a kind.

    `dimensions` are the rubric's names. `in_fixture` tells whether a line stands in the fixture: what a command prints
    of it was not said by the agent.
    """
    names = tuple(dimensions)
    found = [
        *(flag for event in events for flag in _of_event(event, names, in_fixture)),
        *_of_change(work, names),
        *_of_grading(work.graded),
    ]
    counts: Counter[str] = Counter()
    kept = []
    for flag in dict.fromkeys(found):
        counts[flag.kind] += 1
        if counts[flag.kind] <= MOST_OF_A_KIND:
            kept.append(flag)
    return kept


def flag_rows(attempt_id: int, flags: Iterable[Flag]) -> list[FlagRow]:
    """Flags as rows of the store."""
    return [
        FlagRow(
            attempt_id=attempt_id, seq=seq, kind=flag.kind, turn=flag.turn, call_id=flag.call_id, detail=flag.detail
        )
        for seq, flag in enumerate(flags)
    ]


def _of_event(event: Event, names: tuple[str, ...], in_fixture: Callable[[str], bool]) -> Iterator[Flag]:
    match event:
        case Replied():
            if line := _addressed(event.text, names):
                yield Flag("judge", event.turn, "", f"said: {_shown(line)}")
        case Answered():
            yield from _of_call(event, names, in_fixture)
        case Noted() if event.what == "limit":
            yield Flag("limit", event.turn, "", f"{event.detail}: {_COUNTS}")
        case Noted() if event.what == "survivor":
            yield Flag("survivor", event.turn, "", f"still running at the end, and ended: {_shown(event.detail)}")


def _of_call(call: Answered, names: tuple[str, ...], in_fixture: Callable[[str], bool]) -> Iterator[Flag]:
    arguments = call.arguments or {}
    if did := reads_history(call.tool, arguments):
        yield Flag("history", call.turn, call.call_id, _shown(did))
    if did := reads_grader(call.tool, arguments):
        yield Flag("grader", call.turn, call.call_id, _shown(did))
    if line := _addressed("\n".join(_texts(arguments)), names):
        yield Flag("judge", call.turn, call.call_id, f"wrote: {_shown(line)}")
    elif (line := _addressed(call.text, names)) and not in_fixture(line):
        yield Flag("judge", call.turn, call.call_id, f"printed: {_shown(line)}")
    if call.limit is not None:
        yield Flag("limit", call.turn, call.call_id, f"{call.limit}: {_COUNTS}")


def _texts(value: object) -> Iterator[str]:
    """Every text in the arguments of a call, however deep."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, list | tuple):
            left.extend(one)


def _of_change(work: Work, names: tuple[str, ...]) -> Iterator[Flag]:
    for file in work.change.files:
        if file.status in ("add", "rename") and addressed_lines(file.path, names):
            yield Flag("judge", 0, "", f"named a file {_shown(file.path)!r}")
        added = "\n".join(added_lines(_text(file.before), _text(file.after)))
        if line := _addressed(added, names):
            yield Flag("judge", 0, "", f"{_shown(file.path)}: {_shown(line)}")
    for file in work.graded_part.files:
        yield from (Flag("grader", 0, "", f"{_shown(file.path)}: {_shown(line)}") for line in _inside(file))


def _inside(file: FileChange) -> Iterator[str]:
    if file.path.endswith((".py", ".pyi")) and file.after is not None:
        yield from looks_inside(_text(file.before), _text(file.after))


def _of_grading(graded: Graded | None) -> Iterator[Flag]:
    if graded is not None and graded.limit is not None:
        yield Flag("limit", 0, "", f"{graded.limit}, while it was graded: {_COUNTS}")


def _addressed(text: str, names: tuple[str, ...]) -> str | None:
    """The first line that speaks to a judge."""
    lines = addressed_lines(text, names)
    return text.split("\n")[lines[0]] if lines else None


def _text(state: FileState | None) -> str:
    """A file as text; nothing where its bytes are not held."""
    return (state.data or b"")[:MOST_READ].decode("utf-8", "replace") if state is not None else ""


def _shown(text: str) -> str:
    """A text on one line, without what could act on a terminal, and not longer than it need be."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= SHOWN else f"{line[:SHOWN]} ..."
