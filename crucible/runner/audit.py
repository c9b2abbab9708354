"""After an attempt: what of it got past a rule, what the sandbox refused, each named with the policy and the call.

The change is taken by us and compares content, kind and mode of every file with the fixture, ignored and untracked
ones too, so what is protected here was looked at by hash, whatever the agent's git says.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from crucible.policy.protection import Protection
from crucible.runner.prepare import Prepared
from crucible.runner.recorder import Recorder
from crucible.scenario.schema import PATH_ARGUMENT, READING_TOOLS
from crucible.transcript.events import Answered, Decided, Noted
from crucible.world.types import Change, World

MOST_CHARS = 2000
"""Characters of one line of output that are read as a message."""
MOST_NAMED = 5
"""Paths named in one decision; the rest are counted."""
_REFUSED = re.compile(r"Read-only file system|protected, cannot be written|Device or resource busy", re.IGNORECASE)
_PRINTED_BEFORE = re.compile(r"^(?:[^\s:]+:\d+[:-]\s?|\s*\d+(?:[\t|:]|→|  )|[+-])")
"""What a search, a numbered listing or a diff puts before a line."""
_NAMED = re.compile(
    r"[\"'‘“](?P<quoted>[^\"'’”\n]+)[\"'’”]"  # noqa: RUF001 - quotes as programs print them
    r"|(?P<before>[^:\s]+): (?:Read-only|Device or|protected)"
    r"|(?P<word>[\w.@+~-]*[/.][\w./@+~-]*)",
    re.IGNORECASE,
)
"""What in a message may be a path: something in quotes, the word before the reason, a word with a slash or a dot."""


def audit(protection: Protection, change: Change, record: Recorder) -> None:
    """Record a decision for everything a policy forbids that was tried and refused, put back, or found at the end."""
    calls = [event for event in record.events if isinstance(event, Answered)]
    decided = {(e.call_id, e.policy_id) for e in record.events if isinstance(e, Decided) and e.action != "warn"}
    for call in calls:
        for policy, path in _refusals(call, protection):
            if (call.call_id, policy) not in decided:
                record(_decision(call, policy, "block", f"{path}: refused by the sandbox, which holds it read-only"))
        for policy, paths in _by_policy(call.restored, protection).items():
            record(_decision(call, policy, "got_past", f"{_named(paths)} changed by this call and put back after it"))
    for culprit, policy, paths in _left(protection, change, calls):
        detail = f"{_named(paths)} changed although protected; grading takes it from the fixture"
        record(_decision(culprit, policy, "got_past", detail))


def note_world(world: World, record: Recorder) -> None:
    """Record what only the world knows at its end: limits no call was told of, processes that outlived the attempt."""
    at, turn = (record.events[-1].at, record.events[-1].turn) if record.events else (0.0, 0)
    told = {event.limit for event in record.events if isinstance(event, Answered)}
    for limit in world.limits_hit:
        if limit not in told:
            record(Noted(at=at, turn=turn, what="limit", detail=limit))
    if world.survivors:
        record(Noted(at=at, turn=turn, what="survivor", detail=", ".join(world.survivors)))


def in_fixture(prepared: Prepared) -> Callable[[str], bool]:
    """Whether a line, as a tool prints it (with a file's name or a number before it), stands in the fixture."""

    def holds(line: str) -> bool:
        wanted = _PRINTED_BEFORE.sub("", line).strip().encode("utf-8", "replace")
        return any(wanted in (prepared.before(path) or b"") for path in prepared.snapshot.files)

    return holds


def _left(
    protection: Protection, change: Change, calls: list[Answered]
) -> Iterator[tuple[Answered | None, str, list[str]]]:
    """What is changed at the end although protected, with the call that did it as far as can be told."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    culprits: dict[str, Answered | None] = {}
    for policy, paths in _by_policy(sorted(change.paths), protection).items():
        for path in paths:
            culprit = _culprit(path, calls)
            key = culprit.call_id if culprit else ""
            culprits[key] = culprit
            found[key, policy].append(path)
    for (key, policy), paths in found.items():
        yield culprits[key], policy, paths


def _by_policy(paths: Iterable[str], protection: Protection) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        if (policy := protection.by(path)) is not None:
            found.setdefault(policy, []).append(path)
    return found


def _culprit(path: str, calls: list[Answered]) -> Answered | None:
    """The last call that could write and whose arguments name the path, else its name, else the last command."""
    able = [call for call in calls if call.arguments is not None and call.tool not in READING_TOOLS]
    said = [json.dumps(call.arguments, ensure_ascii=False) for call in able]
    for name in (path, path.rpartition("/")[2]):
        if named := [call for call, text in zip(able, said, strict=True) if name in text]:
            return named[-1]
    commands = [call for call in able if call.tool == "bash"]
    return commands[-1] if commands else None


def _refusals(call: Answered, protection: Protection) -> Iterator[tuple[str, str]]:
    """Policies whose protected paths a call was kept from writing, each once, with the path as it is named there."""
    seen: set[str] = set()
    for line in call.text.splitlines() if _REFUSED.search(call.text) else ():
        for path in _paths(line[:MOST_CHARS], call) if _REFUSED.search(line[:MOST_CHARS]) else ():
            policy = protection.by(path)
            if policy is not None and policy not in seen:
                seen.add(policy)
                yield policy, path


def _paths(line: str, call: Answered) -> Iterator[str]:
    """What may be the path a refusal is about: the call's own, else what the message names."""
    own = (call.arguments or {}).get(PATH_ARGUMENT)
    if isinstance(own, str):
        yield own
    for found in _NAMED.finditer(line):
        yield (found["quoted"] or found["before"] or found["word"]).strip()


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more


def _decision(call: Answered | None, policy: str, action: Literal["block", "got_past"], detail: str) -> Decided:
    turn, at, call_id = (call.turn, call.at, call.call_id) if call else (0, 0.0, "")
    return Decided(at=at, turn=turn, call_id=call_id, policy_id=policy, action=action, detail=detail)
