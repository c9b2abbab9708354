"""What is asked of a model and what comes back, free of any provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from crucible.transcript.messages import Message, ToolCall, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Request:
    """One model call. `response_schema` asks for a JSON object of that schema; `timeout` is in seconds for one try."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    response_schema: dict[str, Any] | None = None
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One model reply. `seconds` is the time of the try that answered; `waited` what went on failed tries and waiting."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    finish_reason: str | None
    seconds: float
    waited: float = 0.0


class Model(Protocol):
    """Anything that answers requests. `name` is what a user calls it."""

    name: str

    async def complete(self, request: Request) -> Reply:
        """Answer a request. Raises ProviderError when no answer could be had within the retries allowed."""

    def price_known(self) -> bool:
        """Whether a call's cost can be told."""

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call of that size costs at most, in US dollars; None when the price is unknown."""

    def estimate_tokens(self, request: Request) -> int:
        """A cheap upper guess of the input tokens of a request."""
