"""Similarity worked out in a process of its own, which ends when it has used up its share of computing.

Some grammars take time that grows with the square or the cube of what they read: two kilobytes of `/*` keep Swift's for
seventeen seconds. What an attempt leaves behind must not stop the harness. The share is CPU time, and a multiple of what
a known text took in the same process just before: neither a busy machine nor a slow one changes a score. A change that
does not get through is compared as text.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from crucible.errors import HarnessError
from crucible.scoring.extent import Files
from crucible.scoring.similarity import Similarity, similarity, size_ratio
from crucible.scoring.structure import shape_of
from crucible.world.starting import started

SHARE = 30
"""Readings of the known text that any change may take; about half a second on a machine of 2024."""
SHARE_BY_SIZE = 5
"""The same for each length of the known text in the change: real source takes one or two."""
MEMORY = 4 * 1024**3
"""Bytes of address space."""
KNOWN = (
    b"""\
class Order:
    def total(self, lines, discount=None):
        goods = sum(line.price * line.quantity for line in lines if not line.cancelled)
        return round(goods * (1 - (discount or 0)), 2)


"""
    * 40
)
_TOO_MUCH = 3


@dataclass(frozen=True, slots=True)
class Likeness:
    """How much a change is the reference, and how large: its size divided by the reference's (None: that has none)."""

    similarity: Similarity
    ratio: float | None


async def compare(before: Mapping[str, bytes], candidate: Files, reference: Files) -> Likeness:
    """As `similarity` and `size_ratio`, whatever the candidate holds. Raises HarnessError when no process can do it."""
    if not candidate or candidate == reference:  # nothing in it that the scenario's author did not write
        return Likeness(similarity(before, candidate, reference), size_ratio(candidate, reference, before))
    request = {"before": _packed(before), "candidate": _packed(candidate), "reference": _packed(reference)}
    for as_text in (False, True):
        answer = await _ask({**request, "as_text": as_text})
        if answer is not None:
            ratio = answer.pop("ratio")
            return Likeness(Similarity(**{**answer, "reasons": tuple(answer["reasons"])}), ratio)
    raise HarnessError("the change cannot be compared with the reference, not even as text")


async def _ask(request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer of a new process; None when it did not get through. Raises HarnessError when it is broken."""
    command = [sys.executable, "-P", "-m", __name__]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    starting = asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment)
    process = await started(starting, _end)
    try:
        answer, errors = await process.communicate(json.dumps(request).encode())
    finally:
        await _end(process)
    if process.returncode == 0:
        return dict(json.loads(answer))
    if process.returncode == _TOO_MUCH or (process.returncode or 0) < 0:
        return None
    raise HarnessError(f"comparing with the reference failed: {errors.decode('utf-8', 'replace')[-2000:]}")


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _packed(files: Files) -> dict[str, str | None]:
    return {path: None if data is None else data.decode("latin-1") for path, data in files.items()}


def _unpacked(files: Mapping[str, str | None]) -> dict[str, bytes | None]:
    return {path: None if text is None else text.encode("latin-1") for path, text in files.items()}


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    before = {path: data for path, data in _unpacked(request["before"]).items() if data is not None}
    candidate, reference = _unpacked(request["candidate"]), _unpacked(request["reference"])
    as_text = bool(request["as_text"])
    if not as_text:
        size = sum(len(data or b"") for files in (before, candidate, reference) for data in files.values())
        _limit(size)
    found = similarity(before, candidate, reference, as_text=as_text)
    return {**asdict(found), "ratio": size_ratio(candidate, reference, before, as_text=as_text)}


def _limit(size: int) -> None:
    """End this process by a signal after its share of CPU time. No handler of ours: native code would not be stopped."""
    with suppress(OSError, ValueError):  # where there is no such limit, as on macOS
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    shape_of("warm.py", b"x = 1\n")
    began = time.process_time()
    shape_of("known.py", KNOWN)
    seconds = time.process_time() - began
    signal.setitimer(signal.ITIMER_PROF, seconds * (SHARE + SHARE_BY_SIZE * size / len(KNOWN)))


def main() -> int:
    """Read a request, write an answer."""
    try:
        answer = _answer(json.load(sys.stdin.buffer))
    except (MemoryError, RecursionError):
        return _TOO_MUCH
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
