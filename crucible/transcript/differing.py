"""In what two openings differ, part by part, each with a diff that people can read. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from crucible.transcript.opening import as_text, uninstructed

Opening = Mapping[str, Any]
Kind = Literal[
    "system prompt", "task", "tool", "order of tools", "model", "parameter", "server", "environment", "files", "other"
]

MOST_LINES = 60
"""Lines of one part's diff that are kept."""
MOST_COMPARED = 2000
"""Lines of each side that are compared; what comes after is only counted."""
WIDTH = 160
"""Longer lines are broken, so that a difference in a long one can be seen."""
OF_SYSTEM = ("system", "developer")
"""Roles of messages that are a system prompt."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing in which two openings differ. `name` says which tool, parameter or entry; `diff` is a unified diff.

    `side` is 0 or 1 when only that opening has it, None when both do.
    """

    kind: Kind
    name: str
    diff: str
    side: Literal[0, 1] | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


def differences(one: Opening, other: Opening, names: tuple[str, str] = ("one", "other")) -> tuple[Part, ...]:
    """Every part in which the second differs from the first; `names` head the diffs."""
    return tuple(_parts(one, other, names))


def _parts(one: Opening, other: Opening, names: tuple[str, str]) -> Iterator[Part]:
    yield from _messages(one, other, names)
    yield from _tools(one, other, names)
    for key in ("model", "files"):
        yield from _part(key, "", _absent_as_none(one, other, key), names)
    for kind, of in (("parameter", _parameters), ("server", _servers), ("environment", _environment)):
        mine, theirs = of(one), of(other)
        for entry in sorted({*mine, *theirs}):
            yield from _part(kind, entry, _absent_as_none(mine, theirs, entry), names)
    for key in sorted({*one, *other} - {"messages", "tools", "model", "files", "parameters", "environment"}):
        yield from _part("other", key, _absent_as_none(one, other, key), names)


def _parameters(opening: Opening) -> Mapping[str, Any]:
    return opening.get("parameters") or {}


def _servers(opening: Opening) -> Mapping[str, Any]:
    """Its tool servers by name, where they are given so."""
    servers = (opening.get("environment") or {}).get("servers")
    return servers if isinstance(servers, Mapping) else {}


def _environment(opening: Opening) -> Mapping[str, Any]:
    every = opening.get("environment") or {}
    return {key: value for key, value in every.items() if key != "servers" or not isinstance(value, Mapping)}


def _messages(one: Opening, other: Opening, names: tuple[str, str]) -> Iterator[Part]:
    for kind, of_system in (("system prompt", True), ("task", False)):
        both = [
            [_own(m, side) for m in side.get("messages") or [] if (m.get("role") in OF_SYSTEM) is of_system]
            for side in (one, other)
        ]
        yield from _part(kind, "", (_said(both[0]), _said(both[1])), names)


def _own(message: Mapping[str, Any], opening: Opening) -> Mapping[str, Any]:
    """A message without what tool servers added to it: that is a part of theirs."""
    content = message.get("content")
    if message.get("role") not in OF_SYSTEM or not isinstance(content, str):
        return message
    return {**message, "content": uninstructed(content, opening)}


def _said(messages: Sequence[Mapping[str, Any]]) -> Any:
    """The text of a single message, which reads best; else all of them."""
    if len(messages) == 1 and messages[0].get("role") in (*OF_SYSTEM, "user"):
        return messages[0].get("content")
    return list(messages) or None


def _tools(one: Opening, other: Opening, names: tuple[str, str]) -> Iterator[Part]:
    mine, theirs = (_by_name(side.get("tools") or []) for side in (one, other))
    for tool in dict.fromkeys([*mine, *theirs]):
        yield from _part("tool", tool, (mine.get(tool), theirs.get(tool)), names)
    shared = [[tool for tool in side if tool in mine and tool in theirs] for side in (mine, theirs)]
    yield from _part("order of tools", "", ("\n".join(shared[0]), "\n".join(shared[1])), names)


def _by_name(tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Tools by name; should two have one name, the later ones are told apart by their place."""
    found: dict[str, Any] = {}
    for tool in tools:
        name = str(tool.get("name"))
        found[name if name not in found else f"{name} ({len(found)})"] = tool
    return found


def _absent_as_none(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> tuple[Any, Any]:
    return one.get(key), other.get(key)


def _part(kind: Any, name: str, values: tuple[Any, Any], names: tuple[str, str]) -> Iterator[Part]:
    one, other = values
    if as_text({"": one}) == as_text({"": other}):
        return
    side: Literal[0, 1] | None = 0 if other is None else 1 if one is None else None
    shown = _diff(*_lines(_text(one), _text(other)), names)
    # "1" and 1, or an escape and what it stands for, look the same unless they are quoted.
    yield Part(kind, name, shown or _diff([json.dumps(one)], [json.dumps(other)], names), side)


def _text(value: Any) -> str | None:
    """A value as it is read; None for one that is not there."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)


def _lines(one: str | None, other: str | None) -> tuple[list[str], list[str]]:
    """Lines that can be compared. Where some are long, all are broken, and once where the texts begin to differ and once
    where they are the same again."""
    if one and other and any(len(line) > WIDTH for text in (one, other) for line in text.split("\n")):
        start = _alike(one, other)
        end = _alike(one[start:][::-1], other[start:][::-1])
        one, other = ("\n".join((t[:start], t[start : len(t) - end], t[len(t) - end :])) for t in (one, other))
    return _broken(one), _broken(other)


def _alike(one: str, other: str) -> int:
    """With how many characters both begin."""
    unlike = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(unlike, min(len(one), len(other)))


def _broken(text: str | None) -> list[str]:
    lines = [] if text is None else [_shown(line) for line in text.split("\n")]
    return [line[at : at + WIDTH] for line in lines for at in range(0, max(1, len(line)), WIDTH)]


def _shown(line: str) -> str:
    """What could act on a terminal, or would not be seen, as an escape."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in line)


def _diff(one: list[str], other: list[str], names: tuple[str, str]) -> str:
    left_out = max(len(one), len(other)) - MOST_COMPARED
    made = difflib.unified_diff(one[:MOST_COMPARED], other[:MOST_COMPARED], *names, n=2, lineterm="")
    kept = list(islice(made, MOST_LINES + 1))
    if len(kept) > MOST_LINES:
        kept[MOST_LINES:] = ["[... the rest of the difference is left out ...]"]
    elif left_out > 0:
        kept.append(f"[... {left_out} further lines were not looked at ...]")
    return "\n".join(kept)
