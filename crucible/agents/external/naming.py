"""Calls of agent CLIs as calls of the built-in tools, so that a scenario's policies can be asked about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from crucible.scenario.schema import PATH_ARGUMENT

_TOOLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bash", "shell", "exec_command", "local_shell", "command_execution", "run_shell_command"), "bash"),
    **dict.fromkeys(("execute", "terminal", "run_command"), "bash"),
    **dict.fromkeys(("read", "read_file", "view", "cat"), "read_file"),
    **dict.fromkeys(("write", "write_file", "create_file", "delete", "move"), "write_file"),
    **dict.fromkeys(("edit", "multiedit", "replace", "edit_file", "str_replace", "patch", "notebookedit"), "edit_file"),
    **dict.fromkeys(("ls", "glob", "list", "list_directory", "list_files", "find_files"), "list_files"),
    **dict.fromkeys(("grep", "search", "search_file_content", "grep_search"), "search"),
}
_PATHS: Final = ("path", "file_path", "filePath", "absolute_path", "notebook_path", "dir_path")
_COMMANDS: Final = ("command", "cmd", "script")


def as_builtin(tool: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The built-in tool that does the same, with its names for a path and a command; else the call as it is."""
    name = _TOOLS.get(tool.lower())
    if name is None:
        return tool, dict(arguments)
    said = dict(arguments)
    path = next((said[key] for key in _PATHS if isinstance(said.get(key), str)), None)
    if path is not None:
        said[PATH_ARGUMENT] = path
    command = next((said[key] for key in _COMMANDS if key in said), None)
    if name == "bash" and command is not None:
        said["command"] = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    return name, said
