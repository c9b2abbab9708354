"""One command, run to its end or to its limit, with everything it started in its session.

Output is read by us against our own deadline: no process that holds the pipe open can make a call last longer.
"""

from __future__ import annotations

import os
import select
import signal
import time

from .text import Kept

TYPE_CHECKING = False  # typing itself is slow to import, and this program starts once per attempt
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

AFTER_EXIT = 0.25
"""Seconds an output may still flow once the shell has ended but something holds the pipe."""
AFTER_TERM = 0.5
"""Seconds between SIGTERM and SIGKILL."""
_CHUNK = 1 << 16
_HANDLED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class Ran:
    """How a command ended. `exit_code` is negative for a signal, None when it was stopped by us."""

    def __init__(self, exit_code: int | None, output: Kept, *, timed_out: bool, flooded: bool) -> None:
        self.exit_code = exit_code
        self.output = output
        self.timed_out = timed_out
        self.flooded = flooded


def ignore(*_: object) -> None:
    """A handler that does nothing. Unlike SIG_IGN it is not inherited by commands."""


def prepare() -> None:
    """Make this process fit to start commands: woken when a child ends, not ended by a signal meant for others."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    _Children.wake = read
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, ignore)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)


def run(command: str, seconds: float, *, keep: int, drain: int, env: dict[str, str]) -> Ran:
    """Run a shell command in the current folder; past `seconds`, or past `drain` bytes of output, it is ended."""
    _Children.are_followed = True
    try:
        call = _Call(command, Kept(keep), drain, env)
        call.follow(time.monotonic() + seconds)
        flooded = call.flooded
        exit_code = None if flooded else call.exit_code  # before the group is ended: one stopped by us has none
        call.end_group()
    finally:
        _Children.are_followed = False
    return Ran(exit_code, call.output, timed_out=exit_code is None and not flooded, flooded=flooded)


def reap_strays() -> None:
    """Reap what has ended while no command is run, which does it itself; for a signal handler."""
    if not _Children.are_followed:
        _Children.reap(0)


class Child:
    """A program that outlives the request that started it, and how it ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None


def spawn(place: str, command: list[str], env: dict[str, str], streams: tuple[int | None, int, int]) -> Child:
    """Start a program in a session of its own. `streams`: its input, or None for an empty one, output and errors."""
    _Children.are_followed = True  # not reaped before it is known
    try:
        child = Child(_spawn(os.posix_spawn, place, command, env, streams))
        _Children.lasting[child.pid] = child
    finally:
        _Children.are_followed = False
    return child


class _Children:
    """Reaps everything: as process 1 of a sandbox this process inherits all orphans."""

    wake = -1
    are_followed = False
    lasting: ClassVar[dict[int, Child]] = {}

    @classmethod
    def clear_wake(cls) -> None:
        try:
            while os.read(cls.wake, _CHUNK):
                pass
        except BlockingIOError:
            pass

    @classmethod
    def reap(cls, wanted: int) -> int | None:
        """Reap what has ended; the wait status of `wanted` when it is among them."""
        found = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid == wanted:
                found = status
            elif pid in cls.lasting:
                cls.lasting.pop(pid).exit_code = os.waitstatus_to_exitcode(status)


class _Call:
    def __init__(self, command: str, output: Kept, drain: int, env: dict[str, str]) -> None:
        self.output = output
        self._drain = drain
        self._status: int | None = None
        self._at_eof = False
        self._pipe, write = os.pipe()
        try:
            self._pid = _start(command, write, env)
        except BaseException:  # LateError comes out of a signal handler, so anywhere: the pipe has no other owner yet
            os.close(self._pipe)
            raise
        finally:
            os.close(write)

    @property
    def ended(self) -> bool:
        return self._status is not None

    @property
    def flooded(self) -> bool:
        return self.output.size > self._drain

    @property
    def exit_code(self) -> int | None:
        return None if self._status is None else os.waitstatus_to_exitcode(self._status)

    def follow(self, deadline: float) -> None:
        """Read until the shell has ended and its output too, or the deadline, or too much output."""
        while not self.flooded and not (self.ended and self._at_eof):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            was_running = not self.ended
            self._step(left)
            if was_running and self.ended:
                deadline = min(deadline, time.monotonic() + AFTER_EXIT)

    def end_group(self) -> None:
        """End what is left of the command's session group and close the pipe."""
        if self._signal(signal.SIGTERM):
            self._wait_for_group(AFTER_TERM)
            self._signal(signal.SIGKILL)
            self._wait_for_group(AFTER_TERM)
        self._step(0)
        os.close(self._pipe)

    def _wait_for_group(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._signal(0):
            self._step(min(left, 0.02))

    def _signal(self, number: int) -> bool:
        """Signal the whole group; False when nothing is left of it."""
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM when only zombies are left
            return False
        return True

    def _step(self, seconds: float) -> None:
        pipes = [] if self._at_eof else [self._pipe]
        ready, _, _ = select.select([*pipes, _Children.wake], [], [], max(seconds, 0))
        if self._pipe in ready:
            data = os.read(self._pipe, _CHUNK)
            self._at_eof = not data
            self.output.add(data)
        if _Children.wake in ready:
            _Children.clear_wake()
        if self._status is None:
            self._status = _Children.reap(self._pid)
        else:
            _Children.reap(self._pid)


def _start(command: str, output: int, env: dict[str, str]) -> int:
    for shell in ("bash", "sh"):
        try:
            return _spawn(os.posix_spawnp, shell, [shell, "-c", command], env, (None, output, output))
        except FileNotFoundError:
            continue
    raise FileNotFoundError("no shell here: neither bash nor sh is on PATH")


def _spawn(
    by: Callable[..., int], place: str, command: list[str], env: dict[str, str], streams: tuple[int | None, int, int]
) -> int:
    given, output, errors = streams
    empty = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return by(
        place,
        command,
        env,
        file_actions=[
            empty if given is None else (os.POSIX_SPAWN_DUP2, given, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=_HANDLED,  # Python ignores SIGPIPE and SIGXFSZ, `nohup` SIGHUP, a shell's `&` SIGINT; commands must not
    )
