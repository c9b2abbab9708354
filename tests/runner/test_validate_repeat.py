"""Unsteady tests are quarantined by name and have no part in a verdict; slow suites get the time they need."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crucible.report.scenarios import validation_lines
from crucible.runner.checks import Check, validate_all
from crucible.runner.prepare import Prepared, prepare, reference_change, resolve_mode
from crucible.runner.validate import Validation, unsteady, validate, validated
from crucible.scenario.catalog import get_scenario
from crucible.scoring.control import grade_with_control
from crucible.scoring.grading import Graded, Ran, Suite, judge_run
from crucible.scoring.junit import Junit
from crucible.settings import Settings, load_settings
from crucible.store.writes import Store
from crucible.world.types import Change, Execution, SandboxMode

RANDOM = "import random\n\n\ndef test_coin():\n    assert random.SystemRandom().random() < 0.5\n"
COIN = "tests.test_more::test_coin"
REPEATS = 12
"""A coin that falls the same way as often, fixture mended or not, is seen once in four million times."""


def with_tests(bench: Path, text: str) -> Path:
    (bench / "fixtures" / "first-bug" / "repo" / "tests" / "test_more.py").write_text(text)
    return bench


def prepared_in(bench: Path) -> tuple[Prepared, Settings, SandboxMode]:
    settings = load_settings(bench)
    return prepare(get_scenario(bench, "first-bug"), bench, settings), settings, resolve_mode(settings)[0]


def checked(bench: Path, scratch: Path, repeats: int = 2) -> Validation:
    prepared, settings, mode = prepared_in(bench)
    return asyncio.run(validate(prepared, settings, mode, scratch, repeats))


@dataclass(frozen=True)
class Coin:
    """A bench whose suite tosses a coin, checked once."""

    bench: Path
    scratch: Path
    store: Store
    check: Check

    def validated(self, *, fresh: bool = False) -> Validation:
        prepared, settings, mode = prepared_in(self.bench)
        return asyncio.run(validated(self.store, prepared, settings, mode, self.scratch, fresh=fresh))

    def grade(self, change: Callable[[Prepared], Change]) -> Graded:
        prepared, settings, mode = prepared_in(self.bench)
        suite = self.validated().suite(prepared)
        spec = prepared.grading_spec(settings, suite)
        return asyncio.run(grade_with_control(spec, mode, self.scratch, change(prepared), suite))


@pytest.fixture(scope="module")
def coin(shared_bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coin]:
    with_tests(shared_bench, RANDOM)
    settings = load_settings(shared_bench)
    with Store(shared_bench / "results" / "crucible.db") as store:
        (check,) = asyncio.run(validate_all(shared_bench, [], settings, store, lambda _: None, REPEATS))
        yield Coin(shared_bench, tmp_path_factory.mktemp("scratch"), store, check)


@pytest.mark.slow
def test_an_unsteady_test_is_quarantined_and_shown(coin: Coin) -> None:
    assert ((), (COIN,), REPEATS) == (coin.check.problems, coin.check.quarantined, coin.check.repeats)
    found = coin.validated()
    assert COIN not in found.expected | found.failing_before | found.passing_before | found.controlled
    lines = list(validation_lines([coin.check]))
    assert "6 tests, 4 of them under a negative control" in lines[0]
    assert f"{REPEATS} times each" in lines[0]
    assert ["      quarantined, left out of every verdict (1 change their result):", f"        {COIN}"] == lines[1:]
    shown = coin.check.as_dict()
    assert (REPEATS, [COIN], 4) == (shown["repeats"], shown["quarantined"], shown["controlled"])


@pytest.mark.slow
def test_an_unsteady_test_counts_neither_way(coin: Coin) -> None:
    for _ in range(3):
        mended = coin.grade(reference_change)
        assert ("green", ()) == (mended.state, mended.control), mended.output
        assert mended.detail.endswith(f"1 quarantined test left out: {COIN}")
        assert COIN not in (mended.passed or set()) | (mended.failed or set()) | mended.missing
    assert "red" == coin.grade(lambda _: Change()).state


@pytest.mark.slow
def test_the_latest_check_counts_and_a_shorter_one_forgets_nothing(coin: Coin) -> None:
    assert REPEATS == coin.validated().repeats
    later = coin.validated(fresh=True)
    assert ({COIN}, 2) == (later.quarantined, later.repeats)
    assert later == coin.validated()


@pytest.mark.slow
def test_a_scenario_of_which_only_unsteady_tests_are_left_is_refused(bench: Path, tmp_path: Path) -> None:
    with_tests(bench, RANDOM)
    (bench / "fixtures" / "first-bug" / "repo" / "tests" / "test_pages.py").write_text("def test_other():\n    pass\n")
    found = checked(bench, tmp_path, REPEATS)
    assert {COIN} == found.quarantined
    assert [
        f"nothing fails steadily on the unfixed fixture, with the tests that change their result left out: {COIN}"
    ] == found.problems


@pytest.mark.slow
def test_a_suite_that_hangs_on_the_zone_the_hash_seed_or_the_locale_is_steady(bench: Path, tmp_path: Path) -> None:
    text = (
        "import locale\nimport os\nimport time\n\n\ndef test_zone():\n    assert time.strftime('%Z') == 'UTC'\n\n\n"
        "def test_order_of_a_set():\n    assert os.environ['PYTHONHASHSEED'] == '0'\n"
        "    assert list({'ash', 'birch', 'cedar'}) == list({'ash', 'birch', 'cedar'})\n"
        f"    assert hash('ash') == {_hash_of_ash()}\n\n\n"
        "def test_encoding():\n    assert locale.getpreferredencoding(False).lower() == 'utf-8'\n"
    )
    found = checked(with_tests(bench, text), tmp_path)
    assert ([], frozenset()) == (found.problems, found.quarantined)
    assert {f"tests.test_more::test_{name}" for name in ("zone", "order_of_a_set", "encoding")} <= found.controlled


@pytest.mark.slow
def test_a_slow_suite_gets_ten_times_what_the_reference_needed(bench: Path, tmp_path: Path) -> None:
    text = "import time\n\n\ndef test_slow():\n    time.sleep(2.2)\n"
    found = checked(with_tests(bench, text), tmp_path)
    assert [] == found.problems
    assert found.seconds >= 2.2
    assert 10 * found.seconds == found.grading_seconds


def test_a_quick_suite_gets_twenty_seconds() -> None:
    assert 20.0 == Validation(seconds=0.4).grading_seconds


def test_a_check_without_tests_told_apart_says_so() -> None:
    (line,) = validation_lines([Check("a", failing_before=("x",))])
    assert "tests are not told apart, so none is under a negative control" in line


def ran(code: int | None, passed: str = "", failed: str = "", *, report: bool = True) -> Ran:
    junit = Junit(frozenset(passed.split()), frozenset(failed.split())) if report else None
    return Ran(Execution(code, "", 0, 0.1), junit)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([ran(0, "a b"), ran(0, "a b")], ""),
        ([ran(0, "a b"), ran(1, "a", "b")], "b"),
        ([ran(0, "a b"), ran(0, "a")], "b"),
        ([ran(1, "a", "b"), ran(1, "a")], "b"),
        ([ran(1, "a", "b"), ran(1, "b", "a"), ran(1, "a", "b")], "a b"),
        ([ran(0, report=False), ran(1, report=False)], ""),
        ([ran(0, "a"), ran(None, report=False)], ""),
    ],
)
def test_what_changes_its_result_is_unsteady(runs: list[Ran], expected: str) -> None:
    assert frozenset(expected.split()) == unsteady(runs)


QUARANTINE = Suite("pytest", expected=frozenset("ab"), quarantined=frozenset("q"))


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (ran(0, "a b q"), "green"),
        (ran(0, "a b"), "green"),
        (ran(1, "a b", "q"), "green"),
        (ran(0, "a b", "q"), "green"),
        (ran(1, "a", "b q"), "red"),
        (ran(1, "a", "q"), "red"),
        (ran(1, "a b", "c q"), "red"),
        (ran(1, "a b"), "red"),
        (ran(1, "", "q"), "red"),
        (ran(2, "a b", "q"), "interrupted"),
        (ran(None, "a b", "q"), "timed_out"),
        (ran(-9, "a b", "q"), "killed"),
    ],
)
def test_a_quarantined_failure_alone_is_green_and_hides_no_other(run: Ran, state: str) -> None:
    assert state == judge_run(run.execution, run.report, QUARANTINE).state


def test_quarantined_tests_are_named_in_the_detail() -> None:
    one = ran(1, "a b", "q")
    assert "2 tests passed; 1 quarantined test left out: q" == judge_run(one.execution, one.report, QUARANTINE).detail


def _hash_of_ash() -> int:
    asked = [sys.executable, "-c", "print(hash('ash'))"]
    return int(subprocess.run(asked, env={"PYTHONHASHSEED": "0"}, capture_output=True, check=True).stdout)
