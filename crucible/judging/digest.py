"""The digest of a transcript: what an agent said and did, turn by turn, short enough to be judged.

Left out by design: the system prompt, notes of the harness, usage and cost. Every line that came from the agent or a
tool starts with a bar, so that nothing said there can pass for the digest's own words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from crucible.transcript.events import Answered, Decided, Ended, Event, Replied, cap_text

DIGEST_CHARS = 40_000
"""Default room for a digest, in characters."""
_ROOMS = (4000, 2000, 1000, 500, 250, 120)
"""Characters one text may take, from generous to the least that still says something."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of our own, followed by a text that is not ours (None: there is none)."""

    ours: str
    theirs: str | None = None


def digest(events: Iterable[Event], budget_chars: int = DIGEST_CHARS, *, blind: Callable[[str], str]) -> str:
    """The transcript turn by turn: what was said, each call with its arguments, its result, what a policy decided.

    Texts are blinded first and then shortened to head and tail, with the widest room that fits `budget_chars`. Turns
    are never dropped here: a digest that is too long even so is cut where all evidence is cut, and reported there.
    """
    lines = _lines(list(events), blind)
    for room in _ROOMS:
        text = _render(lines, room)
        if len(text) <= budget_chars:
            break
    return text


def _lines(events: list[Event], blind: Callable[[str], str]) -> list[_Line]:
    asked = {
        (event.turn, call.get("id")): call.get("raw_arguments", "")
        for event in events
        if isinstance(event, Replied)
        for call in event.tool_calls
    }
    lines: list[_Line] = []
    for event in events:
        lines.extend(_of_event(event, asked, blind))
    return lines


def _of_event(event: Event, asked: dict[tuple[int, str | None], str], blind: Callable[[str], str]) -> list[_Line]:
    match event:
        case Replied():
            said = [_Line("says:", blind(event.text))] if event.text.strip() else []
            return [_Line(f"Turn {event.turn}"), *said]
        case Answered():
            arguments = _arguments(event, asked.get((event.turn, event.call_id), ""))
            return [
                _Line(f"calls {blind(event.tool)} with:", blind(arguments)),
                _Line(f"result, {_status(event)}:", blind(event.text)),
            ]
        case Decided():
            return [_Line(f"policy {blind(event.policy_id)}: {event.action}")]
        case Ended():
            return [_Line(f"Ended: {blind(event.ending)}")]
        case _:
            return []


def _arguments(event: Answered, raw: str) -> str:
    """The arguments as JSON, or the text as it came when it could not be read."""
    return raw if event.arguments is None else json.dumps(event.arguments, ensure_ascii=False, default=str)


def _status(event: Answered) -> str:
    if event.timed_out:
        return "timed out"
    code = "" if event.exit_code is None else f" (exit code {event.exit_code})"
    return ("ok" if event.ok else "error") + code


def _render(lines: list[_Line], room: int) -> str:
    head = f"Texts longer than {room} characters are shown by their head and tail."
    return "\n".join([head, *(_rendered(line, room) for line in lines)])


def _rendered(line: _Line, room: int) -> str:
    if line.theirs is None:
        return line.ours
    shown = cap_text(line.theirs, room).rstrip("\n").split("\n")
    return "\n".join([line.ours, *(f"  | {text}" for text in shown)])
