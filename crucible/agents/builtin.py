"""The built-in tools as a model is told of them. They run inside the world's toolbox."""

from __future__ import annotations

from typing import Any

from crucible.scenario.schema import TOOL_ARGUMENTS, WRITING_TOOLS
from crucible.transcript.messages import ToolSpec

_PATH = {"type": "string", "description": "Path relative to /workspace."}
_ABOUT: dict[str, tuple[str, dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "read_file": (
        "Read a text file.",
        {
            "path": _PATH,
            "offset": {"type": "integer", "minimum": 1, "description": "First line to read, from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "Most lines to read."},
        },
        ("path",),
    ),
    "write_file": (
        "Write a whole file, making its folders; replaces what was there.",
        {"path": _PATH, "content": {"type": "string", "description": "The new text of the file."}},
        ("path", "content"),
    ),
    "edit_file": (
        "Replace a piece of a file. The old text must occur exactly once unless `all` is true.",
        {
            "path": _PATH,
            "old": {"type": "string", "minLength": 1, "description": "Text to replace, exactly as it stands."},
            "new": {"type": "string", "description": "Text to put in its place."},
            "all": {"type": "boolean", "description": "Replace every occurrence."},
        },
        ("path", "old", "new"),
    ),
    "list_files": (
        "List files and folders below a folder.",
        {"path": _PATH, "glob": {"type": "string", "description": "Only paths matching this glob, such as **/*.py."}},
        (),
    ),
    "search": (
        "Search files for a regular expression; gives path:line: text.",
        {
            "pattern": {"type": "string", "minLength": 1, "description": "Python regular expression."},
            "path": _PATH,
            "glob": {"type": "string", "description": "Only files matching this glob."},
        },
        ("pattern",),
    ),
    "bash": (
        "Run a shell command in /workspace; gives its output and exit code. No terminal, no input.",
        {
            "command": {"type": "string", "minLength": 1, "description": "The command."},
            "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds before it is stopped."},
        },
        ("command",),
    ),
}


def builtin_tools() -> tuple[ToolSpec, ...]:
    """Specs of the built-in tools, in a fixed order."""
    return tuple(_spec(name) for name in TOOL_ARGUMENTS)


def _spec(name: str) -> ToolSpec:
    description, properties, required = _ABOUT[name]
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, writes=name in WRITING_TOOLS or name == "bash")
