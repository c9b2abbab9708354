"""What makes a scenario wrong though every field of it is right by itself.

These look at the parsed file, not at a `Scenario`, so that they also speak when some field elsewhere is wrong.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from crucible.errors import nearest
from crucible.scenario.arm_checks import ARMS, check_arms, named_servers
from crucible.scenario.schema import BUILTIN_TOOLS, PATH_ARGUMENT, TOOL_ARGUMENTS
from crucible.scenario.tree import Finding, Loc, Tree, dotted
from crucible.scenario.words import shown
from crucible.servers import SEPARATOR

WEIGHT_TOLERANCE = 0.001
_POLICIES, _DIMENSIONS = ("policies",), ("rubric", "dimensions")


def check(tree: Tree, path: Path, bench: Path) -> Iterator[Finding]:
    """Every such problem of the scenario file at `path`, each with its line. Looks at the bench folder's files."""
    yield from _name(tree, path)
    yield from _paths(tree, bench)
    yield from check_arms(tree)
    yield from _policies(tree)
    yield from _weights(tree)
    for locs, key, noun in (
        (tree.items(ARMS), "id", "arms"),
        (tree.items(_POLICIES), "id", "policies"),
        (tree.items(_DIMENSIONS), "name", "dimensions"),
    ):
        yield from _repeated(tree, [(*loc, key) for loc in locs], noun)


def _repeated(tree: Tree, locs: list[Loc], noun: str) -> Iterator[Finding]:
    first: dict[str, Loc] = {}
    for loc in locs:
        if (name := tree.text(loc)) is not None and first.setdefault(name, loc) is not loc:
            yield tree.line(loc), f"two {noun} are called {shown(name)}, the first on line {tree.line(first[name])}"


def _name(tree: Tree, path: Path) -> Iterator[Finding]:
    name = tree.text(("name",))
    if name is not None and name != path.stem:
        yield (
            tree.line(("name",)),
            f"name must be the file's, {shown(path.stem)}, got {shown(name)}; change one of them",
        )


def _paths(tree: Tree, bench: Path) -> Iterator[Finding]:
    protected = tree.items(("protected",))
    for loc in (("fixture_path",), ("reference_fix",), ("test_report",), *protected):
        if (value := tree.text(loc)) is None:
            continue
        root = "bench folder" if loc[0] in {"fixture_path", "reference_fix"} else "workspace"
        if PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts:
            yield tree.line(loc), f"{dotted(loc)} must be a path inside the {root}, got {shown(value)}"
        elif loc == ("fixture_path",) and not _is_there(bench / value, folder=True):
            yield tree.line(loc), f"fixture_path: no such folder, got {shown(value)}{_neighbour(bench, value)}"
        elif loc == ("reference_fix",) and not _is_there(bench / value, folder=False):
            yield tree.line(loc), f"reference_fix: no such file, got {shown(value)}{_neighbour(bench, value)}"


def _is_there(path: Path, *, folder: bool) -> bool:
    try:
        return path.is_dir() if folder else path.is_file()
    except OSError:
        return False


def _neighbour(bench: Path, value: str) -> str:
    """The nearest name there is beside the first part of the path that is not there."""
    folder = bench
    for part in PurePosixPath(value).parts:
        if not _is_there(folder / part, folder=True):
            return nearest(part, [entry.name for entry in folder.iterdir()])
        folder /= part
    return ""


def _policies(tree: Tree) -> Iterator[Finding]:
    servers = named_servers(tree)
    for policy in tree.items(_POLICIES):
        if tree.value(loc := (*policy, "matchers")) == ():
            yield tree.line(loc), f"{dotted(loc)} is empty; a policy needs at least one matcher"
        for matcher in tree.items(loc):
            yield from _tool(tree, matcher, servers)
            yield from _operand(tree, matcher)


def _tool(tree: Tree, matcher: Loc, servers: list[str]) -> Iterator[Finding]:
    tool, argument = tree.text((*matcher, "tool")), tree.text((*matcher, "arg_key"))
    if tool is None or any(
        tool.startswith(f"{server}{SEPARATOR}") and tool != f"{server}{SEPARATOR}" for server in servers
    ):
        return
    if tool not in BUILTIN_TOOLS:
        yield tree.line((*matcher, "tool")), _unknown_tool(tool, servers)
    elif argument is not None and argument not in (known := TOOL_ARGUMENTS[tool]):
        advice = nearest(argument, known) or f"; it has {', '.join(known)}"
        yield tree.line((*matcher, "arg_key")), f"tool {shown(tool)} has no argument {shown(argument)}{advice}"


def _unknown_tool(tool: str, servers: list[str]) -> str:
    server, separator, name = tool.partition(SEPARATOR)
    if separator:
        advice = nearest(server, servers) or f"; arms have {', '.join(servers) or 'no extra_tools'}"
        return (
            f"no arm has the tool server {shown(server)} of the tool {shown(tool)}{advice}"
            if name
            else _no_tool(tool, "")
        )
    return _no_tool(tool, nearest(tool, BUILTIN_TOOLS))


def _no_tool(tool: str, near: str) -> str:
    advice = near or f"; known tools: {', '.join(BUILTIN_TOOLS)} and <server>__<tool> of an extra tool"
    return f"no such tool, got {shown(tool)}{advice}"


def _operand(tree: Tree, matcher: Loc) -> Iterator[Finding]:
    """A value that cannot be compared with, or that every call would match."""
    loc = (*matcher, "value")
    op, value = tree.value((*matcher, "op")), tree.value(loc)
    if not isinstance(value, str):
        return
    is_path = tree.value((*matcher, "arg_key")) == PATH_ARGUMENT
    if op != "equals" and not (value.strip() if is_path else value):
        yield tree.line(loc), f"{dotted(loc)} is empty, so every call would match; give it a value"
    elif op == "regex" and (complaint := _regex_complaint(value)):
        yield tree.line(loc), f"{dotted(loc)} is not a regular expression: {complaint}, got {shown(value)}"


def _regex_complaint(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except re.error as error:
        return str(error)
    except (RecursionError, OverflowError):
        return "too deep or too large"
    return None


def _weights(tree: Tree) -> Iterator[Finding]:
    dimensions = tree.items(_DIMENSIONS)
    if tree.value(_DIMENSIONS) == ():
        yield tree.line(_DIMENSIONS), "rubric.dimensions is empty; at least one is needed"
    weights = [tree.value((*loc, "weight")) for loc in dimensions]
    numbers = [w for w in weights if isinstance(w, int | float) and not isinstance(w, bool)]
    if not dimensions or len(numbers) != len(weights):
        return
    total = math.fsum(numbers)
    if not abs(total - 1) <= WEIGHT_TOLERANCE + 1e-9:
        yield tree.line(_DIMENSIONS), f"weights must sum to 1 (within {WEIGHT_TOLERANCE}), got {total:.6g}"
