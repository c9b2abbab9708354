"""The digest of a transcript: what an agent said and did, turn by turn, short enough to be judged.

Left out by design: the system prompt, notes of the harness, usage and cost. Every line that came from the agent or a
tool starts with a bar, so that nothing said there can pass for the digest's own words; what speaks to a judge is taken
out before anything is shortened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from crucible.policy.signs import without_addressed
from crucible.transcript.events import Answered, Decided, Ended, Event, Replied, cap_text

DIGEST_CHARS = 40_000
"""Default room for a digest, in characters."""
MOST_NAME = 120
"""Characters of a tool's name that are shown."""
_ROOMS = (4000, 2000, 1000, 500, 250, 120)
"""Characters one text may take, from generous to the least that still says something."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of our own, followed by a text that is not ours (None: there is none)."""

    ours: str
    theirs: str | None = None


def digest(
    events: Iterable[Event],
    budget_chars: int = DIGEST_CHARS,
    *,
    blind: Callable[[str], str],
    dimensions: Iterable[str] = (),
) -> str:
    """The transcript turn by turn: what was said, each call with its arguments, its result, what a policy decided.

    `dimensions` are the rubric's names: a line that tells a judge what to give for one is left out, and marked.
    Texts are blinded first and then shortened to head and tail, with the widest room that fits `budget_chars`. Turns
    are never dropped here: a digest that is too long even so is cut where all evidence is cut, and reported there.
    """
    names = tuple(dimensions)
    lines = _lines(list(events), lambda text: blind(without_addressed(text, names)))
    for room in _ROOMS:
        text = _render(lines, room)
        if len(text) <= budget_chars:
            break
    return text


def _lines(events: list[Event], clean: Callable[[str], str]) -> list[_Line]:
    asked = {
        (event.turn, call.get("id")): call.get("raw_arguments", "")
        for event in events
        if isinstance(event, Replied)
        for call in event.tool_calls
    }
    lines: list[_Line] = []
    for event in events:
        lines.extend(_of_event(event, asked, clean))
    return lines


def _of_event(event: Event, asked: dict[tuple[int, str | None], str], clean: Callable[[str], str]) -> list[_Line]:
    match event:
        case Replied():
            said = [_Line("says:", clean(event.text))] if event.text.strip() else []
            return [_Line(f"Turn {event.turn}"), *said]
        case Answered():
            arguments = _arguments(event, asked.get((event.turn, event.call_id), ""), clean)
            return [
                _Line(f"calls {_name(clean(event.tool))} with:", arguments),
                _Line(f"result, {_status(event)}:", clean(event.text)),
            ]
        case Decided():
            return [_Line(f"policy {clean(event.policy_id)}: {event.action}")]
        case Ended():
            return [_Line(f"Ended: {clean(event.ending)}")]
        case _:
            return []


def _arguments(event: Answered, raw: str, clean: Callable[[str], str]) -> str:
    """The arguments as JSON, or the text as it came when it could not be read.

    Every text in them is cleaned by itself: as JSON a whole file is one line, and would be left out as one.
    """
    if event.arguments is None:
        return clean(raw)
    return clean(json.dumps(_each(event.arguments, clean), ensure_ascii=False, default=str))


def _each(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _each(one, clean) for key, one in value.items()}
    return [_each(one, clean) for one in value] if isinstance(value, list | tuple) else value


def _name(tool: str) -> str:
    """A tool's name on one line of ours: a model may ask for a tool of any name, line ends included."""
    return " ".join(tool.split())[:MOST_NAME]


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
