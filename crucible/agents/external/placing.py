"""Which reply of the model asked for which call of a transcript.

A transcript has no times and often no ids, so a call is put behind the reply that asked for it: the one whose call has
the same name and arguments, else the same name, else some argument in common, else the next one nothing was found for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crucible.agents.external.connections import our_name
from crucible.llm.proxy import Exchange
from crucible.transcript.messages import ToolCall
from crucible.transcript.neutral import UNKNOWN, NeutralCall

OK_STATUS = 200
_UNKNOWN = ("unsupported call", "failed to parse function arguments")
"""How Codex answers calls that it does not take."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A model call and when it was over, in seconds since the attempt started."""

    exchange: Exchange
    at: float

    @property
    def replied(self) -> bool:
        """Whether there was a reply, whole or not: it was paid for."""
        return self.exchange.answered or (self.exchange.status == OK_STATUS and not self.exchange.refused)


@dataclass(frozen=True, slots=True)
class _Asked:
    turn: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Placed:
    """A call of the transcript: its number there from 0, and the id it has on the wire, or one of ours."""

    number: int
    call_id: str
    call: NeutralCall


def placed_calls(
    replies: Sequence[tuple[int, Timed]],
    calls: Sequence[NeutralCall],
    servers: tuple[str, ...],
    told: Mapping[str, str],
) -> dict[int, list[Placed]]:
    """The transcript's calls by the turn that asked for them, and those that only the wire tells of.

    Some agents leave calls out of their transcripts: ones they do not know, ones that only keep their own notes.
    """
    waiting = [_Asked(turn, call) for turn, one in replies for call in one.exchange.tool_calls]
    placed: dict[int, list[Placed]] = {}
    turn = next((turn for turn, one in replies if one.replied), 0)
    for number, made in enumerate(calls):
        call, asked = made, _match(made, waiting, servers)
        if asked is not None:
            waiting.remove(asked)
            turn = asked.turn
            call = _with_arguments(call, asked.call)
        call_id = asked.call.id if asked is not None and asked.call.id else f"transcript_{number + 1}"
        placed.setdefault(turn, []).append(Placed(number, call_id, call))
    for left in waiting:
        if left.call.id in told:
            placed.setdefault(left.turn, []).append(Placed(-1, left.call.id, _from_wire(left.call, told)))
    return placed


def _with_arguments(call: NeutralCall, asked: ToolCall) -> NeutralCall:
    """The call with the arguments it was asked with, where its transcript does not carry them."""
    arguments = _arguments(asked)
    return replace(call, args=arguments) if call.args is UNKNOWN and isinstance(arguments, dict) else call


def _from_wire(call: ToolCall, told: Mapping[str, str]) -> NeutralCall:
    text, arguments = told[call.id], _arguments(call)
    args = arguments if isinstance(arguments, dict) else None
    return NeutralCall(call.name, args, ok=not text.startswith(_UNKNOWN), result=text, raw_args=call.raw_arguments)


def _match(call: NeutralCall, waiting: Sequence[_Asked], servers: tuple[str, ...]) -> _Asked | None:
    name = our_name(call.tool, servers)
    alike = [one for one in waiting if our_name(one.call.name, servers) == name or name.endswith(f"__{one.call.name}")]
    same = next((one for one in alike if _arguments(one.call) == call.args), None)
    close = same or next(iter(alike), None) or next((one for one in waiting if _shares(one.call, call)), None)
    return close or next(iter(waiting), None)


def _shares(asked: ToolCall, call: NeutralCall) -> bool:
    """Whether a text that was asked with is in what was called with: some agents dress a command up."""
    sent, made = _arguments(asked), str(call.args)
    return isinstance(sent, dict) and any(isinstance(text, str) and text and text in made for text in sent.values())


def _arguments(call: ToolCall) -> Any:
    try:
        return json.loads(call.raw_arguments or "{}")
    except (ValueError, RecursionError):
        return None
