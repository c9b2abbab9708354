"""What the proxy tells of each model call, and of the provider's failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucible.errors import ProviderError
from crucible.llm.dialects import Dialect
from crucible.transcript.messages import ToolCall, Usage

HUNG_UP = "the agent hung up"
"""The `error` of an exchange whose reply the agent did not wait for, or was ended before it came."""


UNKNOWN = Usage()
"""Nothing was counted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A model request as the agent made it. `body` is its JSON, no key in it; `number` counts model calls from 1.

    `model` is the name on the wire, "" where the request has none. `streamed`: whether it asks for a stream of events.
    """

    number: int
    dialect: Dialect
    model: str
    body: dict[str, Any]
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """One model call: what was asked, and what came back or why nothing did.

    `usage` is the provider's own count, read from the wire, with `cost_usd`; what it did not say is None, and so is the
    output of a reply that broke off. `cost_usd` is None too where the provider bills more than tokens (a web search).
    `text` is without the model's thinking. `seconds`: from asking the provider to the end of its reply. `status`: what
    the provider answered, None when it did not. `error`: why there is no whole reply (the provider's words, a broken
    stream, HUNG_UP, or the refusal), None when there is one. `refused`: the budget did not allow it; nobody was asked.
    `answered_by`: the model that the reply names. `notes`: what the proxy did to the request, for people.
    """

    asked: Asked
    status: int | None
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = UNKNOWN
    seconds: float = 0.0
    finish_reason: str | None = None
    answered_by: str | None = None
    error: str | None = None
    refused: bool = False
    notes: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Counts model calls from 1, in the order of arrival."""
        return self.asked.number

    @property
    def answered(self) -> bool:
        """Whether a whole reply came."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class Trouble:
    """The provider's failures so far. `last` is the latest, as an error to raise.

    `failures` and `answered` count calls; `since` those answered after the last failure, so 0 means that the provider's
    last word was no. A call that was refused for the budget, or that the agent broke off, is neither.
    """

    last: ProviderError
    failures: int
    answered: int
    since: int
