"""What an assertion claims, and the edits of its source that each make the claim wrong.

Whatever value makes the assertion true makes it false after any one of the edits; values of code under test that
equal everything, or were read from the test itself, make it true both times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Position = tuple[int, int]
"""Line from 1 and column in bytes of UTF-8, as the syntax tree has them."""

Kind = Literal["literal", "number", "string", "text", "operator", "rebind"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One way to make an assertion wrong: what stands from `start` to `end` gives way to something else.

    `literal`: to another literal of its kind; `number`: to any number; `string`: to any string; `text`: to `text`;
    `operator`: the word `values[0]` in it to `text`; `rebind`: before it, the parameter `text` is given a value that is
    none of the literals `values`.
    """

    start: Position
    end: Position
    kind: Kind
    text: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One assertion, or one conjunct of it, and the edits of which any one makes it wrong. `of_value`: it names a value."""

    edits: tuple[Edit, ...]
    of_value: bool = True


@dataclass(frozen=True, slots=True)
class Names:
    """What names in a test stand for: local literals used nowhere else, as edits; parameters, as their values' source."""

    literals: Mapping[str, tuple[Edit, ...]]
    parameters: Mapping[str, tuple[str, ...]]


_FLIPPED = {
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
}
_OF_FIRST = {"Decimal", "Fraction", "date", "datetime", "time", "Path", "PurePath", "PurePosixPath", "approx"} | {
    *("set", "frozenset", "tuple", "list", "bytes", "bytearray", "float", "int", "str", "deque", "Counter")
}
_OF_KEYWORDS = {"timedelta", "dict", "OrderedDict"}
_EQUAL = {f"assert{kind}" for kind in ("Equal", "Equals", "AlmostEqual", "CountEqual", "MultiLineEqual")} | {
    f"assert{kind}Equal" for kind in ("List", "Dict", "Tuple", "Set", "Sequence")
}
_PAIRS = (
    ("assertTrue", "assertFalse"),
    ("assertIn", "assertNotIn"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
)
_OTHER_METHOD = {"assertNotEqual": "assertEqual"} | {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


def claims(statement: ast.stmt, names: Names) -> Iterator[Claim]:
    """The claims of a statement that is an assertion, of pytest's or of unittest's kind; none of any other."""
    if isinstance(statement, ast.Assert):
        for conjunct in _conjuncts(statement.test):
            yield from _of_expression(conjunct, _start(statement), names)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _of_method(statement.value, _start(statement), names)


def literal_edits(node: ast.expr | None) -> tuple[Edit, ...]:
    """Edits of the literals of which a value is made; none where it is not made of literals."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | bytes()):
            return (_edit(node, "literal"),)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if value:
            return literal_edits(node.operand)
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            filled = {ast.Tuple: "(1,)", ast.List: "[1]", ast.Dict: '{"id": 1}'}[type(node)]
            return (_edit(node, "text", filled),)
        case ast.Tuple() | ast.List() | ast.Set():
            return tuple(edit for part in node.elts for edit in literal_edits(part))
        case ast.Dict():
            return tuple(edit for part in node.values for edit in literal_edits(part))
        case ast.Call():
            return _of_call(node)
    return ()


def _of_call(node: ast.Call) -> tuple[Edit, ...]:
    """Literals of which a standard value is made: `Decimal("2.50")`, `date(2025, 1, 31)`, `"ä".encode()`."""
    name = _called(node)
    if isinstance(node.func, ast.Attribute) and name == "encode":
        return literal_edits(node.func.value) if isinstance(node.func.value, ast.Constant) else ()
    if name == "approx" and (node.keywords or len(node.args) != 1):
        return ()  # what is another value depends on the tolerance
    if name in _OF_FIRST and node.args:
        return literal_edits(node.args[0])
    if name in _OF_KEYWORDS:
        return tuple(edit for keyword in node.keywords for edit in literal_edits(keyword.value))
    return ()


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conjuncts(value)
    else:
        yield test


def _of_expression(test: ast.expr, before: Position, names: Names) -> Iterator[Claim]:
    match test:
        case ast.Constant():
            return
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            yield Claim(_of_equal(left, right, before, names))
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=bool()) as right]):
            yield Claim(literal_edits(right))
        case ast.Compare(left=ast.Constant(value=str()) as left, ops=[ast.In()]):
            yield Claim((_edit(left, "string"),))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _FLIPPED:
            word, other = _FLIPPED[type(op)]
            yield Claim((Edit(_end(left), _start(right), "operator", other, (word,)),))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Claim((Edit(_start(test), _start(operand), "operator", "", ("not",)),), of_value=False)
        case ast.BoolOp() | ast.IfExp() | ast.Lambda() | ast.NamedExpr():
            return
        case _:
            yield Claim((Edit(_start(test), _start(test), "text", "not "),), of_value=False)


def _of_equal(left: ast.expr, right: ast.expr, before: Position, names: Names) -> tuple[Edit, ...]:
    """The expected value, on either side; where neither is made of literals the right side gives way to a number."""
    for side, other in ((right, left), (left, right)):
        if found := literal_edits(side):
            return found
        name = _named(side)
        if name in names.literals:
            return names.literals[name]
        if name in names.parameters and not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(other)):
            return (Edit(before, before, "rebind", name, names.parameters[name]),)
    return (_edit(right, "number"),)


def _named(side: ast.expr) -> str:
    """The name that a side is, or of which a standard value is made: `expected`, `Decimal(expected)`."""
    if isinstance(side, ast.Call) and _called(side) in _OF_FIRST and len(side.args) == 1 and not side.keywords:
        side = side.args[0]
    return side.id if isinstance(side, ast.Name) else ""


def _of_method(call: ast.Call, before: Position, names: Names) -> Iterator[Claim]:
    function = call.func
    if (
        not isinstance(function, ast.Attribute)
        or not isinstance(function.value, ast.Name)
        or function.value.id != "self"
    ):
        return
    if function.attr in _EQUAL and len(call.args) == 2 and not call.keywords:
        left, right = call.args
        edits = _of_equal(left, right, before, names)
        if edits[0].kind != "number" or function.attr == "assertEqual":
            yield Claim(edits)
    elif function.attr in _OTHER_METHOD:
        line, column = _end(function)
        start = line, column - len(function.attr)
        yield Claim(
            (Edit(start, (line, column), "text", _OTHER_METHOD[function.attr]),), function.attr == "assertNotEqual"
        )


def _edit(node: ast.expr, kind: Kind, text: str = "") -> Edit:
    return Edit(_start(node), _end(node), kind, text)


def _start(node: ast.expr | ast.stmt) -> Position:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
