"""A model's reply as the event it is stored as, whoever asked for it: our own loop, or an agent CLI through the proxy."""

from __future__ import annotations

from collections.abc import Iterable

from crucible.transcript.events import Replied, cap_text
from crucible.transcript.messages import ToolCall, Usage


def reply_event(
    text: str,
    calls: Iterable[ToolCall],
    usage: Usage,
    *,
    at: float,
    turn: int,
    seconds: float,
    waited: float = 0.0,
    finish_reason: str | None = None,
) -> Replied:
    """The event. `at` is seconds since the attempt started, `seconds` the time of the reply, `waited` what retries took."""
    return Replied(
        at=at,
        turn=turn,
        text=cap_text(text),
        text_size=len(text),
        tool_calls=tuple({"id": c.id, "name": c.name, "raw_arguments": cap_text(c.raw_arguments)} for c in calls),
        input_uncached=usage.input_uncached,
        input_cached=usage.input_cached,
        cache_write=usage.cache_write,
        output=usage.output,
        reasoning=usage.reasoning,
        cost_usd=usage.cost_usd,
        raw_usage=usage.raw,
        seconds=seconds,
        waited_seconds=waited,
        finish_reason=finish_reason,
    )
