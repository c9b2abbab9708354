"""Two tests of ours, planted among the suite's own under names nobody can guess: one passes, one must not.

Code under test runs in the test runner's process and can forge what it reports: write a report and leave, or turn every
outcome into a pass. A report without the first, or in which the second passed, was not made by running the tests.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from crucible.scoring.junit import Junit
from crucible.world.types import Change, FileChange, FileState

_SOURCE = """\
import pytest


def {passes}():
    assert {left} + {right} == {total}


@pytest.mark.xfail(strict=True)
def {fails}():
    assert {left} + {right} == {total} + 1
"""


@dataclass(frozen=True, slots=True)
class Canary:
    """The planted file and the names of its two tests."""

    path: str
    passes: str
    fails: str

    def change(self) -> Change:
        """The file as a change of the grading copy."""
        left, right = secrets.randbelow(10**9), secrets.randbelow(10**9)
        text = _SOURCE.format(passes=self.passes, fails=self.fails, left=left, right=right, total=left + right)
        data = text.encode()
        state = FileState("file", 0o100644, len(data), hashlib.sha256(data).hexdigest(), data)
        return Change((FileChange(self.path, "add", None, state),))

    def sung(self, report: Junit) -> bool:
        """Whether both tests are in the report as they must be."""
        passed = any(self._is(name, self.passes) for name in report.passed)
        skipped = any(self._is(name, self.fails) for name in report.skipped)
        return passed and skipped

    def belied(self, report: Junit) -> bool:
        """Whether the one that must fail, as it is marked to, is said to have passed or to have failed unmarked.

        No honest run says so, whatever else it says. A run that stops at its first failure may not have come to it.
        """
        return any(self._is(name, self.fails) for name in report.passed | report.failed)

    def without(self, report: Junit) -> Junit:
        """The report of the suite's own tests."""
        every = report.passed | report.failed | report.skipped
        return report.without(frozenset(n for n in every if self._is(n, self.passes) or self._is(n, self.fails)))

    @staticmethod
    def _is(name: str, test: str) -> bool:
        return name.rpartition("::")[2] == test


def beside(files: Iterable[str], tests: Iterable[str]) -> str | None:
    """A fixture file that holds tests of the suite, by their ids; a canary beside it is collected as it is."""
    modules = test_modules(files, tests)
    return modules[min(modules)] if modules else None


def test_modules(files: Iterable[str], tests: Iterable[str]) -> dict[str, str]:
    """The fixture's files that hold tests, by the dotted name that ids of these tests begin with."""
    named = {path.removesuffix(".py").replace("/", "."): path for path in files if path.endswith(".py")}
    found = {}
    for test in tests:
        module = test.partition("::")[0]
        while module and module not in named:
            module = module.rpartition(".")[0]
        if module:
            found[module] = named[module]
    return found


def plant(test_file: str) -> Canary:
    """A new canary beside a test file, named so that whatever pattern collects that file collects this one."""
    nonce = secrets.token_hex(8)
    place = PurePosixPath(test_file)
    prefix, _, rest = place.stem.partition("_") if place.stem.startswith("test_") else ("", "", place.stem)
    name = "_".join(filter(None, (prefix, nonce, rest)))
    return Canary(str(place.with_name(f"{name}.py")), f"test_{secrets.token_hex(8)}", f"test_{secrets.token_hex(8)}")
