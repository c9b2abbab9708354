"""OpenTelemetry GenAI spans as OTLP JSON: one document, or one export a line.

Calls are the `execute_tool` spans in order of their start, and calls in recorded replies that have no span of their own.
`gen_ai.tool.definitions` lists what could be called, not what was. Arguments, results and replies are recorded only on
request: not there means unknown. A span is written when it ends, the agent's last, so a file in which spans have parents
that are not there is a part of a run.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any, Final

from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralRun, NeutralTokens
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.otlp import Span, place, spans
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import arguments, content, count, given, mapping, objects, strings, text

_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "input.value")
_RESULTS: Final = ("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "output.value")
_SCENARIO: Final = "crucible.scenario.id"
_GOES_ON: Final = ("tool_call", "tool_calls", "tool_use", "content_filter", "error")
_OUT_OF_TOKENS: Final = ("length", "max_tokens")
_USAGE: Final = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_creation.input_tokens",
}


def claims(value: Any) -> bool:
    """An export of spans."""
    return isinstance(mapping(value).get("resourceSpans"), list)


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its spans."""
    draft = Draft(scan, exit_code, final_text=UNKNOWN)
    found: list[Span] = []
    for value in scan.events():
        found += spans(value, len(found))
    found.sort(key=operator.attrgetter("start", "order"))
    place(found)
    told = [span for span in found if span.operation is not None or span.tool is not None]
    _calls(draft, told)
    draft.tokens = _tokens(told)
    draft.scenario_id = next((text(s.attributes[_SCENARIO]) for s in found if _SCENARIO in s.attributes), None)
    draft.errors += [f"{span.operation}: {span.message}" for span in told if span.is_chat and span.failed]
    if told:
        draft.seconds = max(max(span.end for span in told) - min(span.start for span in told), 0) / 1e9
        _ending(draft, told)
    return draft.close("span of the agent")


def _calls(draft: Draft, told: list[Span]) -> None:
    tools = [span for span in told if span.tool is not None and not _part_of_a_call(span)]
    chats = [span for span in told if span.is_chat]
    spanned = Counter(span.call_id or span.tool for span in tools)
    for span in sorted([*tools, *chats], key=operator.attrgetter("start", "order")):
        if span.is_chat:
            _requested(draft, span, spanned)
        else:
            _executed(draft, span)
    silent = [span for span in chats if span.messages("gen_ai.output.messages") is None]
    if not tools and draft.calls and silent:
        draft.unseen = f"{len(silent)} of {len(chats)} replies were not recorded"
    elif not tools and (silent or not chats):
        draft.calls = None


def _part_of_a_call(span: Span) -> bool:
    """A tool's server writes a span for the same call below the one of its client."""
    return span.within is not None and span.within.tool == span.tool


def _executed(draft: Draft, span: Span) -> None:
    args = span.first(_ARGUMENTS)
    sent: tuple[Arguments, str | None] = (UNKNOWN, None) if args is None else arguments(args)
    result = _value(span.first(_RESULTS))
    if result is None and span.failed:
        result = span.message
    draft.settle(draft.ask(span.tool, sent, parent=span.owner), not span.failed, result)


def _value(recorded: Any) -> Any:
    """A recorded result; a JSON object or array written as text is read as one."""
    if not isinstance(recorded, str) or not recorded.lstrip().startswith(("{", "[")):
        return recorded
    parsed = arguments(f'{{"value": {recorded}}}')[0]
    return parsed["value"] if isinstance(parsed, dict) and parsed.keys() == {"value"} else recorded


def _requested(draft: Draft, span: Span, spanned: Counter[str | None]) -> None:
    """Calls that only the replies tell of, and what the next requests say they answered."""
    for part in _parts(span, "gen_ai.input.messages", "tool_call_response"):
        if draft.has_asked(part.get("id")):
            draft.answer(part["id"], True, content(part.get("result", part.get("response"))))
    for part in _parts(span, "gen_ai.output.messages", "tool_call"):
        by = next((word for word in (text(part.get("id")), text(part.get("name"))) if spanned[word] > 0), None)
        if by is None:
            draft.ask(part.get("name"), given(part, "arguments"), call_id=part.get("id"), parent=span.owner)
        else:
            spanned[by] -= 1


def _parts(span: Span, key: str, kind: str) -> list[dict[str, Any]]:
    messages = span.messages(key) or []
    return [part for message in messages for part in objects(message.get("parts")) if part.get("type") == kind]


def _tokens(told: list[Span]) -> NeutralTokens | None:
    """The sum over the calls of models, or what the agent's span says. A count that one of them lacks is not known."""
    counted = [span for span in told if span.is_chat] or [span for span in told if span.is_agent and not span.owner]
    sums: dict[str, int] = {}
    for ours, theirs in _USAGE.items():
        known = [n for span in counted if (n := count(span.attributes.get(theirs))) is not None]
        if known and len(known) == len(counted):
            sums[ours] = sum(known)
    return NeutralTokens(**sums) if sums else None


def _ending(draft: Draft, told: list[Span]) -> None:
    lost = [span for span in told if not span.reached]
    top = [span for span in told if span.owner is None]
    agents = [span for span in top if span.is_agent and not span.under_agent]
    chats = [span for span in top if span.is_chat]
    draft.final_text = _answer(agents[-1:]) if _answer(agents[-1:]) is not UNKNOWN else _answer(chats[-1:])
    runs = {text(span.attributes.get("gen_ai.conversation.id")) or span.trace for span in agents}
    if lost:
        draft.invalid(f"cut off: {len(lost)} spans have a parent that is not there, such as {lost[0].parent}")
    elif len(runs) > 1:
        draft.invalid(f"{len(runs)} runs of an agent in one file: {', '.join(sorted(runs)[:3])}")
    elif agents:
        _agent_ending(draft, agents[-1])
    elif chats:
        _chat_ending(draft, chats[-1])


def _agent_ending(draft: Draft, agent: Span) -> None:
    if agent.failed:
        draft.end_failed(agent.message, f"the agent ended by an error: {agent.message or 'no reason given'}")
    else:
        draft.end(None)


def _chat_ending(draft: Draft, chat: Span) -> None:
    """Without a span of the agent, the last reply tells whether it was the last."""
    messages = chat.messages("gen_ai.output.messages") or [{}]
    reasons = strings(chat.attributes.get("gen_ai.response.finish_reasons"))
    reason = text(messages[-1].get("finish_reason")) or (reasons[-1] if reasons else None)
    if chat.failed:
        draft.end_failed(chat.message, f"the last call of the model failed: {chat.message or 'no reason given'}")
    elif reason in _OUT_OF_TOKENS:
        draft.end_capped("tokens", reason)
    elif reason is not None and reason not in _GOES_ON:
        draft.end(reason)


def _answer(last: list[Span]) -> Any:
    """The text of the last recorded message; UNKNOWN when messages were not recorded."""
    messages = last[0].messages("gen_ai.output.messages") if last else None
    if not messages:
        return UNKNOWN
    parts = [part.get("content") for part in objects(messages[-1].get("parts")) if part.get("type") == "text"]
    return "".join(strings(parts)) if strings(parts) else None
