"""What the loopback server can be told to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """The usage of one answer, in tokens. Cached and cache-written ones are part of the prompt's, reasoning ones of the
    completion's. A count that is None is left out."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The `usage` object of chat completions."""
        prompt = known(cached_tokens=self.cached_tokens, cache_write_tokens=self.cache_write_tokens)
        completion = known(reasoning_tokens=self.reasoning_tokens)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            **({"prompt_tokens_details": prompt} if prompt else {}),
            **({"completion_tokens_details": completion} if completion else {}),
        }


def known(**counts: int | None) -> dict[str, int]:
    """Those of the counts that are not None."""
    return {name: count for name, count in counts.items() if count is not None}


SOME = Counts(prompt_tokens=100, completion_tokens=10)
"""The usage of an answer that says nothing about it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A plain reply. `usage=None` leaves the usage out, as some servers do. `finish_reason` is in chat's words."""

    text: str | None
    usage: Counts | None = SOME
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Calls:
    """A reply with tool calls: (name, arguments), arguments as an object or as the raw text to send.

    `ids` are the call ids to send, None for an id left empty; without it they are unique over the server's life.
    """

    calls: Sequence[tuple[str, Mapping[str, Any] | str]]
    text: str = ""
    usage: Counts | None = SOME
    ids: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error. `retry_after` is sent as the header: seconds, or text such as an HTTP date."""

    code: int
    retry_after: float | str | None = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Half a reply, then the connection is closed."""


@dataclass(frozen=True, slots=True)
class Slow:
    """`then`, after `seconds`; closing the server ends the wait."""

    seconds: float
    then: Answer


Answer = Text | Calls | Status | Cut | Slow
Take = Callable[[dict[str, Any]], Answer]
Script = Sequence[Answer] | Take
"""Answers in order, or a function from the request's body to its answer; it is called by one thread at a time.

The body is that of the dialect the client speaks, with its `model` where a dialect has it in the path (Gemini).
"""


def offers_tools(request: dict[str, Any]) -> bool:
    """Whether a request, of any dialect, offers the model tools. An agent's real work does; its side calls do not."""
    return bool(request.get("tools"))


def for_agent(script: Script, side: Answer = Text("loopback")) -> Take:
    """A script for an agent CLI: `script` answers the requests that offer tools, `side` all others."""
    take = as_function("", script)
    return lambda request: take(request) if offers_tools(request) else side


def as_function(model: str, script: Script) -> Take:
    """The script as a function; it answers with an error once its answers have run out."""
    if callable(script):
        return script
    answers, used, lock = iter(script), len(script), threading.Lock()
    spent = failure(400, f"the loopback script{f' of {model}' if model else ''} has run out after {used} answers")

    def take(_request: dict[str, Any]) -> Answer:
        with lock:
            return next(answers, spent)

    return take


def failure(code: int, message: str) -> Status:
    """An error of the server itself, in a shape that the clients of every dialect read."""
    return Status(code, body={"type": "error", "error": {"message": message, "type": "loopback", "code": None}})
