"""What a call writes, read from its arguments: where to, what it puts there, and in the place of what. Pure.

Known are the built-in tools that write, their equivalents in agent CLIs, and shell commands that write by their words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from crucible.agents.external.naming import as_builtin
from crucible.report.commands import command_of, shell_writes, target
from crucible.scenario.schema import WRITING_TOOLS

_PATCHES: Final = frozenset({"apply_patch", "file_change"})
_EDITORS: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""Tools of several commands, of which only some write."""
_EDITOR_WRITES: Final = frozenset({"create", "str_replace", "insert", "undo_edit"})
_NEW: Final = ("new", "new_string", "new_str", "content", "contents", "file_text", "new_source", "insert_text", "patch")
_OLD: Final = ("old", "old_string", "old_str")
_ASIDE: Final = frozenset({
    "path", "file_path", "filePath", "absolute_path", "notebook_path",
    "instruction", "description", "explanation", "expected_replacements",
})  # fmt: skip
"""Arguments that are the place, or remarks: no part of what is written."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What one call writes: `where`, empty for a shell command, which says it in its words; `content`, a digest, which is
    the same for two calls that write the same under other names for tool and arguments."""

    where: str
    content: str


def edit_of(tool: str, arguments: Mapping[str, Any] | None) -> Edit | None:
    """What a call writes by its words; None when it is not known to write. Whether it succeeded is another matter."""
    if arguments is None:
        return None
    command = command_of(tool, arguments)
    if command is not None:
        content = shell_writes(command)
        return None if content is None else Edit("", _digest(content))
    if not _writes(tool, arguments):
        return None
    said = {_name(name): value for name, value in arguments.items() if name not in _ASIDE and not _unset(value)}
    return Edit(target(*as_builtin(tool, arguments)), _digest(json.dumps(said, sort_keys=True, default=str)))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _writes(tool: str, arguments: Mapping[str, Any]) -> bool:
    if tool.lower() in _EDITORS:
        return arguments.get("command") in _EDITOR_WRITES
    return as_builtin(tool, arguments)[0] in WRITING_TOOLS or tool.lower() in _PATCHES


def _unset(value: object) -> bool:
    return value is None or value is False


def _name(argument: str) -> str:
    return "new" if argument in _NEW else "old" if argument in _OLD else argument


def new_lines(tool: str, arguments: Mapping[str, Any], known: Iterable[str] = (), most: int = 3) -> list[str]:
    """The first lines that a call brings: of the new text those that are neither in the old one nor in the texts given. A
    shell command's are its own words, and are left to it."""
    if command_of(tool, arguments) is not None:
        return []
    before = {line.strip() for text in (*_texts(arguments, _OLD), *known) for line in text.splitlines()}
    lines = (line.strip() for text in _texts(arguments, _NEW) for line in text.splitlines())
    return [line for line in lines if line and line not in before][:most]


def new_texts(arguments: Mapping[str, Any]) -> list[str]:
    """The texts a call brings."""
    return _texts(arguments, _NEW)


def _texts(arguments: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [text for name in names if isinstance(text := arguments.get(name), str)]
