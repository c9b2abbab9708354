"""Which tools of which servers are offered, and by what names.

The name of a tool is `<server>__<tool>`; policies, scenarios and people use that one. A provider takes letters, digits,
`_` and `-`, up to 64 of them, the first no digit or `-`: where a name is not like that, the model sees another one made
of it. No two tools have one name, and the same tools have the same names in every attempt.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.schemas import SchemaError, sendable
from crucible.errors import HarnessError, nearest
from crucible.redaction import redact
from crucible.servers import SEPARATOR, safe_name
from crucible.transcript.events import cap_text
from crucible.transcript.messages import ToolSpec

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 8 * 1024
"""Characters of a tool's description that are sent."""
_HASH = 8


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that is offered: how the model sees it, its server, and the server's own name for it."""

    spec: ToolSpec
    server: str
    tool: str

    @property
    def plain(self) -> str:
        """The name that policies use."""
        return f"{self.server}{SEPARATOR}{self.tool}"


def offered(listed: Iterable[tuple[ServerPlan, list[dict[str, Any]]]], taken: Collection[str]) -> list[Offered]:
    """The tools that are offered, by server in the order given, then by name. `taken`: names of other tools.

    Raises HarnessError for a server that has none, that lists one twice, whose plan allows or denies one it does not
    have, or one of whose schemas cannot be sent.
    """
    chosen = [(plan, tool) for plan, tools in listed for tool in chosen_of(plan, tools)]
    names = safe_names([(plan.name, tool["name"]) for plan, tool in chosen], taken)
    return [
        Offered(_spec(plan.name, name, tool), plan.name, tool["name"])
        for (plan, tool), name in zip(chosen, names, strict=True)
    ]


def chosen_of(plan: ServerPlan, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools of one server that its plan lets through, by name. Raises HarnessError; see offered."""
    counts = Counter(tool["name"] for tool in tools)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise HarnessError(f"tool server {plan.name} lists {twice[0]!r} twice")
    if not tools:
        raise HarnessError(f"tool server {plan.name} lists no tools")
    for word, names in (("allow", plan.allow), ("deny", plan.deny)):
        for name in names:
            if name not in counts:
                raise HarnessError(
                    f"tool server {plan.name} has no tool {name!r}, which `{word}` names{nearest(name, counts)}",
                    hint=f"it has {', '.join(sorted(counts))}",
                )
    left = [t for t in tools if (not plan.allow or t["name"] in plan.allow) and t["name"] not in plan.deny]
    if not left:
        raise HarnessError(f"tool server {plan.name} is left with no tools by `allow` and `deny`")
    return sorted(left, key=lambda tool: str(tool["name"]))


def safe_names(tools: list[tuple[str, str]], taken: Collection[str]) -> list[str]:
    """A name for each (server, tool), all different and none of those taken.

    Of tools whose names would be the same, the one that has it by right keeps it; the others get a hash at the end.
    """
    plain = [f"{server}{SEPARATOR}{tool}" for server, tool in tools]
    simple = [_simple(name) for name in plain]
    count = Counter(simple)
    by_right: set[str] = set()
    names = []
    for (server, tool), name, safe in zip(tools, plain, simple, strict=True):
        first = name == safe and safe not in by_right
        if safe not in taken and (count[safe] == 1 or first):
            by_right.add(safe)
            names.append(safe)
        else:
            names.append(_hashed(safe, f"{server}\0{tool}"))
    return names


def renamed(tools: Iterable[Offered]) -> Mapping[str, tuple[str, ...]]:
    """The names the model sees, by the name that policies use, of the tools for which they differ."""
    seen: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        seen[tool.plain] = (*seen.get(tool.plain, ()), tool.spec.name)
    return {plain: names for plain, names in seen.items() if names != (plain,)}


def _simple(name: str) -> str:
    safe = safe_name(name)
    safe = safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}"
    return safe if len(safe) <= LONGEST_NAME else _hashed(safe, name)


def _hashed(safe: str, of: str) -> str:
    digest = hashlib.sha256(of.encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{safe[: LONGEST_NAME - _HASH - 1]}_{digest}"


def _spec(server: str, name: str, tool: dict[str, Any]) -> ToolSpec:
    description = tool.get("description") or tool.get("title") or ""
    annotations = tool.get("annotations")
    reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    try:
        schema = sendable(tool.get("inputSchema"))
    except SchemaError as error:
        raise HarnessError(
            f"tool server {server}: the input schema of {tool['name']!r} cannot be sent: {error}",
            hint=f"leave the tool out: deny: [{tool['name']}]",
        ) from error
    told = cap_text(redact(str(description)), LONGEST_DESCRIPTION)
    return ToolSpec(name, told, json.loads(redact(json.dumps(schema))), writes=not reads)
