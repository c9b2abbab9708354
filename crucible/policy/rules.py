"""Rules on tool calls: which policies a call meets, and what is done about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crucible.policy.paths import normalise, path_matches, text_matches
from crucible.scenario.schema import (
    PATH_ARGUMENT,
    TOOL_ARGUMENTS,
    WRITING_TOOLS,
    Enforcement,
    Matcher,
    Policy,
)

_STRENGTH: dict[Enforcement, int] = {"warn": 0, "block": 1, "fail": 2}


@dataclass(frozen=True, slots=True)
class Decision:
    """What one policy says of one call."""

    policy_id: str
    action: Enforcement
    rule: str
    detail: str

    def told(self) -> str:
        """What the agent reads instead of a result."""
        return f"Refused by policy {self.policy_id}: {self.rule} ({self.detail}). Nothing was done."


def decide(policies: Iterable[Policy], tool: str, arguments: Mapping[str, Any]) -> list[Decision]:
    """Every policy the call meets, strongest first; an empty list lets it through.

    Paths in `arguments` should already be resolved (links followed) by the world.
    """
    met = [
        Decision(policy.id, policy.enforcement, policy.rule, detail)
        for policy in policies
        if (detail := _meets(policy, tool, arguments)) is not None
    ]
    return sorted(met, key=lambda d: -_STRENGTH[d.action])


def _meets(policy: Policy, tool: str, arguments: Mapping[str, Any]) -> str | None:
    for matcher in policy.matchers:
        if applies_to(matcher, tool) and matcher.arg_key in arguments:
            value = arguments[matcher.arg_key]
            if holds(matcher, value):
                return f"{matcher.arg_key} {describe(matcher)}"
    return None


def applies_to(matcher: Matcher, tool: str) -> bool:
    """A path matcher on one writing tool is about every writing tool."""
    return tool == matcher.tool or (guards_path(matcher) and tool in WRITING_TOOLS)


def guards_path(matcher: Matcher) -> bool:
    """Whether the matcher protects files: a condition on the path of a writing tool."""
    return matcher.tool in WRITING_TOOLS and matcher.arg_key == PATH_ARGUMENT


def holds(matcher: Matcher, value: object) -> bool:
    """Whether the matcher's condition is true of an argument's value."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    if matcher.arg_key != PATH_ARGUMENT or matcher.tool not in TOOL_ARGUMENTS:
        return text_matches(matcher.op, matcher.value, text) is not matcher.not_
    path = normalise(text)
    if path is None:
        return False  # outside the workspace: the world refuses it whatever the rules say
    return path_matches(matcher.op, matcher.value, path, exact_case=matcher.not_) is not matcher.not_


def describe(matcher: Matcher) -> str:
    """The condition in words."""
    words = matcher.op.replace("_", " ")
    return f"{'not ' if matcher.not_ else ''}{words} {matcher.value!r}"
