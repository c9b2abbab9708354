"""What the toolbox can do: the tools an agent calls, and the operations only the harness calls."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from . import placing, search, shell
from .files import ToolError, Workspace
from .limits import Limits
from .others import Others
from .watch import LateError, Watch

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from typing import Any

    from .frames import Frame
    from .programs import Programs

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

    def __init__(self, root: str, limits: Limits, watch: Watch, channel: int) -> None:
        self._workspace = Workspace(root, output_bytes=limits.output_bytes)
        self._seconds = limits.call_seconds
        self._limits = limits
        self._watch = watch
        self._channel = channel
        self._programs: Programs | None = None
        self._written = 0
        self._is_full = False
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
            "processes": self._processes,
        }

    def answer(self, request: Frame) -> Frame:
        """The result of one request. What goes wrong on the tool's side is a result too.

        `full` in a request says that the disk is. `limits` in the result are those exceeded since they were last told.
        """
        started = time.monotonic()
        self._is_full = request.get("full", False)
        told = "tool" in request or request["operation"] in ("execute", "processes")
        behind = self._watch.take() if told else None
        with self._watch.call():
            found = self._found(request)
        limits = [behind, found.get("limit"), self._watch.take() if told else None]
        if "tool" in request:
            notes = [f"[stopped in the background: {self._limits.why(name)}]" for name in (behind, limits[-1]) if name]
            found["text"] = "\n".join([found["text"], *notes])
        hit = [name for name in limits if name]
        return {"ok": True, "text": "", "seconds": time.monotonic() - started, **found, "limits": hit}

    def _found(self, request: Frame) -> Frame:
        arguments = request["arguments"]
        try:
            if "tool" in request:
                given = checked(request["tool"], arguments)
                return self._tools[request["tool"]](**given)
            operation = request["operation"]
            return (self._internal.get(operation) or self._beside().operations[operation])(**arguments)
        except (ToolError, LateError, OSError, ValueError, MemoryError, RecursionError) as error:
            return {"ok": False, "text": _told(error, arguments), "timed_out": isinstance(error, LateError)}

    def _read_file(self, path: str, offset: int = 1, limit: int | None = None) -> Frame:
        with self._watch.within(self._seconds):
            text, size = self._workspace.read(path, offset, limit)
        return {"text": text, "size": size}

    def _write_file(self, path: str, content: str) -> Frame:
        self._expect_room()
        return {"text": self._workspace.write(path, content)}

    def _edit_file(self, path: str, old: str, new: str, **options: bool) -> Frame:
        self._expect_room()
        with self._watch.within(self._seconds):  # not the writing, which has to be whole
            made = self._workspace.edited(path, old, new, everywhere=options.get("all", False))
        return {"text": self._workspace.put(path, *made)}

    def _list_files(self, path: str = ".", glob: str | None = None) -> Frame:
        with self._watch.within(self._seconds):
            text, size = search.list_files(self._workspace, path, glob)
        return {"text": text, "size": size}

    def _search(self, pattern: str, path: str = ".", glob: str | None = None) -> Frame:
        with self._watch.within(self._seconds):
            text, size = search.search(self._workspace, pattern, path, glob)
        return {"text": text, "size": size}

    def _bash(self, command: str, timeout: float = math.inf) -> Frame:
        if not timeout > 0:
            raise ToolError("timeout is in seconds, more than 0")
        seconds = min(timeout, self._seconds)
        found = self._run(command, seconds, dict(os.environ))
        note = self._note(found, seconds)
        text = found["text"].rstrip("\n") or "[no output]"
        return {**found, "ok": found["exit_code"] is not None, "text": f"{text}\n{note}" if note else text}

    def _execute(self, command: str, seconds: float, env: dict[str, str]) -> Frame:
        return self._run(command, seconds, {**os.environ, **env})

    def _run(self, command: str, seconds: float, env: dict[str, str]) -> Frame:
        left = max(self._limits.total_output_bytes - self._written, self._limits.output_bytes)
        most = min(left, self._limits.drain_bytes)
        with self._limits.nothing_written() if self._is_full else nullcontext():
            ran = shell.run(command, seconds, keep=self._limits.output_bytes, drain=most, env=env)
        self._written += ran.output.size
        limit = self._watch.take()
        if ran.flooded and not limit:
            limit = "output" if left > most else "total_output"
        return {
            "text": ran.output.text(),
            "size": ran.output.size,
            "exit_code": None if limit else ran.exit_code,
            "timed_out": ran.timed_out and not limit,
            "limit": limit,
        }

    def _note(self, found: Frame, seconds: float) -> str:
        """What is said below the output of a command that did not just end well."""
        code = found["exit_code"]
        if found["limit"]:
            return f"[stopped: {self._limits.why(found['limit'])}]"
        if code is None:
            return f"[stopped: not done after {seconds:g} seconds]"
        if code:
            return f"[ended by signal {-code}]" if code < 0 else f"[exit code {code}]"
        return ""

    def _expect_room(self) -> None:
        if self._is_full:
            raise ToolError("nothing was written")

    def _processes(self, most: int) -> Frame:
        if self._programs is None:
            return {"names": self._watch.survivors(most), "exit_codes": []}
        names = self._watch.survivors(most, but=self._programs.pids())
        return {"names": names, "exit_codes": self._programs.exit_codes()}

    def _beside(self) -> Programs:
        """What only a world that starts a program needs: it is slow to import."""
        if self._programs is None:
            from .programs import Programs

            self._programs = Programs(self._channel, Others(sandboxed=self._limits.sandboxed))
        return self._programs

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


def _told(error: Exception, arguments: Mapping[str, Any]) -> str:
    if isinstance(error, ToolError):
        return str(error)
    about = str(arguments.get("path") or arguments.get("command") or "")[:200]
    if isinstance(error, OSError):
        is_protected = error.errno in (errno.EROFS, errno.EBUSY)
        return f"{about}: {'protected, cannot be written' if is_protected else error.strerror}"
    return f"{about!r}: {error or type(error).__name__}"
