"""The formats there are readers for, what each carries, and which one some output is of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from crucible.errors import UsageError, nearest
from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import (
    claude,
    codex,
    gemini,
    mini_swe,
    openai_chat,
    openai_responses,
    openhands,
    otel,
    tool_names,
)
from crucible.transcript.readers.scan import Scan

_HEAD: Final = 200


class ReadError(UsageError):
    """What was asked for cannot be read at all: an unknown format name, or output that is of several formats."""


class Carries(StrEnum):
    """What a format may say of a run."""

    TOOLS = "tool calls"
    ORDER = "the order of tool calls"
    ARGUMENTS = "tool arguments"
    RESULTS = "tool results"
    TEXT = "the final answer"
    TOKENS = "token usage"
    COST = "the cost"
    TURNS = "the number of turns"
    SUBAGENTS = "the calls of sub-agents"


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `sometimes` is what it carries only if the agent recorded it. `instead` says how to
    make the same agent say more; empty where it cannot."""

    name: str
    title: str
    carries: frozenset[Carries]
    sometimes: frozenset[Carries]
    instead: str
    claims: Callable[[Any], bool]
    read: Callable[[Scan, int | None], NeutralRun]


_C: Final = Carries
_CALLS: Final = (_C.TOOLS, _C.ORDER, _C.ARGUMENTS, _C.RESULTS, _C.TEXT)


def _format(
    name: str,
    title: str,
    module: tuple[Callable[[Any], bool], Callable[[Scan, int | None], NeutralRun]],
    carries: tuple[Carries, ...],
    instead: str,
    sometimes: tuple[Carries, ...] = (),
) -> Format:
    return Format(name, title, frozenset(carries), frozenset(sometimes), instead, *module)


_ALL: Final = (
    _format(
        "claude-stream",
        "Claude Code --output-format stream-json --verbose",
        (claude.claims_stream, claude.read_stream),
        (*_CALLS, _C.TOKENS, _C.COST, _C.TURNS, _C.SUBAGENTS),
        "",
    ),
    _format(
        "claude-json",
        "Claude Code --output-format json",
        (claude.claims_result, claude.read_result),
        (_C.TEXT, _C.TOKENS, _C.COST, _C.TURNS),
        "run with --output-format stream-json --verbose",
    ),
    _format(
        "codex",
        "codex exec --json",
        (codex.claims, codex.read),
        (*_CALLS, _C.TOKENS, _C.TURNS),
        "",
    ),
    _format(
        "gemini-stream",
        "Gemini CLI --output-format stream-json",
        (gemini.claims_stream, gemini.read_stream),
        (*_CALLS, _C.TOKENS),
        "",
    ),
    _format(
        "gemini-json",
        "Gemini CLI --output-format json",
        (gemini.claims_json, gemini.read_json),
        (_C.TOOLS, _C.TEXT, _C.TOKENS),
        "run with --output-format stream-json",
    ),
    _format(
        "mini-swe-agent",
        "mini-swe-agent .traj.json",
        (mini_swe.claims, mini_swe.read),
        (_C.TEXT, _C.COST, _C.TURNS),
        "",
        (_C.TOOLS, _C.ORDER, _C.ARGUMENTS, _C.RESULTS),
    ),
    _format(
        "openhands",
        "OpenHands --headless --json",
        (openhands.claims, openhands.read),
        _CALLS,
        "",
    ),
    _format(
        "openai-chat",
        "OpenAI chat messages",
        (openai_chat.claims, openai_chat.read),
        _CALLS,
        "",
        (_C.TOKENS,),
    ),
    _format(
        "openai-responses",
        "OpenAI Responses output",
        (openai_responses.claims, openai_responses.read),
        _CALLS,
        "",
        (_C.TOKENS,),
    ),
    _format(
        "otel",
        "OpenTelemetry GenAI spans, OTLP JSON",
        (otel.claims, otel.read),
        (),
        "",
        (*_CALLS, _C.TOKENS, _C.SUBAGENTS),
    ),
    _format(
        "tool-names",
        'an object with "tools", the names called, and "result"',
        (tool_names.claims, tool_names.read),
        (_C.TOOLS, _C.ORDER),
        "",
        (_C.ARGUMENTS, _C.RESULTS, _C.TEXT, _C.COST, _C.TURNS),
    ),
)

FORMATS: Final[Mapping[str, Format]] = MappingProxyType({known.name: known for known in _ALL})
"""Every format by its name."""


def named(name: str) -> Format:
    """The format of that name; ReadError with the nearest when there is none."""
    if name not in FORMATS:
        raise ReadError(f"no transcript format {name!r}{nearest(name, FORMATS)}", hint=f"known: {', '.join(FORMATS)}")
    return FORMATS[name]


def require(name: str, what: Carries) -> None:
    """Nothing, if a format can carry that; else a UsageError that says what to run instead.

    A check that asks for what a format never carries would be green for every run.
    """
    known = named(name)
    if what not in known.carries | known.sometimes:
        also = [other.name for other in _ALL if what in other.carries]
        instead = known.instead or f"formats that carry it: {', '.join(also)}"
        raise UsageError(f"{name} carries no {str(what).removeprefix('the ')}; {instead}")


def candidates(scan: Scan) -> tuple[str, ...]:
    """The formats some output may be of, by its first values. One is an answer; more are an ambiguity."""
    head = list(islice(scan, _HEAD))
    found = [known.name for known in _ALL if any(known.claims(value) for value in head)]
    if "claude-stream" in found and "claude-json" in found:
        # The stream's last event is all that the other format is.
        found.remove("claude-json")
    return tuple(found)
