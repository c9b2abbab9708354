"""YAML text -> plain data, with the file's line of every key and item.

Built from the parser's events, so that nothing is ever constructed from a tag, a duplicate key is seen, and
the cost is bounded by the size of the file: aliases, merge keys and tags are refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml

from crucible.scenario import syntax
from crucible.scenario.scalars import Scalar, read_plain
from crucible.scenario.words import clip, shown

Loc: TypeAlias = "tuple[str | int, ...]"
Finding: TypeAlias = "tuple[int, str]"
"""A 1-based line of the file, and what is wrong there."""
Value: TypeAlias = "Scalar | Unusable | tuple[Value, ...] | dict[str, Value]"

MAX_DEPTH = 16
"""Levels of nesting; a scenario needs six."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Stands for a value that was already reported, so that it is not reported again."""


UNUSABLE = Unusable()


@dataclass(slots=True)
class Tree:
    """What a frontmatter says. `written` holds unquoted scalars as they stand in the file; `end` is the line after."""

    root: Value = UNUSABLE
    lines: dict[Loc, int] = field(default_factory=dict)
    written: dict[Loc, str] = field(default_factory=dict)
    end: int = 1
    findings: list[Finding] = field(default_factory=list)

    def line(self, loc: Loc) -> int:
        """The line of `loc`, or of the nearest thing around it that the file has."""
        while loc not in self.lines:
            loc = loc[:-1]
        return self.lines[loc]

    def value(self, loc: Loc) -> Value:
        """The value at `loc`, or UNUSABLE when the file has none there."""
        value = self.root
        for part in loc:
            if isinstance(value, dict) and isinstance(part, str):
                value = value.get(part, UNUSABLE)
            elif isinstance(value, tuple) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return UNUSABLE
        return value

    def items(self, loc: Loc) -> list[Loc]:
        """Where the items of the list at `loc` are; none when there is no list."""
        value = self.value(loc)
        return [(*loc, index) for index in range(len(value))] if isinstance(value, tuple) else []

    def keys(self, loc: Loc) -> list[str]:
        """The keys of the mapping at `loc`; none when there is no mapping."""
        value = self.value(loc)
        return list(value) if isinstance(value, dict) else []

    def text(self, loc: Loc) -> str | None:
        """The text at `loc`; None when there is none, or a blank one."""
        value = self.value(loc)
        return value if isinstance(value, str) and value.strip() else None


def dotted(loc: Loc) -> str:
    """`arms.0.model`, as messages and `LoadedScenario.lines` write it; always one printable line."""
    return ".".join(clip(str(part)) if str(part).isprintable() else shown(str(part)) for part in loc)


def read_tree(text: str, first_line: int) -> Tree:
    """Parse YAML that begins on `first_line` of its file. Never raises: what is wrong is in `findings`."""
    builder = _Builder(text, first_line)
    try:
        builder.build(yaml.parse(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        offset, what = syntax.explain(error, text)
        builder.tree.findings.append((builder.line_at(offset), what))
        builder.tree.root = UNUSABLE
    return builder.tree


class _Builder:
    def __init__(self, text: str, first_line: int) -> None:
        # YAML also ends lines at U+2028 and the like; editors count line feeds, and so do we.
        self._breaks = [offset for offset, character in enumerate(text) if character == "\n"]
        self._first_line = first_line
        self._events: Iterator[yaml.Event] = iter(())
        self.tree = Tree(lines={(): first_line - 1}, end=first_line + len(self._breaks))

    def line_at(self, offset: int) -> int:
        return self._first_line + bisect_right(self._breaks, offset - 1)

    def build(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        next(events)
        if isinstance(next(events), yaml.StreamEndEvent):
            self._report(self._first_line - 1, "the frontmatter is empty; a scenario has at least a name")
            return
        self.tree.root = self._node(next(events), ())
        next(events)
        if isinstance(after := next(events), yaml.DocumentStartEvent):
            self.tree.root = UNUSABLE
            self._report(after, "a second YAML document begins; indent a text that begins with '---'")

    def _report(self, where: yaml.Event | int, what: str) -> None:
        line = where if isinstance(where, int) else self.line_at(_offset(where))
        self.tree.findings.append((line, what))

    def _node(self, event: yaml.Event, loc: Loc) -> Value:
        if refusal := _refusal(event, loc):
            self._report(event, refusal)
            self._skip(event)
            return UNUSABLE
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(loc)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(loc)
        text = _text(event)
        if found := yaml.reader.Reader.NON_PRINTABLE.search(text):
            self._report(
                event, f"{dotted(loc)}: an escape for the control character U+{ord(found.group()):04X}; delete it"
            )
            return UNUSABLE
        if not _is_plain(event):
            return text
        self.tree.written[loc] = text
        return read_plain(text)

    def _sequence(self, loc: Loc) -> Value:
        items: list[Value] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            here = (*loc, len(items))
            self.tree.lines[here] = self.line_at(_offset(event))
            items.append(self._node(event, here))
        return tuple(items)

    def _mapping(self, loc: Loc) -> Value:
        found: dict[str, Value] = {}
        usable = True
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            usable = usable and isinstance(event, yaml.ScalarEvent)
            key = self._key(event, loc, found)
            value = next(self._events)
            if key is None:
                self._skip(value)
                continue
            self.tree.lines[(*loc, key)] = self.line_at(_offset(event))
            found[key] = self._node(value, (*loc, key))
        return found if usable else UNUSABLE

    def _key(self, event: yaml.Event, loc: Loc, found: dict[str, Value]) -> str | None:
        """The key as written (`on` stays 'on'), or None after reporting why it cannot be one."""
        if not isinstance(event, yaml.ScalarEvent):
            where = dotted(loc) or "frontmatter"
            self._report(event, f"{where}: a key must be text; quote a value that begins with '{{' or '['")
            self._skip(event)
            return None
        key = _text(event)
        if _is_plain(event) and key == "<<":
            self._report(event, "merge keys ('<<') are not taken; write the values out")
            return None
        if refusal := _refusal(event, (*loc, key)):
            self._report(event, refusal)
            return None
        if key in found:
            first = self.tree.line((*loc, key))
            self._report(event, f"duplicate key '{dotted((*loc, key))}', first given on line {first}; keep one")
            return None
        return key

    def _skip(self, event: yaml.Event) -> None:
        depth = _nesting(event)
        while depth:
            depth += _nesting(next(self._events))


def _offset(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _text(event: yaml.Event) -> str:
    return str(getattr(event, "value", ""))


def _is_plain(event: yaml.Event) -> bool:
    return bool(getattr(event, "implicit", (False,))[0])


def _nesting(event: yaml.Event) -> int:
    if isinstance(event, yaml.CollectionStartEvent):
        return 1
    return -1 if isinstance(event, yaml.CollectionEndEvent) else 0


def _refusal(event: yaml.Event, loc: Loc) -> str | None:
    """Why a node cannot be part of a scenario, or None."""
    where = dotted(loc) or "frontmatter"
    anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
    if isinstance(event, yaml.AliasEvent):
        return f"{where}: aliases are not taken, got {shown(f'*{anchor}')}; quote it if it is text, else write it out"
    if anchor is not None:
        return f"{where}: anchors are not taken, got {shown(f'&{anchor}')}; quote it if it is text, else delete it"
    if tag is not None:
        return f"{where}: tags are not taken, got {shown(tag)}; quote the value if it is text"
    if len(loc) > MAX_DEPTH:
        return f"more than {MAX_DEPTH} levels of nesting; a scenario has six"
    return None
