"""Transcripts of other agents as `NeutralRun`: `read_transcript` reads what an agent printed, whatever printed it.

Every reader is a pure function of the bytes. A run counts (`valid`) only if its terminal event is there, it says that
the agent ended by itself or by a limit, and no line before it that may have been an event was unreadable.
"""

from __future__ import annotations

from dataclasses import replace

from crucible.transcript.neutral import UNKNOWN, NeutralRun
from crucible.transcript.readers.draft import exited
from crucible.transcript.readers.formats import FORMATS, Carries, Format, ReadError, candidates, named, require
from crucible.transcript.readers.scan import Scan

__all__ = ["FORMATS", "Carries", "Format", "ReadError", "detect", "read_transcript", "require"]

_SHOWN = 80


def read_transcript(data: bytes, format: str | None = None, exit_code: int | None = None) -> NeutralRun:  # noqa: A002 - the word users have for it
    """The run that an agent's output tells of.

    `format` is a name of `FORMATS`; without one it is found out from the content. `exit_code` is the process's, None
    when not known; it never makes a run finished, and it makes one invalid only where a format has no terminal event.
    Output that is of no known format, empty, torn or of a run that failed is a run that is not `valid`, with a reason.

    Raises ReadError for a format that does not exist and for output that could be of several.
    """
    wanted = None if format is None else named(format)
    scan = Scan(data)
    if not data.strip():
        return _unreadable(f"the agent printed nothing{exited(exit_code)}", scan)
    if wanted is None:
        found = candidates(scan)
        if not found:
            return _unreadable(f"no known format in {_described(data)}{exited(exit_code)}", scan)
        wanted = named(_only(found))
    run = wanted.read(scan, exit_code)
    return run if run.valid or format is None else _with_hint(run, wanted.name, scan)


def detect(data: bytes) -> str | None:
    """The name of the format that some output is of, None when of none; ReadError when of several."""
    found = candidates(Scan(data))
    return _only(found) if found else None


def _only(found: tuple[str, ...]) -> str:
    if len(found) > 1:
        raise ReadError(f"the output could be {' or '.join(found)}", hint="name its format")
    return found[0]


def _with_hint(run: NeutralRun, wanted: str, scan: Scan) -> NeutralRun:
    """Of output that is of another format than was said, say which."""
    found = candidates(scan)
    if not found or wanted in found:
        return run
    return replace(run, reason=f"{run.reason}; read as {wanted}, it looks like {' or '.join(found)}")


def _unreadable(reason: str, scan: Scan) -> NeutralRun:
    return NeutralRun(
        calls=None, final_text=UNKNOWN, complete=False, valid=False, reason=reason, skipped_lines=scan.skipped
    )


def _described(data: bytes) -> str:
    head = data.strip()[: 4 * _SHOWN].decode("utf-8", "replace").splitlines()[0]
    return f"{len(data)} bytes that begin with {head[:_SHOWN]!r}"
