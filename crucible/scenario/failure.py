"""A frozen failure: the smallest invented world in which an agent was reported to fail, and what a good run looks like.

What the assertions mean is the business of `crucible.scoring.trajectory`; here they are only known by name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from crucible.errors import nearest
from crucible.scenario.failure_text import KIND, SEEN_SUFFIX, Read, read_text
from crucible.scenario.load import shown_path
from crucible.scenario.stubs import StubTool, read_stubs
from crucible.scenario.words import shown
from crucible.stats.floor import as_tolerance

ASSERTIONS: Final = (
    *("expect_tool", "forbid_tool", "expect_args", "expect_order"),
    *("expect_contains", "forbid_contains", "recovers_from", "caps"),
)
KEYS: Final = ("kind", "name", "context", "query", *ASSERTIONS, "stub_tools", "report", "tolerance")
TOLERANCE: Final = Fraction(1, 20)
"""The risk accepted of calling an unchanged bug fixed, where a file says nothing else."""


@dataclass(frozen=True, slots=True)
class Count:
    """Failures in so many runs: `failed` of `of`, 1 <= failed <= of."""

    failed: int
    of: int

    @property
    def rate(self) -> Fraction:
        """The share that failed, exactly."""
        return Fraction(self.failed, self.of)

    def __str__(self) -> str:
        return f"{self.failed} of {self.of}"


@dataclass(frozen=True, slots=True)
class Failure:
    """One file. `assertions` are its assertion keys as written; `lines` are 1-based lines of the keys of the file.

    `digest` is the SHA-256 of what a run sees and what it is held against: a file that was only laid out anew, or whose
    report or tolerance changed, keeps it.
    """

    name: str
    query: str
    context: Any
    assertions: Mapping[str, Any]
    stub_tools: tuple[StubTool, ...]
    report: Count | None
    tolerance: Fraction
    digest: str
    path: Path
    read: Read

    @property
    def slug(self) -> str:
        """The name of the file without its ending: how it is named on the command line."""
        return self.path.stem

    @property
    def seen_path(self) -> Path:
        """Where it is recorded that, and how, it was seen failing."""
        return self.path.with_name(f"{self.path.stem}{SEEN_SUFFIX}")


def load_failure(path: Path, bench: Path) -> Failure:
    """Read one file. Raises ScenarioError with everything that is wrong in it, its assertions' meaning apart."""
    read = read_text(path, shown_path(path, bench))
    if read.findings:
        raise read.error()
    data = read.data
    _check_keys(read)
    failure = Failure(
        name=_text(read, "name"),
        query=_text(read, "query"),
        context=data.get("context", {}),
        assertions={key: data[key] for key in ASSERTIONS if key in data},
        stub_tools=read_stubs(data.get("stub_tools"), data.get("context"), read),
        report=_report(read),
        tolerance=_tolerance(read),
        digest=_digest(data),
        path=path,
        read=read,
    )
    if read.findings:
        raise read.error()
    return failure


def _check_keys(read: Read) -> None:
    for key in read.data:
        if key not in KEYS:
            near = nearest(key, KEYS) or f"; known keys: {', '.join(KEYS)}"
            read.wrong(f"unknown key {shown(key)}{near}", key)
    if read.data.get("kind", KIND) != KIND:
        read.wrong(f"kind must be {KIND!r}, got {shown(str(read.data['kind']))}", "kind")


def _text(read: Read, key: str) -> str:
    value = read.data.get(key)
    if key not in read.data:
        read.wrong(f"missing key '{key}'")
    elif not isinstance(value, str) or not value.strip():
        read.wrong(f"{key} must be text, got {json.dumps(value)[:80]}", key)
    return value if isinstance(value, str) else ""


def _report(read: Read) -> Count | None:
    """`{failed: 2, of: 10}`, or as people write it: `2 of 10`, `2/10`."""
    value = read.data.get("report")
    if value is None:
        return None
    written = re.fullmatch(r"\s*(\d{1,9})\s*(?:/|of)\s*(\d{1,9})\s*", value) if isinstance(value, str) else None
    if written:
        value = {"failed": int(written[1]), "of": int(written[2])}
    if not isinstance(value, dict) or value.keys() != {"failed", "of"} or not all(map(_is_count, value.values())):
        read.wrong(f"report must be {{failed: 2, of: 10}}, in whole numbers; got {json.dumps(value)[:80]}", "report")
        return None
    failed, of = value["failed"], value["of"]
    if failed > of:
        read.wrong(f"report: {failed} of {of} runs cannot have failed", "report")
    elif failed == 0:
        read.wrong(f"report: 0 of {of} is no failure; a bug that was never seen failing has no floor", "report")
    else:
        return Count(failed, of)
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


def _tolerance(read: Read) -> Fraction:
    value = read.data.get("tolerance", TOLERANCE)
    try:
        return as_tolerance("tolerance", value)
    except ValueError as error:
        read.wrong(str(error), "tolerance")
        return TOLERANCE


def _digest(data: Mapping[str, Any]) -> str:
    decisive = {key: data[key] for key in sorted(data) if key in (*ASSERTIONS, "context", "query", "stub_tools")}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
