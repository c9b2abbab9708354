"""What makes the arms of a scenario wrong, and the tool servers it defines for them, though every field is right by itself."""

from __future__ import annotations

from collections.abc import Iterator

from crucible.errors import nearest
from crucible.scenario.tree import Finding, Loc, Tree, dotted
from crucible.scenario.words import shown

ARMS: Loc = ("arms",)
_SERVERS: Loc = ("servers",)


def check_arms(tree: Tree) -> Iterator[Finding]:
    """Every such problem, with its line."""
    arms = tree.items(ARMS)
    if isinstance(tree.value(ARMS), tuple) and len(arms) != 2:
        yield tree.line(ARMS), f"arms must be exactly two, got {len(arms)}"
    marked = [loc for arm in arms if tree.value(loc := (*arm, "baseline")) is True]
    for loc in marked[1:]:
        yield tree.line(loc), f"only one arm can be the baseline, line {tree.line(marked[0])} marks one too"
    for arm in arms:
        yield from _agent(tree, arm)
        yield from _named_twice(tree, arm)
    yield from _servers(tree)


def named_servers(tree: Tree) -> list[str]:
    """Names of the tool servers that arms have."""
    return [name for arm in tree.items(ARMS) for _, name in _extra_tools(tree, arm)]


def _extra_tools(tree: Tree, arm: Loc) -> list[tuple[Loc, str]]:
    named = [(loc, tree.text(loc)) for loc in tree.items((*arm, "extra_tools"))]
    return [(loc, name) for loc, name in named if name is not None]


def _agent(tree: Tree, arm: Loc) -> Iterator[Finding]:
    agent, protocol, command = (*arm, "agent"), (*arm, "tool_protocol"), (*arm, "agent", "command")
    if tree.keys(agent) and tree.value(protocol) == "json":
        whose = f"the agent of line {tree.line(agent)} asks its model itself"
        yield (
            tree.line(protocol),
            f"{dotted(protocol)}: json is for Crucible's own loop, and {whose}; delete one of them",
        )
    yield from _empty(tree, command)


def _named_twice(tree: Tree, arm: Loc) -> Iterator[Finding]:
    seen: set[str] = set()
    for loc, name in _extra_tools(tree, arm):
        if name in seen:
            yield tree.line(loc), f"{dotted((*arm, 'extra_tools'))} names {shown(name)} twice"
        seen.add(name)


def _servers(tree: Tree) -> Iterator[Finding]:
    """A server that nobody uses is most often a misspelt one. One that is used and not defined may be in crucible.toml."""
    defined, named = tree.keys(_SERVERS), named_servers(tree)
    for name in defined:
        loc = (*_SERVERS, name)
        if name not in named:
            others = sorted({other for other in named if other not in defined})
            advice = nearest(name, others) or "; name it there, or delete it"
            yield tree.line(loc), f"no arm has the tool server {shown(name)} in its extra_tools{advice}"
        for command in tree.items((*loc, "prepare")):
            yield from _empty(tree, command)


def _empty(tree: Tree, command: Loc) -> Iterator[Finding]:
    if tree.value(command) == ():
        yield tree.line(command), f"{dotted(command)} is empty; a command has at least a program"
