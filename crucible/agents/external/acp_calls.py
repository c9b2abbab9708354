"""Tool calls as the Agent Client Protocol tells of them: begun, changed, answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crucible.agents.external.connections import our_name
from crucible.agents.external.naming import as_builtin
from crucible.policy.rules import Decision
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun

_ENDS = {"completed": True, "failed": False}


@dataclass
class _Call:
    tool: str = "other"
    arguments: dict[str, Any] | None = None
    paths: list[str] = field(default_factory=list)
    result: Any = None
    ok: bool | None = None
    refused: Decision | None = None


class Calls:
    """The calls so far, by id in the order they were begun, and what the agent said since the last of them.

    `decisions`: what forbade a call, by its number from 0.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = tuple(servers)
        self._calls: dict[str, _Call] = {}
        self._answer: list[str] = []
        self.decisions: dict[int, Decision] = {}

    def take(self, update: Any) -> None:
        """One update of a session, or the call a permission is asked for."""
        kind = getattr(update, "session_update", None)
        if kind == "agent_message_chunk":
            self._answer.append(str(getattr(update.content, "text", "") or ""))
        elif kind in ("tool_call", "tool_call_update") or hasattr(update, "tool_call_id"):
            self._take_call(update)

    def _take_call(self, update: Any) -> None:
        self._answer.clear()
        call = self._calls.setdefault(update.tool_call_id, _Call())
        call.tool = self._name(update) or call.tool
        if isinstance(update.raw_input, dict):
            call.arguments = {**(call.arguments or {}), **update.raw_input}
        if update.locations:
            call.paths = [location.path for location in update.locations]
        result = update.raw_output if update.raw_output is not None else _text(update.content)
        call.result = call.result if result is None else result
        call.ok = _ENDS.get(str(update.status), call.ok)

    def _name(self, update: Any) -> str | None:
        """A tool's name: where the agent tells it beside the protocol, that of a server's tool, else the kind of call."""
        meta = (update.field_meta or {}).get("claudeCode")
        said = meta.get("toolName") if isinstance(meta, dict) else None
        title = our_name(str(update.title or ""), self._servers)
        if isinstance(said, str) and said:
            return said
        if title != (update.title or ""):
            return title
        return str(update.kind) if update.kind else None

    def as_builtin(self, call_id: str) -> tuple[str, dict[str, Any], list[str]]:
        """A call as one of a built-in tool, and the paths it says it is about."""
        call = self._calls[call_id]
        tool, arguments = as_builtin(call.tool, call.arguments or {})
        return tool, arguments, call.paths

    def refuse(self, call_id: str, decision: Decision) -> None:
        """A policy forbade the call."""
        self._calls[call_id].refused = decision
        self.decisions[list(self._calls).index(call_id)] = decision

    def run(self, **ending: Any) -> NeutralRun:
        """The run that was told of, with how it ended."""
        calls = tuple(
            NeutralCall(
                tool=call.tool,
                args=UNKNOWN if call.arguments is None else call.arguments,
                ok=call.ok,
                result=call.result,
                executed=False if call.refused else call.ok is not None or None,
            )
            for call in self._calls.values()
        )
        return NeutralRun(calls=calls, final_text="".join(self._answer) or None, **ending)


def _text(content: Any) -> str | None:
    """The text of a call's content; of an edit, the path it is about."""
    parts = []
    for block in content or ():
        inner = getattr(block, "content", None)
        if (text := getattr(inner, "text", None)) is not None:
            parts.append(str(text))
        elif getattr(block, "type", None) == "diff":
            parts.append(f"[edit of {block.path}]")
    return "\n".join(parts) if parts else None
