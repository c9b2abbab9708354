"""A server's tool names and the scenario's: calls are renamed to be compared, and shown under their own name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crucible.scoring.trajectory.difference import Difference
from crucible.transcript.neutral import NeutralCall


def same_tool(asked: str, called: str) -> bool:
    """Whether a called tool is the one a scenario names: the same name, or that name of some server's."""
    return asked == called or called.endswith((f"__{asked}", f".{asked}", f"/{asked}", f":{asked}"))


def called_as(asked: Sequence[str], calls: Iterable[NeutralCall]) -> set[str]:
    """The names among the called ones that stand for a tool that is asked for."""
    return {called for called in {call.tool for call in calls} if any(same_tool(tool, called) for tool in asked)}


def renamed(calls: Sequence[NeutralCall], asked: Iterable[str]) -> list[NeutralCall]:
    """The calls, each under the name the scenario asks for it by, if it asks for it."""
    names = tuple(dict.fromkeys(asked))
    known = {tool: _asked(tool, names) for tool in {call.tool for call in calls}}
    return [call if known[call.tool] == call.tool else replace(call, tool=known[call.tool]) for call in calls]


def _asked(called: str, names: tuple[str, ...]) -> str:
    return called if called in names else next((name for name in names if same_tool(name, called)), called)


def original(difference: Difference | None, calls: Sequence[NeutralCall]) -> Difference | None:
    """The difference with the call as it was made."""
    if difference is None or difference.actual_at is None:
        return difference
    return replace(difference, actual=calls[difference.actual_at])
