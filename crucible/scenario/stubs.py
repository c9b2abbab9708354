"""Stub tools of a frozen failure: what a tool is called, what it takes, and what it does to the fake context.

    {"name": "archive_ticket", "parameters": {"ticket_id": "string"},
     "moves": {"in": "tickets", "where": {"id": "ticket_id"}, "to": "archive"}}

One effect each, on a list in the context: `lists`, `adds`, `moves`, `deletes` or `sets`; or none, and only `returns`.
`where` holds item keys against arguments. `fails` makes calls answer an error, the first `times` of them or all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from crucible.errors import nearest
from crucible.scenario.failure_text import Read
from crucible.scenario.words import shown

Does = Literal["lists", "adds", "moves", "deletes", "sets"]
EFFECTS: Final[tuple[Does, ...]] = get_args(Does)
KEYS: Final = ("name", "description", "parameters", "returns", "fails", *EFFECTS)
TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
_EFFECT_KEYS: Final[dict[Does, tuple[str, ...]]] = {
    "lists": ("in", "where"),
    "adds": ("in",),
    "moves": ("in", "where", "to"),
    "deletes": ("in", "where"),
    "sets": ("in", "where", "values"),
}
NOTHING_GIVEN: Final = object()
"""In `StubTool.returns`: the answer is what the effect found. Not None, which is an answer."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call does to the list `within` of the context; `where` maps keys of its items to arguments of the call."""

    does: Does
    within: str
    where: Mapping[str, str] = field(default_factory=dict)
    to: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StubTool:
    """One tool. `parameters` is a JSON Schema; `fails_with` is what the first `fails_times` calls answer (None: all)."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    effect: Effect | None = None
    returns: Any = NOTHING_GIVEN
    fails_with: str | None = None
    fails_times: int | None = None


def read_stubs(value: Any, context: Any, read: Read) -> tuple[StubTool, ...]:
    """The stub tools of a file; what is wrong with them is noted in `read`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        read.wrong(f"stub_tools must be a list of tools, got {shown(str(value))}", "stub_tools")
        return ()
    stubs = [_Stub(one, at, context, read).tool() for at, one in enumerate(value)]
    names = [stub.name for stub in stubs if stub]
    for at, name in enumerate(names):
        if name in names[:at]:
            read.wrong(f"stub_tools: two tools are called {shown(name)}", "stub_tools", at, "name")
    return tuple(stub for stub in stubs if stub)


class _Stub:
    """Reads one tool."""

    def __init__(self, data: Any, at: int, context: Any, read: Read) -> None:
        self.data = data
        self.loc: tuple[str | int, ...] = ("stub_tools", at)
        self.context = context if isinstance(context, dict) else {}
        self.read = read

    def wrong(self, what: str, *loc: str | int) -> None:
        self.read.wrong(f"stub_tools.{self.loc[1]}: {what}", *self.loc, *loc)

    def tool(self) -> StubTool | None:
        if not isinstance(self.data, dict) or not isinstance(self.data.get("name"), str) or not self.data["name"]:
            self.wrong(f"a tool is keys and values with a name, got {shown(str(self.data))}")
            return None
        for key in self.data.keys() - set(KEYS):
            near = nearest(key, KEYS) or f"; known keys: {', '.join(KEYS)}"
            self.wrong(f"unknown key {shown(key)}{near}", key)
        parameters = self._parameters(self.data.get("parameters", {}))
        fails_with, fails_times = self._fails(self.data.get("fails"))
        return StubTool(
            self.data["name"],
            self._text("description"),
            parameters,
            self._effect(parameters),
            self.data.get("returns", NOTHING_GIVEN),
            fails_with,
            fails_times,
        )

    def _text(self, key: str) -> str:
        value = self.data.get(key, "")
        if not isinstance(value, str):
            self.wrong(f"{key} must be text, got {shown(str(value))}", key)
            return ""
        return value

    def _parameters(self, value: Any) -> dict[str, Any]:
        """A JSON Schema as it stands, or made of `{ticket_id: string, note: string?}`, `?` for one that may be missing."""
        if not isinstance(value, dict):
            self.wrong(f"parameters must be types by name, got {shown(str(value))}", "parameters")
            value = {}
        if value.get("type") == "object" and isinstance(value.get("properties"), dict):
            return dict(value)
        properties = {name: self._type(name, one) for name, one in value.items()}
        required = [name for name, one in value.items() if not (isinstance(one, str) and one.endswith("?"))]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _type(self, name: str, one: Any) -> dict[str, Any]:
        if isinstance(one, dict):
            return one
        word = str(one).removesuffix("?")
        if word not in TYPES:
            known = f"{', '.join(TYPES)}{nearest(word, TYPES)}"
            self.wrong(f"parameters.{name} must be one of {known}; got {shown(str(one))}", "parameters", name)
        return {"type": word}

    def _fails(self, value: Any) -> tuple[str | None, int | None]:
        if value is None:
            return None, None
        if isinstance(value, str) and value:
            return value, None
        good = isinstance(value, dict) and isinstance(value.get("with"), str) and not value.keys() - {"with", "times"}
        times = value.get("times") if good else None
        if not good or isinstance(times, bool) or not (times is None or (isinstance(times, int) and times >= 1)):
            self.wrong(f"fails is a text, or {{with: text, times: at least 1}}; got {shown(str(value))}", "fails")
            return None, None
        return value["with"], times

    def _effect(self, parameters: Mapping[str, Any]) -> Effect | None:
        asked = [key for key in EFFECTS if key in self.data]
        if len(asked) > 1:
            self.wrong(f"a tool has one effect, got {' and '.join(asked)}", asked[1])
        if not asked:
            return None
        does, told = asked[0], self.data[asked[0]]
        if not isinstance(told, dict) or not isinstance(told.get("in"), str):
            self.wrong(f"{does} says the list it works on: {{in: …}}; got {shown(str(told))}", does)
            return None
        for key in told.keys() - set(_EFFECT_KEYS[does]):
            self.wrong(f"{does}: unknown key {shown(key)}{nearest(key, _EFFECT_KEYS[does])}", does, key)
        for key in _EFFECT_KEYS[does]:
            if key not in told and does != "lists":
                self.wrong(f"{does}: missing key '{key}'", does)
        return self._checked(does, told, parameters)

    def _checked(self, does: Does, told: dict[str, Any], parameters: Mapping[str, Any]) -> Effect:
        within, where = told["in"], told.get("where", {})
        if does != "adds" and not isinstance(self.context.get(within), list):
            known = [key for key, value in self.context.items() if isinstance(value, list)]
            self.wrong(f"{does}: the context has no list {shown(within)}{nearest(within, known)}", does, "in")
        taken = cast("dict[str, Any]", parameters.get("properties", {}))
        if not isinstance(where, dict) or not all(isinstance(one, str) for one in where.values()):
            self.wrong(f"{does}: where holds keys of items against parameters; got {shown(str(where))}", does, "where")
            where = {}
        for name in where.values():
            if name not in taken:
                self.wrong(f"{does}: no parameter {shown(name)}{nearest(name, taken)}", does, "where")
        to, values = told.get("to"), told.get("values", {})
        if to is not None and not isinstance(to, str):
            self.wrong(f"{does}: to is the name of a list; got {shown(str(to))}", does, "to")
        if not isinstance(values, dict):
            self.wrong(f"{does}: values are values by key; got {shown(str(values))}", does, "values")
            values = {}
        return Effect(does, within, where, to if isinstance(to, str) else None, values)
