"""The events of a few turns as a page shows them: what was said, what was called, what a policy decided, what came back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from crucible.report.went import went
from crucible.store.tables import EventRow
from crucible.transcript.events import EVENT, Answered, Decided, Equipped, Event, Noted, Replied, Started
from crucible.web.site import Data
from crucible.web.visible import short_lines

REPLY, RESULT, ARGUMENT = 6_000, 3_000, 1_500
"""Characters of one text that are shown among others."""
UNCUT = 200_000
"""Characters of one text that are shown of a turn by itself."""


def turns_of(rows: Sequence[EventRow], *, full: bool = False) -> list[Data]:
    """Turn by turn; the events before the first turn are turn 0. How it ended is the attempt's own, and is left to it."""
    by_turn: dict[int, list[EventRow]] = {}
    for row in rows:
        if row.kind != "ended":
            by_turn.setdefault(row.turn, []).append(row)
    return [{"turn": turn, "at": mine[0].at, "items": list(_items(mine, full))} for turn, mine in by_turn.items()]


def _items(rows: Sequence[EventRow], full: bool) -> Iterable[Data]:
    events = [(row.seq, EVENT.validate_json(row.data)) for row in rows]
    answered = {event.call_id for _, event in events if isinstance(event, Answered)}
    decided: dict[str, list[Data]] = {}
    for seq, event in events:
        if isinstance(event, Decided):
            one = {"seq": seq, "action": event.action, "policy": event.policy_id, "detail": event.detail}
            decided.setdefault(event.call_id, []).append(one)
    for seq, event in events:
        match event:
            case Replied():
                yield {"kind": "reply", "seq": seq, **_reply(event, full)}
            case Answered():
                mine = decided.get(event.call_id, [])
                yield {"kind": "call", "seq": seq, **_call(event, mine, full), "decided": mine}
            case Decided() if event.call_id not in answered:
                yield {"kind": "decided", "seq": seq, "decided": decided[event.call_id]}
            case Decided():
                continue
            case _:
                yield {"seq": seq, **_other(event, full)}


def _reply(event: Replied, full: bool) -> Data:
    return {
        "text": cut(event.text, REPLY, event.text_size, full),
        "input": event.input_uncached,
        "cached": event.input_cached,
        "output": event.output,
        "reasoning": event.reasoning,
        "cost_usd": event.cost_usd,
        "seconds": event.seconds,
        "waited": event.waited_seconds,
        "finish": event.finish_reason,
        "asked": [call["name"] for call in event.tool_calls],
    }


def _call(event: Answered, decided: Sequence[Data], full: bool) -> Data:
    arguments = [(name, _argument(value, full)) for name, value in (event.arguments or {}).items()]
    refused = next((one["policy"] for one in decided if one["action"] in ("block", "fail")), None)
    how = went(event, refused)
    return {
        "tool": event.tool,
        "read": event.arguments is not None,
        "arguments": arguments,
        "ok": event.ok,
        "went": how.kind,
        "sign": how.sign,
        "status": how.words,
        "seconds": event.seconds,
        "text": cut(event.text, RESULT, event.text_size, full),
        "restored": event.restored,
    }


def _argument(value: object, full: bool) -> Data:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cut(text, ARGUMENT, len(text), full)


def _other(event: Event, full: bool) -> Data:
    match event:
        case Started():
            texts = [cut(text, REPLY, len(text), full) for text in (event.system_prompt, event.task)]
            return {"kind": "start", "system": texts[0], "task": texts[1], "tools": event.tools}
        case Equipped():
            return {"kind": "equipped", "servers": event.servers, "agent": event.agent, "seconds": event.seconds}
        case Noted():
            return {"kind": "note", "what": event.what, "detail": cut(event.detail, ARGUMENT, len(event.detail), full)}
    return {"kind": "note", "what": event.kind, "detail": cut("", 0, 0, full)}


def cut(text: str, most: int, size: int, full: bool) -> Data:
    """A text as far as it is shown. `more` characters of the `whole` that is stored are left out; `size` is its true one."""
    lines, more = short_lines(text, UNCUT, UNCUT) if full else short_lines(text, most)
    return {"text": "\n".join(lines), "more": more, "whole": len(text), "size": size}
