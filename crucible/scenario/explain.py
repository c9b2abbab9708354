"""What pydantic found wrong with a frontmatter -> lines a person can act on: what, got what, nearest known name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from crucible.errors import nearest
from crucible.scenario.scalars import NOTHING, Misread, as_number
from crucible.scenario.schema import PATTERN_WORDS, Scenario
from crucible.scenario.tree import UNUSABLE, Finding, Loc, Tree, Value, dotted
from crucible.scenario.words import clip, shown

_TYPES = {
    "string_type": "text",
    "string_unicode": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "keys and values",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
}
_NUMBERS = {"int_type", "float_type"}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
}
_KEY = "[key]"
"""Last in the place of a complaint about a key itself."""
_COUNTED = {"too_short", "too_long"}
"""Pydantic counts valid items only; `checks` counts what the file has."""


def explain(tree: Tree, error: ValidationError) -> Iterator[Finding]:
    """Every problem of `error` with the line it is on. What was reported before is left out."""
    for one in error.errors(include_url=False, include_input=False):
        loc: Loc = one["loc"]
        kind, context = one["type"], one.get("ctx", {})
        if kind in _COUNTED:
            continue
        if kind == "missing":
            end = f" in the frontmatter, which ends on line {tree.end}" if len(loc) == 1 else ""
            yield tree.line(loc[:-1]), f"{_owner(loc)}missing key '{loc[-1]}'{end}"
        elif kind == "extra_forbidden":
            yield tree.line(loc), f"{_owner(loc)}unknown key {shown(str(loc[-1]))}{_known_keys(loc)}"
        elif loc and loc[-1] == _KEY:
            yield tree.line(loc[:-1]), _wrong_key(loc[:-1], kind, context)
        elif kind == "value_error":
            yield tree.line(loc), f"{_name(loc)}: {context['error']}"
        elif (value := tree.value(loc)) is not UNUSABLE:
            yield tree.line(loc), _mismatch(tree, loc, value, kind, context) or f"{_name(loc)}: {one['msg']}"


def _name(loc: Loc) -> str:
    return dotted(loc) or "the frontmatter"


def _owner(loc: Loc) -> str:
    return f"{dotted(loc[:-1])}: " if len(loc) > 1 else ""


def _wrong_key(loc: Loc, kind: str, context: dict[str, Any]) -> str:
    key = str(loc[-1])
    wanted = _wanted(kind, context, key) or f"another ({kind})"
    return f"{_owner(loc)}a key must be {wanted}, got {shown(key)}"


def _mismatch(tree: Tree, loc: Loc, value: Value, kind: str, context: dict[str, Any]) -> str | None:
    """One line on a value that is there but not right; None for a kind without words here."""
    if value == NOTHING:
        return f"{_name(loc)} has no value; give it one or delete the key"
    wanted = _wanted(kind, context, value)
    if wanted is None:
        return None
    written = tree.written.get(loc)
    if kind in _NUMBERS and isinstance(value, str) and (number := as_number(value)):
        got = f"{written}, which YAML reads as text" if written else f"the text {shown(value)}"
        return f"{_name(loc)} must be {wanted}, got {got}; write {number}"
    return f"{_name(loc)} must be {wanted}, got {_got(value, written)}{_advice(kind, context, value, written)}"


def _wanted(kind: str, context: dict[str, Any], value: Value) -> str | None:
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{words} {context[key]:g}"
    if kind == "literal_error":
        return "one of " + ", ".join(_choices(context))
    if kind == "string_pattern_mismatch":
        return PATTERN_WORDS.get(context["pattern"], f"text like {context['pattern']}")
    if kind == "string_too_long":
        return f"at most {context['max_length']} characters, has {len(str(value))}"
    return _TYPES.get(kind)


def _got(value: Value, written: str | None) -> str:
    """The value as the file has it, and what YAML reads it as where that is not the same."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, tuple):
        return "a list"
    reading = value.meaning if isinstance(value, Misread) else json.dumps(value)
    if written is None or written == reading:
        return reading
    return f"{clip(written)}, which YAML reads as {reading}"


def _advice(kind: str, context: dict[str, Any], value: Value, written: str | None) -> str:
    if kind == "literal_error":
        return nearest(written or str(value), _choices(context))
    if kind == "string_type" and written is not None:
        return f"; quote it: {json.dumps(clip(written))}"
    if kind in _NUMBERS and isinstance(value, Misread):
        return "; write a plain decimal number"
    if kind == "bool_type" and str(value).lower() in {"true", "false"}:
        return f", which is text; write {str(value).lower()} without quotes"
    if kind == "tuple_type" and isinstance(value, str) and re.fullmatch(r"[\w./-]{1,60}", value):
        return f"; write [{value}]"
    return ""


def _choices(context: dict[str, Any]) -> list[str]:
    return re.findall(r"'([^']*)'", str(context["expected"]))


def _known_keys(loc: Loc) -> str:
    model = _model_at(loc[:-1])
    keys = [field.alias or name for name, field in model.model_fields.items()]
    return nearest(str(loc[-1]), keys) or f"; known keys: {', '.join(keys)}"


def _model_at(loc: Loc) -> type[BaseModel]:
    """The model that describes the mapping at `loc`. Names that the file gives (of servers) are passed over."""
    model: type[BaseModel] = Scenario
    for part in loc:
        if (field := model.model_fields.get(str(part))) is not None:
            model = next(_models_in(field.annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
