"""Which differences between two arms' openings somebody declared.

Arms may differ in what the scenario says of each: the model and the protocol it is asked in, the system prompt, the
tools of the servers that only one of them names, the agent. Everything else must be the same to the letter. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from crucible.scenario.schema import Arm
from crucible.servers import SEPARATOR, safe_name, starts_by_agents
from crucible.transcript.differing import Part

LONGEST_START = 55
"""Characters of a tool's name that are surely its own where a provider takes no longer one than 64."""
SURROUNDINGS = ("sandbox", "network", "protected", "variables", "python", "toolchain")
"""What an opening's environment says of the world: the same for every arm. The rest of it is of the arm's own tooling."""
SHOWN = "shown"
"""Folders of the machine that an attempt sees: where its servers and its agent are installed."""


def undeclared(parts: Iterable[Part], arms: tuple[Arm, Arm], *, without_extra_tools: bool = False) -> tuple[Part, ...]:
    """The parts that no declaration of these two arms explains. Both are to carry the model that was really asked."""
    one, other = (_as_run(arm, without_extra_tools) for arm in arms)
    return tuple(part for part in parts if not _declared(part, one, other))


def belongs(tool: str, servers: Iterable[str], *, by_agent: bool = False) -> str | None:
    """Which of these servers a tool is of, by its name as a model sees it; None when it is of none of them.

    Agents write the names of such tools in ways of their own: `asd__find`, `mcp__asd__find`. `by_agent`: it was an agent
    CLI that told its model, which may also write `mcp_asd_find`, `asd_find` or `asd.find`.
    """
    bare = tool.removeprefix(f"mcp{SEPARATOR}")
    found = [
        name
        for name in servers
        if bare.startswith(_starts(name)) or (by_agent and tool.startswith(starts_by_agents(name)))
    ]
    return max(found, key=len, default=None)


def _starts(server: str) -> tuple[str, str]:
    """How the names of a server's tools begin: as it is called, and as providers take it, cut where that is too long."""
    safe = safe_name(server)
    return f"{server}{SEPARATOR}", f"{safe if safe[0].isalpha() else f'_{safe}'}{SEPARATOR}"[:LONGEST_START]


def _as_run(arm: Arm, without: bool) -> Arm:
    return arm.model_copy(update={"extra_tools": ()}) if without else arm


def _declared(part: Part, one: Arm, other: Arm) -> bool:
    apart = set(one.extra_tools) ^ set(other.extra_tools)
    protocols = one.tool_protocol != other.tool_protocol
    match part.kind:
        case "model":
            return one.model != other.model or protocols or one.agent != other.agent
        case "system prompt":
            return one.system_prompt != other.system_prompt or _says_itself(one, other)
        case "task" | "order of tools":
            return _says_itself(one, other)
        case "parameter":
            return protocols or _says_itself(one, other)
        case "tool":
            return one.agent != other.agent or _of_one_arm(part, one, other)
        case "server":
            return part.name in apart
        case "environment":
            shown = part.name == SHOWN and bool(apart)
            return part.name not in SURROUNDINGS and (shown or _says_itself(one, other))
        case _:
            return False


def _says_itself(one: Arm, other: Arm) -> bool:
    """Whether an agent CLI has reason to begin in other words: it is another, or was given another model, prompt or server,
    which it tells its model in words of its own."""
    if one.agent is None and other.agent is None:
        return False
    mine, theirs = ((arm.agent, arm.model, arm.system_prompt, set(arm.extra_tools)) for arm in (one, other))
    return mine != theirs


def _of_one_arm(part: Part, one: Arm, other: Arm) -> bool:
    """A tool that only one arm has, of a server that only this arm names."""
    if part.side is None:
        return False
    mine, theirs = ((one, other), (other, one))[part.side]
    server = belongs(part.name, mine.extra_tools, by_agent=mine.agent is not None)
    return server is not None and server not in theirs.extra_tools
