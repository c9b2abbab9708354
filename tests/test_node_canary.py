"""What is planted in test files of node's runner: it passes and fails as it must, and shows when assertions are gone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crucible.scoring.junit import Junit, read_junit
from crucible.scoring.node_canary import MUST_FAIL, is_node_test, plant_in

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
USES = "".join(f"// assert.{name}(\n" for name in MUST_FAIL)
MODULE = f'import test from "node:test";\n{USES}test("own", () => {{}});\n'.encode()
COMMON = MODULE.replace(b'import test from "node:test"', b'const test = require("node:test")')


def reported(folder: Path, files: dict[str, bytes]) -> tuple[int, Junit]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    asked = ["--test", "--test-reporter=junit", "--test-reporter-destination=report.xml", *files]
    ended = subprocess.run(["node", *asked], cwd=folder, capture_output=True, check=False)
    report = read_junit((folder / "report.xml").read_bytes())
    assert isinstance(report, Junit)
    return ended.returncode, report


@needs_node
@pytest.mark.slow
def test_every_planted_test_ends_as_it_must_and_is_not_seen_in_the_suite(tmp_path: Path) -> None:
    canary = plant_in({"a.test.mjs": MODULE, "b.test.cjs": COMMON.replace(b'"own"', b'"other"')})
    code, report = reported(tmp_path, dict(canary.files))
    assert code == 0
    assert canary.sung(report)
    assert len(MUST_FAIL) * 2 == len(canary.fails)
    assert Junit(frozenset({"test::own", "test::other"})) == canary.without(report)


@needs_node
@pytest.mark.slow
def test_one_assertion_taken_away_in_one_file_is_noticed(tmp_path: Path) -> None:
    canary = plant_in({"a.test.mjs": MODULE, "b.test.mjs": MODULE})
    gone = b'import assert from "node:assert/strict";\nassert.match = () => {};\n'
    code, report = reported(tmp_path, {**canary.files, "a.test.mjs": gone + canary.files["a.test.mjs"]})
    assert code == 0
    assert not canary.sung(report)


def test_names_are_new_each_time_and_a_report_without_them_is_not_sung() -> None:
    one, other = plant_in({"a.test.js": MODULE}), plant_in({"a.test.js": MODULE})
    assert not one.passes & other.passes
    assert not one.sung(Junit(passed=one.passes | one.fails))
    assert not one.sung(Junit(passed=other.passes, failed=other.fails))
    assert one.sung(Junit(passed=one.passes, failed=one.fails))


def test_the_file_itself_stands_unchanged_before_what_is_planted() -> None:
    planted = plant_in({"a.test.js": MODULE}).files["a.test.js"]
    assert planted.startswith(MODULE)
    assert not re.search(rb"crucible|canary", planted)


def test_only_files_of_the_runner_are_told() -> None:
    assert is_node_test(MODULE)
    assert is_node_test(COMMON)
    assert not is_node_test(b"export const x = 1;\n")
    assert not is_node_test(None)
