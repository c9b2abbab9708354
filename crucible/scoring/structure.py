"""A source file as regions: which token belongs to which definition, by qualified name.

A region holds the tokens of one definition without those of the definitions inside it. What is in no definition
belongs to the file's top level, imports apart. A file in no known language, one that does not parse, and one too
large to parse is one region; a binary file is one region with one token, so that it is equal or not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from crucible.scoring import languages
from crucible.scoring.languages import language_of
from crucible.scoring.tokens import Token, decode, is_binary, lexical_tokens, source_tokens

if TYPE_CHECKING:
    from ast_grep_py import SgNode

TOP_LEVEL = "(top level)"
IMPORTS = "(imports)"
MAX_PARSED_BYTES = 1_000_000
MAX_LINE = 5_000
"""Characters of a line: places on a line are counted from its start, so a minified file would take minutes."""
MAX_WRAPPED = 6
"""Wrappers around wrappers that are looked through: each level is looked at again from the level above."""
Kind = Literal["function", "type", "value", "rest"]


@dataclass(slots=True)
class Region:
    """Tokens of one definition and, for each, the line it began on."""

    kind: Kind
    tokens: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, token: Token) -> None:
        """Put one more token at the end."""
        self.tokens.append(token.text)
        self.lines.append(token.line)


@dataclass(frozen=True, slots=True)
class Shape:
    """The regions of one file by qualified name. `whole`: it is one region, and `why` says for what reason."""

    regions: dict[str, Region]
    whole: bool = False
    why: str | None = None


NOTHING = Shape({})
"""The shape of a file that is not there."""


@dataclass(frozen=True, slots=True)
class _Definition:
    name: str
    kind: Kind
    start: int
    end: int


@lru_cache(maxsize=256)
def shape_of(path: str, data: bytes, *, whole: bool = False) -> Shape:
    """The regions of a file; not to be changed. `whole` reads it as one region whatever it is. Never raises.

    Kept for a while: what is compared is also measured.
    """
    if is_binary(data):
        return _single([sha256(data).hexdigest()], [0], "is binary: equal or not")
    text = decode(data)
    language = language_of(path)
    too_large = len(data) > MAX_PARSED_BYTES or max(map(len, text.split("\n"))) > MAX_LINE
    if whole or language is None or too_large:
        return _single(*lexical_tokens(text), "is too large to parse" if language and not whole else None)
    from ast_grep_py import SgRoot

    tree = SgRoot(text, language.grammar)
    root = tree.root()
    if root.kind() == "ERROR":
        return _single(*lexical_tokens(text), "does not parse")
    owners = _owners(sorted(_definitions(root), key=lambda one: (one.start, -one.end)))
    starts = [start for start, _ in owners]
    regions: dict[str, Region] = {}
    for token in source_tokens(root, text, language):
        owner = owners[bisect_right(starts, token.start) - 1][1]
        regions.setdefault(owner.name, Region(owner.kind)).add(token)
    return Shape(regions)


def _single(tokens: list[str], lines: list[int], why: str | None) -> Shape:
    return Shape({TOP_LEVEL: Region("rest", tokens, lines)} if tokens else {}, whole=True, why=why)


def _owners(definitions: list[_Definition]) -> list[tuple[int, _Definition]]:
    """Where each definition takes over from the one around it, as (offset, innermost definition), sorted."""
    top = _Definition(TOP_LEVEL, "rest", 0, 0)
    owners = [(0, top)]
    open_ones: list[_Definition] = []
    for definition in [*definitions, None]:
        while open_ones and (definition is None or open_ones[-1].end <= definition.start):
            closed = open_ones.pop()
            owners.append((closed.end, open_ones[-1] if open_ones else top))
        if definition is not None:
            open_ones.append(definition)
            owners.append((definition.start, definition))
    return owners


def _definitions(root: SgNode) -> Iterator[_Definition]:
    """Every definition and import of a file, with its qualified name and extent.

    The stack holds nodes to visit with the qualified name around them, whether a function is, and the name that the
    node just above them has entered already, as the wrapper of a definition does.
    """
    stack: list[tuple[SgNode, str, bool, str | None]] = [(root, "", False, None)]
    while stack:
        node, scope, local, entered = stack.pop()
        kind = node.kind()
        if not scope and not local and _is_import(node, kind):
            yield _extent(node, IMPORTS, "rest")
            continue
        found = _defined(node, kind, local=local)
        if found is not None and found[0] != entered:
            scope = f"{scope}.{found[0]}" if scope else found[0]
            yield _extent(node, scope, found[1])
        local = local or kind in languages.FUNCTIONS or kind in languages.FUNCTION_VALUES
        stack.extend((child, scope, local, found and found[0]) for child in node.children())


def _extent(node: SgNode, name: str, kind: Kind) -> _Definition:
    extent = node.range()
    return _Definition(name, kind, extent.start.index, extent.end.index)


def _defined(node: SgNode, kind: str, *, local: bool, depth: int = 0) -> tuple[str, Kind] | None:
    """The name and kind of what a node defines, None when it defines nothing. `local`: a function is around it."""
    if kind in languages.WRAPPERS and depth < MAX_WRAPPED:
        children = ((child, child.kind()) for child in node.children())
        inside = [found for child, its in children if (found := _defined(child, its, local=local, depth=depth + 1))]
        if len(inside) == 1:
            return inside[0]
    if kind in languages.VALUES:
        if not _binds_function(node) and (local or kind == "pair"):
            return None
    elif kind not in languages.FUNCTIONS and kind not in languages.TYPES:
        return None
    if kind.endswith("_specifier") and node.field("body") is None:
        return None
    name = _qualified(node, kind)
    return None if name is None else (name, _kind(node, kind))


def _kind(node: SgNode, kind: str) -> Kind:
    if kind in languages.FUNCTIONS or _binds_function(node):
        return "function"
    return "type" if kind in languages.TYPES else "value"


def _binds_function(node: SgNode) -> bool:
    value = node.field("value") or node.field("right")
    return value is not None and value.kind() in languages.FUNCTION_VALUES


def _qualified(node: SgNode, kind: str) -> str | None:
    """The definition's own name, with the type it is attached to from outside (Go receivers, Rust impls)."""
    if kind == "impl_item":
        parts = [part.text() for part in (node.field("trait"), node.field("type")) if part is not None]
        return _tidy(" for ".join(parts)) or None
    name = _declared(node)
    if name is None:
        return {"companion_object": "companion", "secondary_constructor": "constructor"}.get(kind)
    receiver = node.field("receiver") if kind == "method_declaration" else None
    if receiver is not None and (owner := re.search(r"(\w+)\s*(?:\[.*\])?\s*\)$", receiver.text(), re.DOTALL)):
        return f"{owner.group(1)}.{name}"
    return name


