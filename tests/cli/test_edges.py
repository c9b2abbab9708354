"""Where the command line meets a system that does not play along: what cannot be written, nobody reads, or nobody foresaw."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crucible.cli.app import run_app
from crucible.cli.running import watched
from crucible.runner.recorder import Progress
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store

ENVIRONMENT = {**os.environ, "COLUMNS": "80"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A bench folder whose run 1 shows the treatment to be better, and run 2 beyond any doubt on two scenarios."""
    bench = tmp_path_factory.mktemp("edges")
    (bench / "crucible.toml").touch()
    arms = {
        "new": [Filled(True, cost_usd=0.01 + n / 1000) for n in range(9)],
        "old": [Filled(False, cost_usd=0.01)] * 9,
    }
    arms["new"][0] = Filled(False, cost_usd=0.02)
    arms["old"] = [*arms["old"][1:], Filled(True, cost_usd=0.012)]
    clear = {"new": [Filled(True)] * 12, "old": [Filled(False)] * 12}
    with Store(bench / "results" / "crucible.db") as store:
        fill_run(store, {"s": arms}, "old")
        fill_run(store, {"t": clear, "u": clear}, "old")
    return bench


def crucible(bench: Path, *arguments: str, **more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "crucible", "-C", str(bench), *arguments]
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, env=ENVIRONMENT, **more)  # type: ignore[call-overload,no-any-return] # options of Popen


@pytest.mark.slow
def test_a_gate_whose_reader_is_gone_does_not_answer_that_it_fails(filled: Path) -> None:
    """It holds, and 1 would say that it does not: the exit code is that of a program stopped by SIGPIPE."""
    assert 0 == run_app(["-C", str(filled), "gate", "1", "--better-by", "0"])
    read, write = os.pipe()
    os.close(read)
    made = crucible(filled, "gate", "1", "--better-by", "0", stdout=write)
    os.close(write)
    _, err = made.communicate()
    assert (141, "") == (made.returncode, err)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_gate_that_cannot_be_written_does_not_answer_that_it_fails(filled: Path) -> None:
    with Path("/dev/full").open("w") as full:
        made = crucible(filled, "gate", "1", "--better-by", "0", stdout=full)
        _, err = made.communicate()
    assert 5 == made.returncode
    assert "No space left on device" in err
    assert "Traceback" not in err


def test_what_nobody_foresaw_ends_with_5_and_is_shown_whole(filled: Path, tmp_path: Path, capfd) -> None:
    """A gate that crashed has not failed."""
    store = tmp_path / "store.db"
    shutil.copy(filled / "results" / "crucible.db", store)
    with sqlite3.connect(store) as broken:
        broken.execute("alter table attempt rename column turns to lost")
    broken.close()
    assert 5 == run_app(["-C", str(filled), "--store", str(store), "gate", "1", "--better-by", "0"])
    err = capfd.readouterr().err
    assert "Traceback" in err
    assert "Crucible did not foresee this\n  -> please report it" in err


@pytest.mark.slow
def test_an_output_of_an_old_code_page_gets_numbers_for_what_it_cannot_write(filled: Path) -> None:
    command = [sys.executable, "-m", "crucible", "-C", str(filled), "report", "1"]
    made = subprocess.run(command, capture_output=True, env={**ENVIRONMENT, "PYTHONIOENCODING": "latin-1"}, check=False)
    assert (0, b"") == (made.returncode, made.stderr)
    assert made.stdout.startswith(b"### \\u25b2 better: new against old on s")


@pytest.mark.parametrize(
    "arguments",
    [["init", "{file}"], ["--log-file", "{file}/x/log", "runs"], ["report", "1", "--html", "{file}/x.html"]],
)
def test_what_cannot_be_written_is_one_line_that_names_it(
    filled: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert 2 == run_app(["-C", str(filled), *(one.format(file=file) for one in arguments)])
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(str(file))
    assert ": cannot be written: " in line


def test_the_next_step_of_init_can_be_pasted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my b\N{LATIN SMALL LETTER A WITH DIAERESIS}nch"
    assert 0 == run_app(["init", str(folder)])
    assert f"Next: cd '{folder}' && crucible validate" in capfd.readouterr().out


def test_the_list_of_commands_says_whole_sentences(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns none of them is cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (["--help"], ["tools", "--help"]):
        assert 0 == run_app(arguments)
        commands = capfd.readouterr().out.partition("Commands:")[2]
        assert [] == [line for line in commands.splitlines() if line.endswith("...")]


def test_of_two_runs_the_missing_one_is_named(filled: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for runs, missing in ((["1", "8"], 8), (["7", "1"], 7)):
        assert 2 == run_app(["-C", str(filled), "compare", *runs])
        assert f"there is no run {missing} in this store" in capfd.readouterr().err


def test_a_run_that_goes_on_takes_no_scenarios(filled: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 2 == run_app(["-C", str(filled), "run", "s", "--resume", "1"])
    assert "declared with\n  -> crucible run --resume 1" in capfd.readouterr().err


def test_the_cost_of_a_success_is_shown_with_its_interval_and_what_it_rests_on(
    filled: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 0 == run_app(["-C", str(filled), "compare", "1"])
    out = " ".join(capfd.readouterr().out.split())
    assert "cost of one success $0.0170 $0.0920 0.18 times (" in out
    assert "One success: $0.0170 ($0.0" in out
    assert ") from 8 of 9 green and $0.0920 ($0.0" in out
    assert "95% intervals: MOVER of Student and Wilson on logs" in out


def test_no_p_value_is_zero(filled: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not even in a column of them, where there is room for three digits."""
    assert 0 == run_app(["-C", str(filled), "compare", "2"])
    out = " ".join(capfd.readouterr().out.split())
    assert "t 12 of 12 0 of 12 +100 < 0.001 < 0.001 < 0.001" in out
    assert "0.000" not in out


def test_an_interrupted_run_says_how_it_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By its number; an older one that another command left is not meant."""
    with Store(tmp_path / "store.db") as store:
        arms = {"new": [Filled(True)], "old": [Filled(True)]}
        older, mine = fill_run(store, {"s": arms}, "old"), fill_run(store, {"s": arms}, "old")
        store.set_run_status(older, "interrupted")

        async def stopped(_: Progress) -> None:
            store.set_run_status(mine, "running")
            store.set_run_status(mine, "interrupted")
            raise KeyboardInterrupt

        async def before_it_began(_: Progress) -> None:
            raise KeyboardInterrupt

        for work, said in ((stopped, f"go on with: crucible run --resume {mine}"), (before_it_began, "")):
            time.sleep(0.002)  # times are stored to the millisecond
            with pytest.raises(KeyboardInterrupt):
                watched(store, work)
            assert said in capfd.readouterr().err if said else not capfd.readouterr().err


def test_runs_say_when_they_began_as_every_other_page_does(filled: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app(["-C", str(filled), "runs"])
    assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d UTC +done ", capfd.readouterr().out)
