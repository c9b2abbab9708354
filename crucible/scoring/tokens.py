"""Source text as tokens that say the same for the same code: no comments, no layout, one sort of quotes.

What is left out: comments, docstrings, whitespace, commas before a closing bracket, semicolons where a line end does as
well, and parentheses that only allow a line break. What is added: where indentation alone shows a block, its two ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from crucible.scoring import languages
from crucible.scoring.languages import Language

if TYPE_CHECKING:
    from ast_grep_py import SgNode

_LEXEME = re.compile(r"\w+|[^\w\s]")
_STRING = re.compile(r"""([A-Za-z]*)('''|\"\"\"|'|"|`)(.*)\2$""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = frozenset({"string_start", "string_content", "string_fragment", "string_end", "escape_sequence"})
_CONTENT = re.compile("content|fragment|string")
"""Kinds of leaves in which whitespace is meant."""
_QUOTES_MATTER = re.compile(r"[\\$#]")
_CLOSING = frozenset({")", "]", "}"})


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text, and where it began (character offset and line, both from 0)."""

    text: str
    start: int
    line: int


def decode(data: bytes) -> str:
    """Text of a source file, line ends unified. What is not UTF-8 is read as Latin-1, which keeps bytes apart."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def is_binary(data: bytes) -> bool:
    """git's test: a NUL among the first 8000 bytes."""
    return b"\0" in data[:8000]


def lexical_tokens(text: str) -> tuple[list[str], list[int]]:
    """Words and signs of a text in no known language, and the line of each; only whitespace is left out."""
    tokens: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n")):
        found = _LEXEME.findall(line)
        tokens += found
        lines += [number] * len(found)
    return tokens, lines


def source_tokens(root: SgNode, source: str, language: Language) -> list[Token]:
    """Tokens of a parsed source, in order. No text between the tree's leaves is lost."""
    return list(_Walk(source, language).tokens(root))


_Item: TypeAlias = "SgNode | Token | int"


class _Walk:
    """One pass over the leaves. `_covered` is the offset up to which the source is dealt with."""

    def __init__(self, source: str, language: Language) -> None:
        self._source = source
        self._language = language
        self._covered = 0

    def tokens(self, root: SgNode) -> Iterator[Token]:
        """All tokens; the stack holds nodes to visit, block ends to emit and offsets up to which to skip."""
        stack: list[_Item] = [root]
        while stack:
            item = stack.pop()
            if isinstance(item, Token):
                yield item
                continue
            if isinstance(item, int):
                self._covered = max(self._covered, item)
                continue
            children = self._children(item)
            if children is None:
                yield from self._leaf(item)
            else:
                stack.extend(reversed(children))
        yield from self._gap(len(self._source), 0)

    def _children(self, node: SgNode) -> list[_Item] | None:
        """What to visit inside a node; None when it is a leaf or read as one."""
        kind = node.kind()
        if kind.endswith("comment") or self._is_docstring(node, kind) or self._string(node, kind) is not None:
            return None
        children = node.children()
        if not children:
            return None
        kept: list[_Item] = [
            child.range().end.index if _is_loose(node, kind, children, index, self._language) else child
            for index, child in enumerate(children)
        ]
        if kind in self._language.blocks:
            extent = node.range()
            before = max(extent.start.index - 1, 0)  # where the block's owner is, not what is defined first inside it
            return [Token("{", before, extent.start.line), *kept, Token("}", before, extent.end.line)]
        return kept

    def _leaf(self, node: SgNode) -> Iterator[Token]:
        extent = node.range()
        start, end, line = extent.start.index, extent.end.index, extent.start.line
        yield from self._gap(start, line)
        self._covered = max(self._covered, end)
        kind = node.kind()
        if kind.endswith("comment") or self._is_docstring(node, kind):
            return
        text = self._string(node, kind) or self._source[start:end]
        if kind in ("string_start", "string_end"):
            text = text.lower().replace("'", '"').replace('"""', '"')
        elif kind.endswith("text"):
            text = " ".join(text.split())
        if text.strip() or (text and _CONTENT.search(kind)):
            yield Token(text, start, line)

    def _gap(self, until: int, line: int) -> Iterator[Token]:
        """Text that no leaf holds, such as the words between the quotes in some grammars."""
        between = self._source[self._covered : until]
        if between.strip(" \t\n\\"):
            for match in _LEXEME.finditer(between):
                yield Token(match.group(), self._covered, line)

    def _is_docstring(self, node: SgNode, kind: str) -> bool:
        """A Python statement that is nothing but a string."""
        if kind != "expression_statement" or self._language.grammar != "python":
            return False
        children = node.children()
        return len(children) == 1 and children[0].kind() in ("string", "concatenated_string")

    def _string(self, node: SgNode, kind: str) -> str | None:
        """A string without interpolation, written in one way; None for anything else."""
        if kind == "concatenated_string":
            parts = [self._string(part, part.kind()) for part in node.children() if part.kind() == "string"]
            plain = [part for part in parts if part is not None and part.startswith('"')]
            return f'"{"".join(part[1:-1] for part in plain)}"' if len(plain) == len(node.children()) else None
        if kind not in self._language.quotes:
            return None
        if any(child.is_named() and child.kind() not in _PLAIN for child in node.children()):
            return None
        extent = node.range()
        return _one_way(self._source[extent.start.index : extent.end.index], self._language)


def _one_way(text: str, language: Language) -> str | None:
    match = _STRING.match(text)
    if match is None:
        return None
    prefix = "".join(sorted(match.group(1).lower().replace("u", "")))
    body = match.group(3)
    if language.grammar in ("ruby", "php", "lua") and _QUOTES_MATTER.search(body):
        return text
    if "r" not in prefix:
        body = _ESCAPE.sub(lambda escape: escape.group(1) if escape.group(1) in "'\"`" else escape.group(), body)
    return f'{prefix}"{body}"'


def _is_loose(parent: SgNode, kind: str, siblings: list[SgNode], index: int, language: Language) -> bool:
    """True for a sign that could go without a change of meaning."""
    sign = siblings[index].kind()
    if sign == ";":
        return language.free_semicolons
    if sign == ",":
        return _is_trailing(kind, siblings, index)
    if sign not in ("(", ")"):
        return False
    if kind in languages.LOOSE_PARENTHESES:
        above = parent.parent()
        return above is not None and above.kind() in languages.LOOSE_PARENTS and _is_whole(kind, siblings)
    return kind in languages.BARE_PARENTHESES or _is_lone_parameter(parent, kind, siblings)


def _is_trailing(kind: str, siblings: list[SgNode], index: int) -> bool:
    rest = (siblings[at].kind() for at in range(index + 1, len(siblings)))
    if next((after for after in rest if not after.endswith("comment")), None) not in _CLOSING:
        return False
    elements = sum(sibling.is_named() and not sibling.kind().endswith("comment") for sibling in siblings)
    return not (kind in languages.ONE_ELEMENT_MATTERS and elements == 1)


def _is_whole(kind: str, siblings: list[SgNode]) -> bool:
    """A tuple's parentheses are loose only with two elements or more."""
    return kind != "tuple" or sum(sibling.is_named() for sibling in siblings) > 1


def _is_lone_parameter(parent: SgNode, kind: str, siblings: list[SgNode]) -> bool:
    """`(x) => ...`, which may be written `x => ...`."""
    if kind != "formal_parameters" or len(siblings) != 3 or siblings[1].kind() != "identifier":
        return False
    above = parent.parent()
    return above is not None and above.kind() == "arrow_function"
