"""One run of any agent, read from any format: what was called, what was answered, how it ended.

Three values are kept apart everywhere, because a check may only judge what is known:

    unknown   the format does not say                  `UNKNOWN` for arguments and text, None for lists and counts
    absent    the format says there is none            None for arguments, result and text
    empty     there is one and it is empty             `{}`, `()`, `""`, 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final, Literal, Self


class Unknown(Enum):
    """The type of `UNKNOWN`, so that a checker can tell it from a value."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN
"""What a format does not say. Not the same as None (there is none) and not the same as empty."""

UnknownValue = Literal[Unknown.UNKNOWN]
Arguments = Mapping[str, Any] | UnknownValue | None


@dataclass(frozen=True, slots=True)
class NeutralCall:
    """One tool call, in the order the calls were made.

    `args` is the object given, `{}` where none were needed, UNKNOWN where the format does not carry them, None where
    they were sent but are no JSON object; `raw_args` is then the text as it came.
    `ok` is False for a call that answered with an error, None where that is not known.
    `result` is what the tool answered, any JSON value; None when there is none or it is not known.
    `parent` is the id of the call that started the sub-agent which made this one; None for the agent itself.
    `executed` is False for a call that was asked for and never ran (refused, unreadable), None when not known.
    """

    tool: str
    args: Arguments = UNKNOWN
    ok: bool | None = None
    result: Any = None
    parent: str | None = None
    executed: bool | None = True
    raw_args: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the neutral JSON of one call (`name`, `args`, `result`, `is_error` and what is out of the ordinary)."""
        error = data.get("is_error")
        return cls(
            tool=data["name"],
            args=UNKNOWN if data.get("args_unknown") else data.get("args"),
            ok=None if error is None else not error,
            result=data.get("result"),
            parent=data.get("parent"),
            executed=data.get("executed", True),
            raw_args=data.get("args_raw"),
        )

    def to_json(self) -> dict[str, Any]:
        """The neutral JSON of this call; keys beyond the first four only where they say something."""
        out: dict[str, Any] = {
            "name": self.tool,
            "args": None if self.args is UNKNOWN else self.args,
            "result": self.result,
            "is_error": None if self.ok is None else not self.ok,
        }
        if self.args is UNKNOWN:
            out["args_unknown"] = True
        if self.args is None:
            out |= {"args_raw": self.raw_args, "args_error": True}
        if self.parent is not None:
            out["parent"] = self.parent
        if self.executed is not True:
            out["executed"] = self.executed
        return out


@dataclass(frozen=True, slots=True)
class NeutralTokens:
    """Token counts as the format counts them; None where it does not say.

    Whether `input` includes what was read from a cache is the format's own: it is for a limit, not for a bill.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None

    @property
    def total(self) -> int | None:
        """Input plus output; None when either is unknown."""
        return None if self.input is None or self.output is None else self.input + self.output

    def to_json(self) -> dict[str, int]:
        """The counts that are known."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: count for name, count in pairs if count is not None}


@dataclass(frozen=True, slots=True)
class NeutralRun:
    """One run of an agent.

    `calls` is None when the format does not carry them, `()` when none were made. `tool_counts` is how often each tool
    was called, for formats that say only that. `denied` lists calls known to have been refused while `calls` is None.
    `final_text` is the last answer: None when there was none, `""` when it was empty, UNKNOWN when not carried.
    `complete` is True when the agent ended its work by itself; `stop` is the format's word for how it ended.
    `valid` is False for a run that says nothing about the agent: never started, rate-limited, cut off. Such a run is
    neither green nor red. `turns`, `cost_usd` (US dollars), `seconds` (wall clock) and `tokens` are None when unknown.
    `errors` are messages about the run itself, not about one call.
    `reason` says in one line why `valid` is False. `cap` names the limit that ended the run: turns, spend, time, tokens
    or loop. `unseen` says why more calls may have been made than `calls` holds, so that a call which is not there has
    not been shown to be missing; None when all are there. `skipped_lines` counts the lines that were no JSON.
    """

    calls: tuple[NeutralCall, ...] | None
    final_text: str | UnknownValue | None = UNKNOWN
    complete: bool | None = None
    stop: str | None = None
    turns: int | None = None
    cost_usd: float | None = None
    tokens: NeutralTokens | None = None
    seconds: float | None = None
    valid: bool = True
    tool_counts: Mapping[str, int] | None = None
    denied: tuple[NeutralCall, ...] = ()
    scenario_id: str | None = None
    errors: tuple[str, ...] = ()
    reason: str | None = None
    cap: str | None = None
    unseen: str | None = None
    skipped_lines: int = 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the neutral JSON of a run; keys it does not know are left aside."""
        calls, tokens = data.get("tools"), data.get("tokens")
        return cls(
            calls=None if calls is None else tuple(map(NeutralCall.from_json, calls)),
            final_text=UNKNOWN if data.get("final_text_unknown") else data.get("final_text"),
            tokens=None if tokens is None else NeutralTokens(**tokens),
            denied=tuple(map(NeutralCall.from_json, data.get("denied", ()))),
            errors=tuple(data.get("errors", ())),
            **{name: data[name] for name in _PLAIN if name in data},
        )

    def to_json(self) -> dict[str, Any]:
        """The neutral JSON of this run; rarely used keys only where they say something."""
        out: dict[str, Any] = {
            "tools": None if self.calls is None else [call.to_json() for call in self.calls],
            "final_text": None if self.final_text is UNKNOWN else self.final_text,
            "complete": self.complete,
            "stop": self.stop,
            "turns": self.turns,
            "cost_usd": self.cost_usd,
            "tokens": None if self.tokens is None else self.tokens.to_json(),
            "valid": self.valid,
        }
        rare = {
            "final_text_unknown": True if self.final_text is UNKNOWN else None,
            "seconds": self.seconds,
            "tool_counts": None if self.tool_counts is None else dict(self.tool_counts),
            "denied": [call.to_json() for call in self.denied] or None,
            "scenario_id": self.scenario_id,
            "errors": list(self.errors) or None,
            "reason": self.reason,
            "cap": self.cap,
            "unseen": self.unseen,
            "skipped_lines": self.skipped_lines or None,
        }
        return out | {name: value for name, value in rare.items() if value is not None}


_PLAIN = (
    *("complete", "stop", "turns", "cost_usd", "seconds", "valid", "tool_counts", "scenario_id"),
    *("reason", "cap", "unseen", "skipped_lines"),
)
