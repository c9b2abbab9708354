"""The bytes of a frozen failure -> plain data, with the file's line of every key. JSON, or YAML frontmatter in Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crucible.errors import Problem, ScenarioError
from crucible.scenario import frontmatter
from crucible.scenario.load import MAX_BYTES
from crucible.scenario.scalars import NOTHING, Misread
from crucible.scenario.tree import UNUSABLE, Loc, Tree, Value, dotted, read_tree
from crucible.scenario.words import clip, shown

KIND = "failure"
SEEN_SUFFIX = ".seen.json"
_HEAD = 4096
_KIND_LINE = re.compile(rb"^kind:[ \t]*[\"']?failure[\"']?[ \t]*\r?$", re.MULTILINE)


@dataclass(slots=True)
class Read:
    """What a file says. `findings` are lines with what is wrong there; `data` is empty where nothing could be read."""

    file: str
    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[Loc, int] = field(default_factory=dict)
    findings: list[tuple[int, str]] = field(default_factory=list)

    def line(self, *loc: str | int) -> int:
        """The line of a key, or of the nearest thing around it."""
        place: Loc = loc
        while place and place not in self.lines:
            place = place[:-1]
        return max(1, self.lines.get(place, 1))

    def wrong(self, what: str, *loc: str | int) -> None:
        """Note one problem at a key."""
        self.findings.append((self.line(*loc), what))

    def error(self) -> ScenarioError:
        """All that is wrong, each with its line."""
        found = {Problem(self.file, *finding) for finding in self.findings}
        return ScenarioError(sorted(found), hint="the keys of a frozen failure are in docs/frozen-failures.md")


def is_failure(path: Path) -> bool:
    """Whether a file of the scenario folder is a frozen failure: any .json but a sidecar, and .md that says so."""
    if path.suffix == ".json":
        return not path.name.endswith(SEEN_SUFFIX)
    try:
        with path.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return False
    end = head.find(b"\n---", 4)
    return path.suffix == ".md" and _KIND_LINE.search(head[: end if end > 0 else None]) is not None


def read_text(path: Path, file: str) -> Read:
    """Read a file; what is wrong with its syntax is in `findings`. `file` is its name in messages."""
    read = Read(file)
    try:
        data = _bytes(path)
        text = frontmatter.decode(data, file)
        if path.suffix == ".json":
            _json(text, read)
        else:
            _frontmatter(*frontmatter.split(text, file), read)
    except OSError as error:
        read.wrong(f"cannot be read: {error.strerror or error}")
    except ScenarioError as error:
        read.findings += [(problem.line, problem.what) for problem in error.problems]
    return read


def _bytes(path: Path) -> bytes:
    size = path.stat().st_size
    if path.exists() and not path.is_file():
        raise OSError("not a file")
    if size > MAX_BYTES:
        raise OSError(f"too large: at most {MAX_BYTES} bytes, got {size}")
    return path.read_bytes()


class _NotJSONError(ValueError):
    """A constant that Python reads and JSON does not have."""


def _json(text: str, read: Read) -> None:
    try:
        root = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        read.findings.append((error.lineno, f"column {error.colno}: not JSON: {error.msg}{_near(text, error.pos)}"))
        return
    except (_NotJSONError, RecursionError) as error:
        read.wrong(f"not JSON: {error}")
        return
    # JSON is YAML but for a few escapes and tabs: its lines are read as YAML's, as far as that goes.
    tree = read_tree(text, 1)
    read.lines = tree.lines
    if not isinstance(root, dict):
        read.wrong(f"must be an object of keys and values, got {clip(json.dumps(root))}")
        return
    repeats = [finding for finding in tree.findings if finding[1].startswith("duplicate key")]
    read.findings += repeats
    read.data = _unrepeated(root, read, named=bool(repeats))


class _Pairs(dict[str, Any]):
    """An object in which a key stands more than once."""

    repeated: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _Pairs(pairs)
    if len(found) == len(pairs):
        return dict(pairs)
    keys = [key for key, _ in pairs]
    found.repeated = tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1))
    return found


def _unrepeated(root: dict[str, Any], read: Read, *, named: bool) -> dict[str, Any]:
    """Report repeated keys that the line reader did not name already."""
    waiting: list[Any] = [root]
    while waiting and not named:
        value = waiting.pop()
        if isinstance(value, _Pairs):
            for key in value.repeated:
                read.wrong(f"duplicate key {shown(key)}; keep one", key)
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return root


def _constant(word: str) -> Any:
    raise _NotJSONError(f"{word} is no number of JSON's")


def _near(text: str, position: int) -> str:
    rest = text[position:].split("\n", 1)[0].strip()
    return (
        f", at {shown(rest[:40])}" if rest else ", at the end of a line" if text[position:].strip() else ", at the end"
    )


def _frontmatter(text: str, first_line: int, read: Read) -> None:
    tree = read_tree(text, first_line)
    read.lines, read.findings = tree.lines, [*read.findings, *tree.findings]
    if tree.root is UNUSABLE:
        return
    if not isinstance(tree.root, dict):
        read.wrong("the frontmatter must be keys and values")
        return
    read.data = {key: _plain(value, (key,), tree, read) for key, value in tree.root.items()}


def _plain(value: Value, loc: Loc, tree: Tree, read: Read) -> Any:
    """A value as JSON would hold it. What YAML takes for something else is reported; `UNUSABLE` was already."""
    if isinstance(value, dict):
        return {key: _plain(inner, (*loc, key), tree, read) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner, (*loc, at), tree, read) for at, inner in enumerate(value)]
    if isinstance(value, Misread):
        if value == NOTHING:
            read.wrong(f"{dotted(loc)} has no value; give it one or delete the key", *loc)
        else:
            written = clip(tree.written.get(loc, ""))
            read.wrong(f"{dotted(loc)}: {written} is read by YAML as {value.meaning}; quote it if it is text", *loc)
        return None
    return None if value is UNUSABLE else value