def _declared(node: SgNode) -> str | None:
    for field_name in languages.NAME_FIELDS:
        part = node.field(field_name)
        if part is not None:
            return _tidy(_innermost(part).text()) or None
    part = next((child for child in node.children() if child.kind() in languages.NAME_KINDS), None)
    if part is not None and part.kind() == "variable_declaration":
        return _declared(part)
    return None if part is None else _tidy(part.text())


def _innermost(declarator: SgNode) -> SgNode:
    """The name inside C's declarators: `*(*name)(int)` and the like."""
    while True:
        inner = declarator.field("declarator")
        if inner is None and declarator.kind() in ("parenthesized_declarator", "reference_declarator"):
            inner = next((child for child in declarator.children() if child.is_named()), None)
        if inner is None:
            return declarator
        declarator = inner


def _tidy(name: str) -> str:
    """A name on one line, generics left out, at most 80 characters."""
    return re.sub(r"<.*>|\s+", " ", name.replace("::", "."), flags=re.DOTALL).strip()[:80]


def _is_import(node: SgNode, kind: str) -> bool:
    if kind in languages.IMPORTS:
        return True
    if kind == "call":
        return _called(node) in languages.REQUIRES
    if kind in ("lexical_declaration", "variable_declaration"):
        values = [child.field("value") for child in node.children() if child.kind() == "variable_declarator"]
        return bool(values) and all(
            value is not None and value.kind() == "call_expression" and _called(value) in languages.REQUIRES
            for value in values
        )
    return False


def _called(call: SgNode) -> str:
    children = call.children()
    return children[0].text() if children else ""
