"""Whether the arguments of a call are the ones that were expected, and what differs, argument by argument.

The direction is fixed: the actual call is held against the expected one. A rule says what the actual call may do:

    exact      the same arguments
    at-least   the expected ones; more are allowed          (elsewhere called superset)
    only-from  nothing but the expected ones; some may be left out  (elsewhere called subset)
    ignore     anything

A mode counts the arguments themselves; the value of an argument is always compared whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from crucible.scoring.trajectory.values import json_equal, show
from crucible.transcript.neutral import UNKNOWN, Arguments

Path = str | tuple[str | int, ...]
"""Where a value is: the name of an argument, or the steps into it, `("filter", "ids", 0)`."""
Check = Callable[[Mapping[str, Any], Mapping[str, Any]], object]
"""A check of one's own, called as `check(actual, expected)`, always in this order; its truth counts."""


class ArgsMode(StrEnum):
    """What the actual arguments may be, beside what is expected. `superset` and `subset` are understood."""

    EXACT = "exact"
    AT_LEAST = "at-least"
    ONLY_FROM = "only-from"
    IGNORE = "ignore"

    @classmethod
    def _missing_(cls, value: object) -> ArgsMode | None:
        return {"superset": cls.AT_LEAST, "subset": cls.ONLY_FROM}.get(str(value))


class Absent(Enum):
    """The type of `ABSENT`: an argument that is not there, which is not the same as null."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
DEEPEST = 16
"""How many steps into a value a difference is traced; what lies deeper is shown whole."""


@dataclass(frozen=True, slots=True)
class ArgsRule:
    """How the arguments of one tool are compared.

    `ignore` are paths that are left out on both sides. `only` are the paths that are compared, and nothing else; a path
    that is on neither side is the same on both. `check` replaces all of it by a function.
    """

    mode: ArgsMode = ArgsMode.EXACT
    ignore: tuple[Path, ...] = ()
    only: tuple[Path, ...] = ()
    check: Check | None = None

    @classmethod
    def of(cls, rule: ArgsRule | ArgsMode | str | Check) -> ArgsRule:
        """A rule from its short form: a mode or its name, or a function. ValueError for an unknown name."""
        if isinstance(rule, ArgsRule):
            return rule
        return cls(ArgsMode(rule)) if isinstance(rule, str) else cls(check=rule)


EXACT: Final = ArgsRule()
IGNORE: Final = ArgsRule(ArgsMode.IGNORE)


@dataclass(frozen=True, slots=True)
class ArgumentDifference:
    """One argument, or one place within it, that differs. ABSENT is a side that does not have it."""

    path: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        if self.actual is ABSENT:
            return f"{self.path}: expected {show(self.expected)}, got none"
        if self.expected is ABSENT:
            return f"{self.path}: not expected, got {show(self.actual)}"
        return f"{self.path}: expected {show(self.expected)}, got {show(self.actual)}"


def fits(actual: Arguments, expected: Arguments, rule: ArgsRule = EXACT) -> bool | None:
    """Whether the actual arguments are as the rule wants them; None when they are unknown and it matters.

    Expected arguments that are UNKNOWN expect nothing. Arguments that could not be read (None) fit nothing.
    """
    if expected is UNKNOWN or (rule.mode is ArgsMode.IGNORE and rule.check is None and not rule.only):
        return True
    if actual is UNKNOWN:
        return None
    if actual is None or expected is None:
        return False
    if rule.check is not None:
        return bool(rule.check(actual, expected))
    if rule.only:
        return all(json_equal(_at(actual, path), _at(expected, path)) for path in rule.only)
    return _by_mode(_without(actual, rule.ignore), _without(expected, rule.ignore), rule.mode)


def _by_mode(actual: Mapping[str, Any], expected: Mapping[str, Any], mode: ArgsMode) -> bool:
    if mode is ArgsMode.EXACT:
        return len(actual) == len(expected) and json_equal(actual, expected)
    whole, part = (actual, expected) if mode is ArgsMode.AT_LEAST else (expected, actual)
    return all(name in whole and json_equal(whole[name], value) for name, value in part.items())


def argument_differences(actual: Arguments, expected: Arguments, rule: ArgsRule = EXACT) -> list[ArgumentDifference]:
    """What the rule finds wrong, in the order of the expected arguments, then of the others. Empty: nothing.

    A difference within a value is named by its place. What a function of one's own objects to is not known.
    """
    if not isinstance(actual, Mapping) or not isinstance(expected, Mapping) or rule.check is not None:
        return []
    if rule.only:
        pairs = [(_name(path), _at(expected, path), _at(actual, path)) for path in rule.only]
    else:
        wanted, given = _without(expected, rule.ignore), _without(actual, rule.ignore)
        names = [*_named(wanted, given, rule.mode)]
        pairs = [(name, wanted.get(name, ABSENT), given.get(name, ABSENT)) for name in names]
    return [found for name, want, got in pairs for found in _inside(name, want, got)]


def _named(expected: Mapping[str, Any], actual: Mapping[str, Any], mode: ArgsMode) -> Iterator[str]:
    if mode is ArgsMode.IGNORE:
        return
    yield from (name for name in expected if name in actual or mode is not ArgsMode.ONLY_FROM)
    if mode is not ArgsMode.AT_LEAST:
        yield from (name for name in actual if name not in expected)


def _inside(path: str, expected: Any, actual: Any) -> list[ArgumentDifference]:
    """The places where two values differ: looks into objects, and into lists of one length, down to DEEPEST."""
    found: list[ArgumentDifference] = []
    waiting = [(path, expected, actual, 0)]
    while waiting:
        here, want, got, depth = waiting.pop()
        inner = [] if depth == DEEPEST else _parts(here, want, got)
        waiting.extend((place, one, other, depth + 1) for place, one, other in reversed(inner))
        if not inner and not json_equal(want, got):
            found.append(ArgumentDifference(here, want, got))
    return found


def _parts(here: str, want: Any, got: Any) -> list[tuple[str, Any, Any]]:
    """The parts of two values of one shape side by side; none when they have none, or not the same shape."""
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        names = [*want, *(name for name in got if name not in want)]
        return [(f"{here}.{name}", want.get(name, ABSENT), got.get(name, ABSENT)) for name in names]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [(f"{here}[{at}]", one, other) for at, (one, other) in enumerate(zip(want, got, strict=True))]
    return []


def _at(args: Any, path: Path) -> Any:
    """The value at a path, ABSENT when there is none."""
    for step in (path,) if isinstance(path, str) else path:
        named = isinstance(step, str) and isinstance(args, Mapping) and step in args
        placed = isinstance(step, int) and isinstance(args, list) and -len(args) <= step < len(args)
        if not (named or placed):
            return ABSENT
        args = args[step]
    return args


def _name(path: Path) -> str:
    if isinstance(path, str):
        return path
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _without(args: Mapping[str, Any], paths: tuple[Path, ...]) -> Mapping[str, Any]:
    """The arguments without what stands at these paths; the original is left alone."""
    for path in paths:
        steps = (path,) if isinstance(path, str) else path
        if _at(args, path) is not ABSENT:
            args = _removed(args, steps)
    return args


def _removed(value: Any, steps: tuple[str | int, ...]) -> Any:
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    first, *rest = steps
    if rest:
        copy[first] = _removed(copy[first], tuple(rest))
    else:
        del copy[first]
    return copy
