"""What the toolbox can do: the tools an agent calls, and the operations only the harness calls."""

from __future__ import annotations

import errno
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from . import placing, search, shell
from .files import ToolError, Workspace
from .shell import ignore

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from typing import Any

    from .frames import Frame

REQUIRED: dict[str, dict[str, type]] = {
    "read_file": {"path": str},
    "write_file": {"path": str, "content": str},
    "edit_file": {"path": str, "old": str, "new": str},
    "list_files": {},
    "search": {"pattern": str},
    "bash": {"command": str},
}
"""What each tool must be given, by name and kind."""
OPTIONAL: dict[str, dict[str, type]] = {
    "read_file": {"offset": int, "limit": int},
    "write_file": {},
    "edit_file": {"all": bool},
    "list_files": {"path": str, "glob": str},
    "search": {"path": str, "glob": str},
    "bash": {"timeout": float},
}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class Operations:
    """The workspace, its limits, and everything that can be asked of them."""

    def __init__(self, root: str, *, call_seconds: float, output_bytes: int, drain_bytes: int) -> None:
        self._workspace = Workspace(root, output_bytes=output_bytes)
        self._seconds = call_seconds
        self._keep = output_bytes
        self._drain = drain_bytes
        self._tools: dict[str, Callable[..., Frame]] = {
            "read_file": self._read_file,
            "write_file": self._write_file,
            "edit_file": self._edit_file,
            "list_files": self._list_files,
            "search": self._search,
            "bash": self._bash,
        }
        self._internal: dict[str, Callable[..., Frame]] = {
            "resolve": self._resolve,
            "remove": self._remove,
            "put": self._put,
            "execute": self._execute,
        }

    def answer(self, request: Frame) -> Frame:
        """The result of one request. What goes wrong on the tool's side is a result too."""
        started = time.monotonic()
        arguments = request["arguments"]
        try:
            if "tool" in request:
                given = checked(request["tool"], arguments)
                found = self._tools[request["tool"]](**given)
            else:
                found = self._internal[request["operation"]](**arguments)
        except (ToolError, _LateError, OSError, ValueError, MemoryError, RecursionError) as error:
            found = {"ok": False, "text": _told(error, arguments), "timed_out": isinstance(error, _LateError)}
        return {"ok": True, "text": "", "seconds": time.monotonic() - started, **found}

    def _read_file(self, path: str, offset: int = 1, limit: int | None = None) -> Frame:
        with _within(self._seconds):
            text, size = self._workspace.read(path, offset, limit)
        return {"text": text, "size": size}

    def _write_file(self, path: str, content: str) -> Frame:
        return {"text": self._workspace.write(path, content)}

    def _edit_file(self, path: str, old: str, new: str, **options: bool) -> Frame:
        return {"text": self._workspace.edit(path, old, new, everywhere=options.get("all", False))}

    def _list_files(self, path: str = ".", glob: str | None = None) -> Frame:
        with _within(self._seconds):
            text, size = search.list_files(self._workspace, path, glob)
        return {"text": text, "size": size}

    def _search(self, pattern: str, path: str = ".", glob: str | None = None) -> Frame:
        with _within(self._seconds):
            text, size = search.search(self._workspace, pattern, path, glob)
        return {"text": text, "size": size}

    def _bash(self, command: str, timeout: float = math.inf) -> Frame:
        if not timeout > 0:
            raise ToolError("timeout is in seconds, more than 0")
        seconds = min(timeout, self._seconds)
        ran = self._run(command, seconds, dict(os.environ))
        notes = _notes(ran, seconds, self._drain)
        return {
            "ok": ran.exit_code is not None,
            "text": "\n".join([ran.output.text().rstrip("\n") or "[no output]", *notes]),
            "size": ran.output.size,
            "exit_code": ran.exit_code,
            "timed_out": ran.timed_out,
        }

    def _execute(self, command: str, seconds: float, env: dict[str, str]) -> Frame:
        ran = self._run(command, seconds, {**os.environ, **env})
        return {"text": ran.output.text(), "size": ran.output.size, "exit_code": ran.exit_code}

    def _run(self, command: str, seconds: float, env: dict[str, str]) -> shell.Ran:
        return shell.run(command, seconds, keep=self._keep, drain=self._drain, env=env)

    def _resolve(self, path: str) -> Frame:
        real = self._workspace.follow(path)
        return {"text": real, "inside": self._workspace.relative(real) if self._workspace.holds(real) else None}

    def _remove(self, paths: list[str]) -> Frame:
        placing.remove(self._workspace.root, paths)
        return {}

    def _put(self, files: list[dict[str, Any]]) -> Frame:
        placing.put(self._workspace.root, files)
        return {}


def checked(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each known and of its kind; null is as good as absent. Raises ToolError."""
    if tool not in REQUIRED:
        raise ToolError(f"no tool {tool!r}; there are {', '.join(REQUIRED)}")
    known = REQUIRED[tool] | OPTIONAL[tool]
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in sorted(given.keys() - known.keys()):
        raise ToolError(f"{tool} has no argument {name!r}; it takes {', '.join(known)}")
    for name in REQUIRED[tool].keys() - given.keys():
        raise ToolError(f"{tool} needs {name!r}")
    for name, value in given.items():
        if not _is_a(value, known[name]):
            raise ToolError(f"{tool}: {name!r} is {_WORDS[known[name]]}, got {value!r:.80}")
    return given


def _is_a(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is kind


def _notes(ran: shell.Ran, seconds: float, drain: int) -> list[str]:
    if ran.timed_out:
        return [f"[stopped: not done after {seconds:g} seconds]"]
    if ran.exit_code is None:
        return [f"[stopped: it wrote more than {drain} bytes]"]
    if ran.exit_code < 0:
        return [f"[ended by signal {-ran.exit_code}]"]
    return [f"[exit code {ran.exit_code}]"] if ran.exit_code else []


def _told(error: Exception, arguments: Mapping[str, Any]) -> str:
    if isinstance(error, ToolError):
        return str(error)
    about = str(arguments.get("path") or arguments.get("command") or "")[:200]
    if isinstance(error, OSError):
        is_protected = error.errno in (errno.EROFS, errno.EBUSY)
        return f"{about}: {'protected, cannot be written' if is_protected else error.strerror}"
    return f"{about!r}: {error or type(error).__name__}"


class _LateError(Exception):
    def __str__(self) -> str:
        return "stopped: took too long"


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Bound what only reads, a regular expression that explodes included: the matcher looks for signals."""

    def stop(*_: object) -> None:
        raise _LateError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, ignore)
