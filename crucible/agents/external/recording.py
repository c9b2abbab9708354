"""The events of an agent's attempt: replies and usage from the wire, tool calls from its own transcript, in order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from crucible.agents.external.answers import answers_on_the_wire
from crucible.agents.external.connections import our_name
from crucible.agents.external.naming import as_builtin
from crucible.agents.external.placing import Placed, Timed, placed_calls
from crucible.agents.replies import reply_event
from crucible.policy.rules import Decision, decide
from crucible.redaction import redact
from crucible.scenario.schema import Policy
from crucible.transcript.events import CALLS_UNKNOWN, Answered, Decided, Event, Noted, Replied, cap_text
from crucible.transcript.neutral import NeutralRun


def events_of(
    timed: Sequence[Timed],
    run: NeutralRun | None,
    servers: Iterable[str],
    policies: Sequence[Policy],
    refused: Mapping[int, Decision],
) -> Iterator[Event]:
    """Replied, Answered, Decided and Noted of an attempt, turn by turn. `refused`: what forbade a call, by its number."""
    names = tuple(servers)
    replies = list(_turns(timed))
    told = answers_on_the_wire(one.exchange.asked for one in timed)
    calls = {} if run is None or run.calls is None else placed_calls(replies, run.calls, names, told)
    turn, at = 0, 0.0
    for turn, one in replies:
        at = one.at
        if one.replied:
            yield replied(one, turn)
        yield from _notes(one, turn)
        for call in calls.pop(turn, ()) if one.replied else ():
            yield from _of_call(call, turn, at, told.get(call.call_id), names, policies, refused)
    for left in calls.values():
        for call in left:
            yield from _of_call(call, turn, at, told.get(call.call_id), names, policies, refused)


def _turns(timed: Sequence[Timed]) -> Iterator[tuple[int, Timed]]:
    """Every model call with its turn: a call without a reply belongs to the turn before it."""
    turn = 0
    for one in timed:
        turn += one.replied
        yield turn, one


def replied(one: Timed, turn: int) -> Replied:
    """A reply as an event."""
    exchange = one.exchange
    return reply_event(
        redact(exchange.text),
        exchange.tool_calls,
        exchange.usage,
        at=one.at,
        turn=turn,
        seconds=exchange.seconds,
        finish_reason=exchange.finish_reason,
    )


def _notes(one: Timed, turn: int) -> Iterator[Noted]:
    exchange = one.exchange
    if exchange.refused:
        yield Noted(at=one.at, turn=turn, what="call_refused", detail=redact(exchange.error or ""))
    elif exchange.error is not None:
        yield Noted(at=one.at, turn=turn, what="model_call_failed", detail=cap_text(redact(exchange.error), 1000))
    elif exchange.usage.total is None:
        yield Noted(at=one.at, turn=turn, what="usage_unknown", detail="the provider did not count tokens")
    for note in exchange.notes:
        yield Noted(at=one.at, turn=turn, what="proxy", detail=note)


def _of_call(
    placed: Placed,
    turn: int,
    at: float,
    told: str | None,
    servers: tuple[str, ...],
    policies: Sequence[Policy],
    refused: Mapping[int, Decision],
) -> Iterator[Event]:
    """What is recorded of one call. `told`: its result on the wire, for a transcript that does not have it."""
    call = placed.call
    arguments = dict(call.args) if isinstance(call.args, dict) else None
    tool = our_name(call.tool, servers)
    warned = [one for one in decide(policies, *as_builtin(tool, arguments or {})) if one.action == "warn"]
    for decision in [*([refused[placed.number]] if placed.number in refused else []), *warned]:
        yield Decided(
            at=at,
            turn=turn,
            call_id=placed.call_id,
            policy_id=decision.policy_id,
            action=decision.action,
            detail=f"{decision.rule} ({decision.detail})",
        )
    text = redact(_as_text(call.result) or told or "")
    yield Answered(
        at=at,
        turn=turn,
        call_id=placed.call_id,
        tool=tool,
        arguments=None if arguments is None else {key: _capped(value) for key, value in arguments.items()},
        # A call that nothing answered had no success; an answer that does not say is not called a failure.
        ok=call.executed is True if call.ok is None else call.ok,
        text=cap_text(text),
        text_size=len(text.encode("utf-8", "replace")),
        seconds=0.0,
    )


def _as_text(result: Any) -> str:
    if result is None:
        return ""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def _capped(value: Any) -> Any:
    return cap_text(redact(value)) if isinstance(value, str) else value


def untold(told: Iterable[str], offered: Mapping[str, Iterable[str]]) -> Iterator[Noted]:
    """Servers that were there, and of which the model's first request has no tool. `told` are its tools, by our names."""
    known = set(told)
    for server, tools in offered.items():
        if tools and known.isdisjoint(tools):
            detail = (
                f"the agent first asked its model without the tools of {server}: it did not wait, or offers them later"
            )
            yield Noted(at=0.0, turn=0, what="tools_not_offered", detail=detail)


def remarks(timed: Sequence[Timed], run: NeutralRun | None, at: float, strays: Sequence[str]) -> Iterator[Noted]:
    """What was odd about an attempt as a whole."""
    turn = sum(one.replied for one in timed)
    if run is None or run.calls is None:
        why = "there is no reader of this agent's transcript" if run is None else run.reason or "it does not say"
        yield Noted(at=at, turn=turn, what=CALLS_UNKNOWN, detail=f"which tools were called is not known: {why}")
    elif not run.valid:
        yield Noted(at=at, turn=turn, what="transcript_doubtful", detail=cap_text(run.reason or "", 1000))
    if run is not None and run.unseen:
        yield Noted(at=at, turn=turn, what="calls_unseen", detail=run.unseen)
    said = run.tokens.output if run is not None and run.tokens is not None else None
    counted = [one.exchange.usage.output for one in timed if one.replied]
    if said is not None and counted and None not in counted and said != sum(n or 0 for n in counted):
        detail = (
            f"the agent says {said:,} output tokens, the wire {sum(n or 0 for n in counted):,}; the wire's count holds"
        )
        yield Noted(at=at, turn=turn, what="tokens_disagree", detail=detail)
    if strays:
        detail = f"asked for, and not answered: {', '.join(strays[:20])}"
        yield Noted(at=at, turn=turn, what="stray_requests", detail=detail)
