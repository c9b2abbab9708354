"""A test module with wrong expected values: where each test's assertions stand, and the source with one of each wrong.

Places are found by the syntax tree and edited as text, so that a module with wrong values reads like any other.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from random import Random

from crucible.scoring.assertions import Claim, Edit, Names, claims, literal_edits
from crucible.scoring.literals import another, word

MOST_CLAIMS = 3
"""Assertions of one test that are made wrong in turn."""
_TRIES = 40
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Site:
    """A claim of a test. `certain`: it is made whenever the test runs through."""

    claim: Claim
    certain: bool


def sites(source: bytes) -> dict[str, tuple[Claim, ...]]:
    """The claims to make wrong, by test as `Class::test` or `::test`; none of a file that is not Python in UTF-8."""
    tree = _parsed(source)
    found = {} if tree is None else dict(_of_tests(tree.body, ()))
    return {test: chosen for test, all_of_it in found.items() if (chosen := _chosen(all_of_it))}


def spoil(source: bytes, chosen: Iterable[Claim], rng: Random) -> bytes | None:
    """The source with each of the claims made wrong, at random; None when it does not compile for it."""
    starts = _line_starts(source)
    edits = [rng.choice(claim.edits) for claim in chosen]
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        start, end = (starts[line - 1] + column for line, column in (edit.start, edit.end))
        new = _replacement(edit, source[start:end].decode(), rng)
        source = source[:start] + new.encode() + source[end:]
    return source if _parsed(source) is not None else None


def _parsed(source: bytes) -> ast.Module | None:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        if encoding != "utf-8":
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "test", "exec", dont_inherit=True)
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _line_starts(source: bytes) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _of_tests(body: Iterable[ast.stmt], classes: tuple[str, ...]) -> Iterator[tuple[str, list[Site]]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _of_tests(statement.body, (*classes, statement.name))
        elif isinstance(statement, Function) and statement.name.startswith("test"):
            yield (
                f"{'.'.join(classes)}::{statement.name}",
                list(_of_body(statement.body, _names(statement), certain=True)),
            )


def _of_body(body: Iterable[ast.stmt], names: Names, *, certain: bool) -> Iterator[Site]:
    """Claims in order; those of inner functions and classes are not the test's own."""
    for statement in body:
        if isinstance(statement, Function | ast.ClassDef):
            continue
        yield from (Site(claim, certain) for claim in claims(statement, names))
        inner = certain and isinstance(statement, ast.With | ast.AsyncWith) and not _expects_an_error(statement)
        for part in _blocks(statement):
            yield from _of_body(part, names, certain=inner)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _expects_an_error(statement: ast.With | ast.AsyncWith) -> bool:
    said = " ".join(ast.unparse(item.context_expr) for item in statement.items).lower()
    return any(hint in said for hint in ("raises", "suppress", "warns", "subtest"))


def _chosen(found: list[Site]) -> tuple[Claim, ...]:
    """Of the best kind there is - values before truth, certain before uncertain - the first, the middle and the last."""
    ranked = sorted(found, key=_rank)
    for _, best in groupby(ranked, key=_rank):
        every = [site.claim for site in best]
        most = min(MOST_CLAIMS, len(every))
        return tuple(every[n * (len(every) - 1) // max(1, most - 1)] for n in range(most))
    return ()


def _rank(site: Site) -> tuple[bool, bool]:
    return not site.claim.of_value, not site.certain


def _names(function: Function) -> Names:
    uses = Counter(node.id for node in ast.walk(function) if isinstance(node, ast.Name))
    literals = {
        target.id: edits
        for statement in function.body
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1
        for target in statement.targets
        if isinstance(target, ast.Name) and uses[target.id] == 2 and (edits := literal_edits(statement.value))
    }
    return Names(literals, dict(_parameters(function)))


def _parameters(function: Function) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Parameters whose every value is a plain literal, with the source of each."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, ast.List() | ast.Tuple() as rows, *_]):
                listed = _listed(names)
                columns = zip(*(_cells(row, len(listed)) for row in rows.elts), strict=False)
                for name, column in zip(listed, columns, strict=False):
                    if all(isinstance(cell, ast.Constant) and another(ast.unparse(cell), Random(0)) for cell in column):  # noqa: S311 (a trial)
                        yield name, tuple(ast.unparse(cell) for cell in column)
            case _:
                pass


def _listed(names: ast.expr) -> list[str]:
    match names:
        case ast.Constant(value=str() as text):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List() | ast.Tuple():
            return [part.value for part in names.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return []


def _cells(row: ast.expr, width: int) -> list[ast.expr]:
    if isinstance(row, ast.Call):  # pytest.param(...)
        return row.args
    return row.elts if width > 1 and isinstance(row, ast.Tuple | ast.List) else [row]


def _replacement(edit: Edit, old: str, rng: Random) -> str:
    match edit.kind:
        case "text":
            return edit.text
        case "operator":
            new = old.replace(edit.values[0], edit.text, 1)
            return new if edit.text else new.lstrip(" ")
        case "literal":
            return another(old, rng) or _number(rng)
        case "rebind":
            return f"{edit.text} = {_none_of(edit.values, rng)}; "
        case "string":
            return f'"{word(7, rng).capitalize()} {word(6, rng)}"'
        case "number":
            return _number(rng)


def _number(rng: Random) -> str:
    return str(rng.randint(1001, 9999))


def _none_of(values: tuple[str, ...], rng: Random) -> str:
    taken = {ast.literal_eval(value) for value in values}
    for _ in range(_TRIES):
        new = another(rng.choice(values), rng)
        if new is not None and ast.literal_eval(new) not in taken:
            return new
    return _number(rng)
