"""How a tool call went, in a sign and a few words: every page says it the same way. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from crucible.transcript.events import NO_TOOL, NOT_RUN

Kind = Literal["ok", "failed", "refused", "unread"]
"""It did what it was asked; it did not; a policy refused it, or part of it; it was not understood, or not run any more."""
_SIGNS: Final[dict[Kind, str]] = {"ok": "✓", "failed": "✗", "refused": "⊘", "unread": "?"}
_UNREAD: Final = ((NO_TOOL, "no such tool"), (NOT_RUN, "not run any more"))
"""What an answer to a call that was not run begins with, and what it means. All others are about the arguments."""


class Call(Protocol):
    """A call and its result. `arguments` is None for one that was not run, of which `text` says why."""

    @property
    def arguments(self) -> Any: ...
    @property
    def ok(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def limit(self) -> str | None: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Went:
    """How a call went."""

    kind: Kind
    words: str

    @property
    def sign(self) -> str:
        """The kind as a shape, for those who see no colours."""
        return _SIGNS[self.kind]


def went(call: Call, refused: str | None = None) -> Went:
    """`refused` names the policy that refused the call, or part of what it did."""
    if refused is not None:
        code = "" if call.exit_code is None else f", exit code {call.exit_code}"
        return Went("refused", f"refused by {refused}{code}")
    if call.arguments is None and not call.ok:
        return Went("unread", _why_unread(call.text))
    return Went("ok" if call.ok and not _stopped(call) and not call.exit_code else "failed", _words(call))


def _stopped(call: Call) -> bool:
    return call.limit is not None or call.timed_out


def _words(call: Call) -> str:
    if call.limit is not None:
        return f"stopped at the limit of {call.limit.replace('_', ' ')}"
    if call.timed_out:
        return "timed out"
    if call.exit_code is not None and (call.ok or call.exit_code):
        return f"exit code {call.exit_code}"
    return "ok" if call.ok else "error"


def _why_unread(text: str) -> str:
    return next((meaning for start, meaning in _UNREAD if text.startswith(start)), "arguments could not be read")
