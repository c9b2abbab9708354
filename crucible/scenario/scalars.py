"""What YAML 1.1 makes of a plain scalar, kept only where every reader would make the same of it.

`no` is false and `60_000` is a number, as in PyYAML. What people never mean (`010` is 8, `12:30` is 750, a date
is an object, nothing at all is null) becomes a `Misread`, which no field accepts and which says what happened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

import yaml

Scalar: TypeAlias = "str | int | float | bool | Misread | None"

_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_TAG = "tag:yaml.org,2002:"
_TRUE = {"yes", "true", "on"}
_LONGEST_NUMBER = 100
_OCTAL = re.compile(r"[-+]?0[0-7_]+")


@dataclass(frozen=True, slots=True)
class Misread:
    """A plain scalar that YAML takes for something no scenario field holds; `meaning` says what, in words."""

    meaning: str


_UNHELD = Misread("a number that cannot be held")
NOTHING = Misread("nothing")
"""A key with no value after it."""


def read_plain(text: str) -> Scalar:
    """The value of an unquoted scalar. Never raises."""
    if not text:
        return NOTHING
    match kind := _kind(text):
        case "null":
            return None
        case "bool":
            return text.lower() in _TRUE
        case "timestamp":
            return Misread("a date")
        case "int" | "float":
            return _number(text, kind)
        case _:
            return text


def _kind(text: str) -> str:
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # untyped stub
    return str(tag).removeprefix(_TAG)


def _number(text: str, kind: str) -> int | float | Misread:
    if len(text) > _LONGEST_NUMBER:
        return _UNHELD
    try:
        if kind == "float":
            value = _CONSTRUCTOR.construct_yaml_float(yaml.ScalarNode(_TAG + kind, text))
        else:
            value = _CONSTRUCTOR.construct_yaml_int(yaml.ScalarNode(_TAG + kind, text))
    except (ValueError, OverflowError):
        return _UNHELD
    if ":" in text:
        return Misread(f"{value} (base 60)")
    if kind == "int" and _OCTAL.fullmatch(text):
        return Misread(f"{value} (octal)")
    return value


def as_number(text: str) -> str | None:
    """The plain decimal writing of a text that means a finite number (`1e3` -> `1000`), or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return f"{value:.15g}" if abs(value) < 1e15 else None
