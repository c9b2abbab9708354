"""`crucible selftest` and `crucible doctor` as their user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow


def test_some_tricks_are_tried_and_told(cli: Cli, tmp_path: Path) -> None:
    done = cli("selftest", "--trick", "shell-redirect", "--trick", "pytest-ini", "--sandbox", "copy", cwd=tmp_path)
    assert (0, "2 tricks, 0 escapes") == (done.returncode, done.stdout.splitlines()[-1]), done.stderr
    assert "left out of grading: steers the test runner; the suite is red" in done.stdout


def test_a_family_without_walls_names_what_is_not_run(cli: Cli) -> None:
    done = cli("selftest", "--trick", "kill-all", "--trick", "pytest-ini", "--sandbox", "copy", "--json")
    found = {one["id"]: one["not_run"] for one in json.loads(done.stdout)["tricks"]}
    assert {"kill-all": "it would end every process of the user", "pytest-ini": None} == found


@pytest.mark.parametrize("arguments", [("--trick", "shel-redirect"), ("--family", "test"), ("--family", "x")])
def test_an_unknown_name_is_refused(cli: Cli, arguments: tuple[str, str]) -> None:
    done = cli("selftest", *arguments)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"there is no {arguments[0][2:]} {arguments[1]!r}" in done.stderr


def test_the_page_is_made_of_all_tricks_only(cli: Cli, tmp_path: Path) -> None:
    done = cli("selftest", "--family", "judge", "--markdown", str(tmp_path / "page.md"))
    assert (2, False) == (done.returncode, (tmp_path / "page.md").exists())


def test_tricks_can_be_listed(cli: Cli) -> None:
    done = cli("selftest", "--list", "--family", "judge")
    assert 0 == done.returncode
    assert {"judge"} == {line.split()[0] for line in done.stdout.splitlines()}


def test_doctor_proves_the_sandbox_by_ten_tricks(cli: Cli) -> None:
    findings = {one["what"]: one for one in json.loads(cli("doctor", "--json").stdout)}
    if not findings["sandbox"]["detail"].startswith("overlay works"):
        pytest.skip(f"no sandbox here: {findings['sandbox']['detail']}")
    assert "overlay works; 10 of 10 tricks stopped" == findings["sandbox"]["detail"]


def test_doctor_can_do_without(cli: Cli) -> None:
    findings = {one["what"]: one for one in json.loads(cli("doctor", "--json", "--no-tricks").stdout)}
    assert "tricks" not in findings["sandbox"]["detail"]
