# ruff: noqa: PTH113, PTH118 (pathlib is slow to import)
"""Programs that run beside the tools, and sockets of this world carried out of it.

The harness gives and is given descriptors over a channel of its own: pipes of its making become a program's standard
streams, and a socket that was made in here goes on belonging to this network wherever it is held.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from binascii import b2a_base64
from collections.abc import Callable

from . import placing, shell
from .files import ToolError
from .others import END_SECONDS, Others, descendants, processes

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from .frames import Frame

DIAL_SECONDS = 5.0
"""How long a connection may take to be accepted in a world's own loopback."""
_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_BACKLOG = 128
_STREAMS = 3


class Programs:
    """What was started here, by number. `channel`: the descriptor of a unix socket that the harness holds the end of."""

    def __init__(self, channel: int, others: Others) -> None:
        self._channel = socket.socket(fileno=channel)
        self._others = others
        self._children: list[shell.Child] = []
        self.operations: dict[str, Callable[..., Frame]] = {
            "start": self._start,
            "exit_code": self._exit_code,
            "stop": self._stop,
            "listen": self._listen,
            "dial": self._dial,
        }

    def exit_codes(self) -> list[int | None]:
        """Of every program by number; None while it runs."""
        shell.reap_strays()
        return [child.exit_code for child in self._children]

    def pids(self) -> set[int]:
        """The programs that run, what is in their sessions, and their descendants."""
        found: set[int] = set()
        for child in self._children:
            if child.exit_code is None:
                found.update((child.pid, *self._others.in_session(child.pid), *descendants(child.pid)))
        return found

    def _start(self, command: list[str], env: dict[str, str], files: dict[str, str]) -> Frame:
        streams = self._receive()
        try:
            home = os.environ["HOME"]
            placing.put(home, [_file(path, text) for path, text in files.items()])
            child = _spawn(command, {**os.environ, **env}, streams)
        finally:
            for fd in streams:
                os.close(fd)
        self._children.append(child)
        return {"number": len(self._children) - 1}

    def _exit_code(self, number: int) -> Frame:
        return {"exit_code": self.exit_codes()[number]}

    def _stop(self, number: int) -> Frame:
        """SIGTERM to the program's group, a moment, then SIGKILL to all of its session until nothing is left."""
        child = self._children[number]
        if self._session(child):
            _signal(os.killpg, child.pid, signal.SIGTERM)
            self._wait_for_session(child, shell.AFTER_TERM)
        deadline = time.monotonic() + END_SECONDS
        while (left := self._session(child)) and time.monotonic() < deadline:
            for pid in left:
                _signal(os.kill, pid, signal.SIGKILL)
            self._wait_for_session(child, 0.02)
        return self._exit_code(number)

    def _wait_for_session(self, child: shell.Child, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._session(child) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.005))

    def _session(self, child: shell.Child) -> list[int]:
        """Who is alive of a program and its session, as far as can be told: without /proc only the program itself."""
        shell.reap_strays()
        alive = [one.pid for one in processes(self._others.in_session(child.pid)) if one.is_alive]
        return alive or ([child.pid] if child.exit_code is None else [])

    def _listen(self) -> Frame:
        with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as server:
            self._give(server)
            return {"descriptors": 1, "port": server.getsockname()[1]}

    def _dial(self, port: int) -> Frame:
        why: OSError | None = None
        for family, address in _LOOPBACK:
            try:
                with socket.socket(family) as connection:
                    connection.settimeout(DIAL_SECONDS)
                    connection.connect((address, port))
                    self._give(connection)
                    return {"descriptors": 1}
            except OSError as error:
                why = why or error
        raise ToolError(f"nothing answers at 127.0.0.1:{port}: {(why and why.strerror) or why}")

    def _give(self, one: socket.socket) -> None:
        socket.send_fds(self._channel, [b"\0"], [one.fileno()])

    def _receive(self) -> list[int]:
        _, fds, _, _ = socket.recv_fds(self._channel, 1, _STREAMS)
        for fd in fds:
            os.set_inheritable(fd, False)
        return fds


def _file(path: str, text: str) -> dict[str, object]:
    return {"path": path, "mode": 0o100644, "data": b2a_base64(text.encode("utf-8", "surrogateescape")).decode()}


def _spawn(command: list[str], env: dict[str, str], streams: list[int]) -> shell.Child:
    """Start a command; the last two of `streams` are its output and its errors, the one before them its input."""
    place = _place(command[0], env)
    *given, output, errors = streams
    try:
        return shell.spawn(place, command, env, (given[0] if given else None, output, errors))
    except OSError as error:
        missing = f"{place} names an interpreter that is not here"
        raise ToolError(missing if error.errno == errno.ENOENT else f"{place}: {error.strerror}") from None


def _place(name: str, env: dict[str, str]) -> str:
    """The file of a command, found by the PATH it is started with."""
    places = [name] if "/" in name else [os.path.join(folder, name) for folder in os.get_exec_path(env)]
    present = [place for place in places if os.path.isfile(place)]
    for place in present:
        if os.access(place, os.X_OK):
            return place
    if present:
        raise ToolError(f"{present[0]} is not executable")
    raise ToolError(f"no command {name!r} " + ("there" if "/" in name else f"on PATH {env.get('PATH', '')}"))


def _signal(send: Callable[[int, int], None], to: int, number: int) -> None:
    try:
        send(to, number)
    except (ProcessLookupError, PermissionError):
        return
