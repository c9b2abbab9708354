"""Event types: what an attempt's transcript is made of, in order, one row each in the store.

`at` is seconds since the attempt started. Text in events is capped by `cap_text` before it is stored;
the true size is kept beside it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

TEXT_CAP = 64 * 1024
"""Most characters of one text that are stored; head and tail are kept."""


CALLS_UNKNOWN = "calls_unknown"
"""What is noted where an agent CLI's transcript does not say which tools were called."""


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: float = Field(ge=0, description="Seconds since the attempt started.")
    turn: int = Field(ge=0, description="Turn the event belongs to; 0 is before the first model call.")


class Equipped(_Event):
    """What an arm brought was started: its tool servers, its agent CLI."""

    kind: Literal["equipped"] = "equipped"
    servers: dict[str, str] = Field(
        default_factory=dict, description="What each server really is (name, version), by the name the arm has for it."
    )
    offered: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Names of the tools offered of each server, as the model sees them."
    )
    agent: str | None = Field(
        default=None, description="Name and version of the agent CLI; None for the built-in loop."
    )
    seconds: float = Field(description="What starting them took; not charged to the attempt.")


class Started(_Event):
    """The world is open and the first request is about to be made.

    `opening` is the whole of what could set two arms apart; it is stored once, by `first_request_sha256`, not in the event.
    """

    kind: Literal["started"] = "started"
    system_prompt: str
    task: str
    tools: tuple[str, ...]
    first_request_sha256: str
    opening: dict[str, Any] | None = Field(default=None, exclude=True)


class Replied(_Event):
    """A model reply, with its usage as the provider counted it."""

    kind: Literal["replied"] = "replied"
    text: str
    text_size: int
    tool_calls: tuple[dict[str, str], ...] = Field(description="id, name, raw_arguments of each call.")
    input_uncached: int | None
    input_cached: int | None
    cache_write: int | None
    output: int | None
    reasoning: int | None
    cost_usd: float | None
    raw_usage: dict[str, Any]
    seconds: float
    waited_seconds: float = Field(description="Time spent waiting for retries; not charged to the wall clock.")
    finish_reason: str | None = None

    @property
    def billed(self) -> int | None:
        """Billed tokens, input plus output, each once; None when the provider did not count them."""
        if self.input_uncached is None or self.output is None:
            return None
        return self.input_uncached + (self.input_cached or 0) + (self.cache_write or 0) + self.output


class Decided(_Event):
    """A policy had something to say about a call."""

    kind: Literal["decided"] = "decided"
    call_id: str
    policy_id: str
    action: Literal["block", "warn", "fail", "got_past"]
    detail: str


NO_TOOL, NOT_RUN = "There is no tool ", "Not run: "
"""What the answer to a call begins with that names no tool of the arm's, or that came when the attempt had ended."""


class Answered(_Event):
    """The one result of one tool call.

    `restored` names protected paths it changed that were put back; `limit` the limit of the sandbox that was met.
    """

    kind: Literal["answered"] = "answered"
    call_id: str
    tool: str
    arguments: dict[str, Any] | None = Field(description="None when the arguments could not be read.")
    ok: bool
    text: str
    text_size: int
    seconds: float
    exit_code: int | None = None
    timed_out: bool = False
    restored: tuple[str, ...] = ()
    limit: str | None = None


class Noted(_Event):
    """Something a reader of the transcript should know: a retry, a flag, a limit that was hit."""

    kind: Literal["noted"] = "noted"
    what: str
    detail: str


class Ended(_Event):
    """How the attempt ended."""

    kind: Literal["ended"] = "ended"
    ending: str
    cause: str
    detail: str


Event = Annotated[Equipped | Started | Replied | Decided | Answered | Noted | Ended, Field(discriminator="kind")]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def cap_text(text: str, cap: int = TEXT_CAP) -> str:
    """Head and tail of a text that is longer than `cap` characters, with the number left out between them."""
    if len(text) <= cap:
        return text
    half = cap // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
