"""Tests of ours at the end of every test file that node's own runner runs: one passes, the others must not.

Node gives every test file a process of its own, so there is one set in each. Those that must not pass are marked `todo`:
node reports their failure and does not end with an error for it. There is one for each assertion the file uses, because
code under test can replace them one by one: `assert.equal = () => {}` is all it takes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crucible.scoring.junit import Junit

SUFFIXES = (".js", ".mjs", ".cjs")
_RUNNER = re.compile(rb"""["']node:test["']""")
_MODULE = re.compile(rb"^\s*import\b", re.MULTILINE)
_USED = re.compile(rb"\bassert\s*\.\s*(\w+)\s*\(")
MUST_FAIL = {
    "deepEqual": "{a}.deepEqual([{left}], [{right}])",
    "deepStrictEqual": "{a}.deepStrictEqual([{left}], [{right}])",
    "doesNotThrow": "{a}.doesNotThrow(() => {{ throw new Error('{left}'); }})",
    "doesNotReject": "await {a}.doesNotReject(Promise.reject(new Error('{left}')))",
    "equal": "{a}.equal({left}, {right})",
    "fail": "{a}.fail('{left}')",
    "match": "{a}.match('{left}', /{right}/)",
    "notDeepEqual": "{a}.notDeepEqual([{left}], [{left}])",
    "notEqual": "{a}.notEqual({left}, {left})",
    "notStrictEqual": "{a}.notStrictEqual({left}, {left})",
    "ok": "{a}.ok({left} > {right})",
    "rejects": "await {a}.rejects(Promise.resolve({left}))",
    "strictEqual": "{a}.strictEqual({left}, {right})",
    "throws": "{a}.throws(() => {left})",
}


@dataclass(frozen=True, slots=True)
class NodeCanary:
    """Test files with our tests at their ends, and the names of those."""

    files: Mapping[str, bytes]
    passes: frozenset[str]
    fails: frozenset[str]

    def sung(self, report: Junit) -> bool:
        """Whether all of them are in the report as they must be."""
        return self.passes <= _names(report.passed) and self.fails <= _names(report.failed)

    def belied(self, report: Junit) -> bool:
        """Whether one that must not pass is said to have passed: no honest run says so, whatever else it says."""
        return bool(self.fails & _names(report.passed))

    def without(self, report: Junit) -> Junit:
        """The report of the suite's own tests."""
        every = report.passed | report.failed | report.skipped
        return report.without(frozenset(name for name in every if _name(name) in self.passes | self.fails))


def is_node_test(data: bytes | None) -> bool:
    """Whether a file's tests are for node's own runner."""
    return data is not None and bool(_RUNNER.search(data))


def plant_in(sources: Mapping[str, bytes]) -> NodeCanary:
    """New canaries in these test files."""
    files: dict[str, bytes] = {}
    passes: set[str] = set()
    fails: set[str] = set()
    for path, source in sources.items():
        used = sorted({name.decode() for name in _USED.findall(source)} & MUST_FAIL.keys()) or ["equal"]
        passing, *failing = (f"case {secrets.token_hex(8)}" for _ in range(1 + len(used)))
        files[path] = source + _code(source, passing, dict(zip(failing, used, strict=True))).encode()
        passes.add(passing)
        fails.update(failing)
    return NodeCanary(files, frozenset(passes), frozenset(fails))


def _code(source: bytes, passing: str, failing: Mapping[str, str]) -> str:
    t, a = (f"_{secrets.token_hex(6)}" for _ in range(2))
    left = 1 + secrets.randbelow(10**6)
    right = left + 1 + secrets.randbelow(10**6)
    ways = ('import {0} from "{1}";', 'const {0} = require("{1}");')
    way = ways[0] if _MODULE.search(source) else ways[1]
    lines = ["", way.format(t, "node:test"), way.format(a, "node:assert/strict")]
    lines.append(f'{t}("{passing}", () => {{ {a}.equal({left}, {left}); }});')
    for name, used in failing.items():
        body = MUST_FAIL[used].format(a=a, left=left, right=right)
        lines.append(f'{t}("{name}", {{ todo: true }}, async () => {{ {body}; }});')
    return "\n".join(lines) + "\n"


def _names(tests: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_name, tests))


def _name(test: str) -> str:
    return test.rpartition("::")[2]
