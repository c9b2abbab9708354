"""Assertions as a scenario file writes them, read into an `Expectation`.

`expect_args` may be written in three ways; `match`, `ignore`, `only` and `succeeds` are optional:

    {archive_ticket: {ticket_id: T-481}}                      one call of a tool
    {archive_ticket: [{ticket_id: T-481}, {ticket_id: T-490}]}  several
    [{tool: archive_ticket, args: {ticket_id: T-481}, match: at-least, ignore: [reason]}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, TypeVar

from crucible.errors import UsageError, nearest
from crucible.scoring.trajectory.arguments import ArgsMode, ArgsRule, Path
from crucible.scoring.trajectory.expectation import ANY_TOOL, Caps, Expectation
from crucible.scoring.trajectory.expected import ExpectedCall
from crucible.scoring.trajectory.match import Order
from crucible.scoring.trajectory.naming import same_tool
from crucible.scoring.trajectory.values import show

KEYS = tuple(one.name for one in fields(Expectation))
"""The keys of a scenario file that are read here."""
_CALL_KEYS = ("tool", "args", "match", "ignore", "only", "succeeds")
_Words = TypeVar("_Words", bound=StrEnum)


class ExpectationError(UsageError):
    """Assertions that cannot be held against a run. `problems` are all of them: the key, and what is wrong with it."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{key}: {what}" for key, what in problems))


def parse_expectation(data: Mapping[str, Any]) -> Expectation:
    """Read the keys in `KEYS` of a scenario's data; other keys are left to others. ExpectationError lists every problem."""
    problems: list[tuple[str, str]] = []
    reader = _Reader(data, problems)
    expectation = Expectation(
        expect_tool=reader.names("expect_tool"),
        forbid_tool=reader.names("forbid_tool"),
        expect_args=tuple(reader.calls()),
        expect_order=reader.order(),
        expect_contains=reader.names("expect_contains"),
        forbid_contains=reader.names("forbid_contains"),
        recovers_from=(ANY_TOOL,) if data.get("recovers_from") is True else reader.names("recovers_from"),
        caps=reader.caps(),
    )
    problems += _contradictions(expectation)
    if not problems and not expectation.asserts:
        asserting = ", ".join(key for key in KEYS if key not in ("expect_order", "caps"))
        problems.append(("scenario", f"asserts nothing, so that every run would be green; give one of {asserting}"))
    if problems:
        raise ExpectationError(problems)
    return expectation


def _contradictions(expectation: Expectation) -> Iterator[tuple[str, str]]:
    for tool in expectation.forbid_tool:
        if any(same_tool(tool, wanted) for wanted in expectation.tools):
            yield "forbid_tool", f"{show(tool)} is expected and forbidden at once"
    for fact in expectation.forbid_contains:
        if fact in expectation.expect_contains:
            yield "forbid_contains", f"{show(fact)} is expected and forbidden at once"
    if expectation.expect_order is not None and not expectation.wanted:
        yield "expect_order", "says the order of no calls; give expect_tool or expect_args"


class _Reader:
    """Reads one key after the other and notes what is wrong."""

    def __init__(self, data: Mapping[str, Any], problems: list[tuple[str, str]]) -> None:
        self.data = data
        self.problems = problems

    def wrong(self, key: str, what: str) -> None:
        self.problems.append((key, what))

    def names(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key)
        if value is None:
            return ()
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(one, str) and one for one in listed):
            self.wrong(key, f"has to be a text or a list of texts, none of them empty; got {show(value)}")
            return ()
        return tuple(listed)

    def order(self) -> Order | None:
        value = self.data.get("expect_order")
        return None if value is None else self.word("expect_order", value, Order)

    def word(self, key: str, value: Any, words: type[_Words]) -> _Words | None:
        try:
            return words(value)
        except ValueError:
            known = [word.value for word in words]
            self.wrong(key, f"has to be one of {', '.join(known)}; got {show(value)}{nearest(str(value), known)}")
            return None

    def caps(self) -> Caps:
        value = self.data.get("caps")
        known = [one.name for one in fields(Caps)]
        if value is None:
            return Caps()
        if not isinstance(value, Mapping):
            self.wrong("caps", f"has to be limits by name ({', '.join(known)}); got {show(value)}")
            return Caps()
        good = {name: limit for name, limit in value.items() if self._is_limit(name, limit, known)}
        return Caps(**good)

    def _is_limit(self, name: Any, limit: Any, known: list[str]) -> bool:
        if name not in known:
            self.wrong("caps", f"knows no {show(name)}; one of {', '.join(known)}{nearest(str(name), known)}")
        elif isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
            self.wrong("caps", f"{name} has to be a number of at least 0; got {show(limit)}")
        return name in known and (not self.problems or self.problems[-1][0] != "caps")

    def calls(self) -> Iterator[ExpectedCall]:
        value = self.data.get("expect_args")
        if isinstance(value, Mapping) and value:
            for tool, args in value.items():
                for one in args if isinstance(args, list) else [args]:
                    yield from self._call({"tool": tool, "args": one})
        elif isinstance(value, list) and value:
            for one in value:
                yield from self._call(one)
        elif value is not None:
            self.wrong("expect_args", f"has to be arguments by tool, or a list of calls; got {show(value)}")

    def _call(self, one: Any) -> Iterator[ExpectedCall]:
        if (
            not isinstance(one, Mapping)
            or not isinstance(one.get("tool"), str)
            or not isinstance(one.get("args"), Mapping)
        ):
            self.wrong("expect_args", f"a call has a tool and an object of args; got {show(one)}")
            return
        for key in one:
            if key not in _CALL_KEYS:
                self.wrong(
                    "expect_args",
                    f"knows no {show(key)}; one of {', '.join(_CALL_KEYS)}{nearest(str(key), _CALL_KEYS)}",
                )
        mode = self.word("expect_args", one.get("match", "exact"), ArgsMode)
        rule = ArgsRule(mode or ArgsMode.EXACT, self._paths(one, "ignore"), self._paths(one, "only"))
        succeeds = one.get("succeeds", False)
        if not isinstance(succeeds, bool):
            self.wrong("expect_args", f"succeeds has to be true or false; got {show(succeeds)}")
        yield ExpectedCall(one["tool"], one["args"], rule, succeeds is True)

    def _paths(self, one: Mapping[str, Any], key: str) -> tuple[Path, ...]:
        listed = one.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(path, str | list) and path for path in listed):
            self.wrong("expect_args", f"{key} has to be a list of argument names or paths; got {show(listed)}")
            return ()
        return tuple(path if isinstance(path, str) else tuple(path) for path in listed)
