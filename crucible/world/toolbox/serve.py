"""The main loop: one request in, one result out, until the pipe closes."""

from __future__ import annotations

import os
import sys

from . import READY

# Nothing more is imported up here: the workspace is ready as soon as this program says so, and what it needs
# for its first request it loads while the harness is busy with something else.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from .frames import Frame

_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36
"""prctl options, from linux/prctl.h."""


def main() -> None:
    """Serve the workspace described by the first argument, a JSON object, on standard input and output."""
    requests, results = _private_pipe()
    os.write(results, READY)
    os.umask(0o022)

    from . import frames, shell
    from .limits import Limits
    from .operations import Operations
    from .watch import Watch

    options = frames.unpack(sys.argv[1].encode())
    root, channel = options.pop("root"), options.pop("channel")
    os.set_inheritable(channel, False)
    limits = Limits(**options)
    limits.impose()
    if sys.platform == "linux":
        _keep_apart()
    shell.prepare()
    watch = Watch(limits)
    watch.start()
    operations = Operations(root, limits, watch, channel)
    os.chdir(root)
    try:
        with os.fdopen(requests, "rb") as pipe:
            while (request := _next(pipe)) is not None:
                _send(results, frames.pack(operations.answer(request)))
    finally:
        watch.end()  # the harness is gone; a sandbox would end with this process, a copy would not


def _private_pipe() -> tuple[int, int]:
    """Our own ends of the pipe; 0 and 1, which commands could reach, become /dev/null."""
    requests, results = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    return requests, results


def _keep_apart() -> None:
    """Commands run as the same user: let them neither trace this process nor open its pipe; inherit their orphans."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _next(pipe: BufferedReader) -> Frame | None:
    from . import frames

    header = pipe.read(frames.HEADER_BYTES)
    if len(header) < frames.HEADER_BYTES:
        return None
    return frames.unpack(pipe.read(frames.length(header)))


def _send(results: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(results, view) :]
