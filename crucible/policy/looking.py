"""Where a tool call looks: the places it names, as the sandbox would find them, and the programs it runs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crucible.policy.paths import WORKSPACE
from crucible.policy.shell import Run, runs
from crucible.scenario.schema import PATH_ARGUMENT

HOME = "/home/agent"
SPEAKING = {"echo", "printf", "git"}
"""Programs whose arguments are words rather than places; git's own are looked at apart."""
_PATTERN_FIRST = {"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "perl"}
"""Programs whose first argument is a pattern or a program."""
_HERE = {"find", "ls", "tree", "du", "fd", "fdfind"}
"""Programs that look at the current folder when they are given none."""
_TAKES_OUT = re.compile(
    r"-(i?name|i?path|i?wholename|i?regex|g|I|v|e|prune|-glob|-iglob|-exclude(-dir)?|-ignore(-dir|-file)?|-type)$"
)
"""Options after which a word says what to leave out or how a name looks, not where to look."""
_COPY = re.compile(r"^.*/world-[^/]+/workspace(?=/|$)")
"""The workspace where there is no sandbox: a folder of the host."""


@dataclass(frozen=True, slots=True)
class Look:
    """One place something is asked of: `program` is what asks, `word` as it was written, `place` absolute and folded."""

    program: str
    word: str
    place: str


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call taken apart. `said` is every text in it that could name something."""

    looks: tuple[Look, ...]
    runs: tuple[Run, ...]
    said: tuple[str, ...]


def take_apart(tool: str, arguments: Mapping[str, Any]) -> Call:
    """What a call looks at. A tool not known here is read by its `path` and `command` arguments, if it has them."""
    found, programs = list(_path_looks(tool, arguments)), runs(_text(arguments, "command"))
    cwd = WORKSPACE
    for run in programs:
        found.extend(_run_looks(run, cwd))
        if run.program in ("cd", "pushd") and run.arguments:
            cwd = absolute(run.arguments[-1], cwd)
    said = [_text(arguments, name) for name in ("path", "glob", "pattern")]
    said += [word for run in programs if run.program not in SPEAKING for word in (*run.arguments, run.code)]
    return Call(tuple(found), tuple(programs), tuple(text for text in said if text))


def absolute(path: str, cwd: str = WORKSPACE) -> str:
    """A path as it would be found, `.` and `..` folded; a workspace that is a folder of the host is /workspace."""
    if path == "~" or path.startswith("~/"):
        path = HOME + path[1:]
    path = path.replace("${HOME}", HOME).replace("$HOME", HOME)
    found = posixpath.normpath(posixpath.join(cwd, _COPY.sub(WORKSPACE, path)))
    return "/" + found.lstrip("/")


def _path_looks(tool: str, arguments: Mapping[str, Any]) -> Iterator[Look]:
    path, glob = _text(arguments, PATH_ARGUMENT), _text(arguments, "glob")
    if path:
        yield Look(tool, path, absolute(path))
    if glob and not glob.startswith("!"):
        yield Look(tool, glob, absolute(glob, absolute(path or ".")))


def _run_looks(run: Run, cwd: str) -> Iterator[Look]:
    if run.program in SPEAKING:
        return
    operands = list(_operands(run))
    if not operands and run.program in _HERE:
        operands = ["."]
    yield from (Look(run.program, word, absolute(word, cwd)) for word in operands)


def _operands(run: Run) -> Iterator[str]:
    """Arguments that name a place: no options, no patterns, no names to leave out."""
    pattern_next, before = run.program in _PATTERN_FIRST, ""
    for word in run.arguments:
        if run.program == "find" and word.startswith(("-", "(", "!", "\\")):
            return
        is_operand = not (word.startswith(("-", "!")) or _TAKES_OUT.match(before)) and bool(word)
        before = word
        if is_operand and pattern_next:
            pattern_next = False
        elif is_operand and word != run.code:
            yield word


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
