"""The words of a conversation between a model and its tools, free of any provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it. `parameters` is a JSON Schema object; `writes` marks tools that change files."""

    name: str
    description: str
    parameters: dict[str, Any]
    writes: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asked for. `raw_arguments` is the text as it came; it may not be JSON at all."""

    id: str
    name: str
    raw_arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. A tool message answers exactly one call id."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; every field is a count or None when the provider did not say.

    `input_uncached + input_cached + cache_write` is the whole input; `reasoning` is part of `output`.
    `scripted` marks counts a scripted model made up from text length: a rehearsal, never a measurement.
    """

    input_uncached: int | None = None
    input_cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    scripted: bool = False
    raw: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def total(self) -> int | None:
        """Billed tokens, input plus output, each once; None when input or output is unknown."""
        if self.input_uncached is None or self.output is None:
            return None
        return self.input_uncached + (self.input_cached or 0) + (self.cache_write or 0) + self.output
