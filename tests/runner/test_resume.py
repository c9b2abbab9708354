"""Nothing is lost and nothing is made twice: after SIGKILL, after Ctrl-C, after an edit."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

SLOW_SESSION = """
handwritten: true
sessions:
  - {{arm: careful, title: slow, turns: [{turn}, {{say: done}}]}}
  - {{arm: baseline, title: slow, turns: [{turn}, {{say: done}}]}}
""".format(turn="{calls: [{tool: bash, args: {command: 'sleep 0.6'}}]}")


def rows(store: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(store)) as raw:
        return raw.execute(query).fetchall()


def wait_for(store: Path, query: str, at_least: int) -> None:
    deadline = time.monotonic() + 600  # a busy machine takes minutes to check a scenario
    while time.monotonic() < deadline:
        try:
            if rows(store, query)[0][0] >= at_least:  # type: ignore[operator] # counts
                return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"never: {query}")


@pytest.fixture
def running(bench: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:  # type: ignore[no-untyped-def] # a fixture
    (bench / "scenarios" / "first-bug.rehearsal.yaml").write_text(SLOW_SESSION)
    process = subprocess.Popen(
        [sys.executable, "-m", "crucible", "run", "first-bug", "--rehearse", "--blocks", "3"],
        cwd=bench,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process, bench / "results" / "crucible.db"
    if process.poll() is None:
        process.kill()
    process.communicate()


FINISHED = "select count(*) from attempt where counted = 1"
IN_FLIGHT = (
    "select count(*) from attempt where ending is null"
    " and 1 = (select count(*) from event where attempt_id = attempt.id and kind = 'replied')"
)
"""In its first command: further on it may have replied again, or end, before a signal reaches it."""


def freeze_in_flight(process: subprocess.Popen[str], store: Path) -> None:
    """Stop it while an attempt is in flight, however slowly this process is told of that; SIGCONT lets it go on."""
    wait_for(store, IN_FLIGHT, 1)
    while True:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        if rows(store, IN_FLIGHT) == [(1,)] and not is_being_written(store):
            return
        process.send_signal(signal.SIGCONT)
        wait_for(store, IN_FLIGHT, 1)


def is_being_written(store: Path) -> bool:
    """A process that is stopped in the middle of a transaction keeps every other from writing."""
    with closing(sqlite3.connect(store, timeout=0)) as raw:
        try:
            raw.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
    return False


def send_in_flight(process: subprocess.Popen[str], store: Path, number: signal.Signals) -> None:
    freeze_in_flight(process, store)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)


def interrupted(process: subprocess.Popen[str], store: Path) -> Path:
    """The store of a run that Ctrl-C ended after its first attempt, in its second."""
    wait_for(store, FINISHED, 1)
    send_in_flight(process, store, signal.SIGINT)
    process.communicate(timeout=600)
    return store


def counted(store: Path) -> Counter[tuple[object, ...]]:
    return Counter(rows(store, "select arm, block from attempt where counted = 1"))


EACH_ONCE = Counter({(arm, block): 1 for arm in ("careful", "baseline") for block in (1, 2, 3)})


@pytest.mark.slow
def test_after_sigkill_a_resumed_run_has_each_attempt_exactly_once(running, cli) -> None:  # type: ignore[no-untyped-def] # fixtures
    process, store = running
    wait_for(store, FINISHED, 2)
    send_in_flight(process, store, signal.SIGKILL)
    process.wait()
    before = counted(store)
    resumed = cli("run", "--resume", "1")
    assert 0 == resumed.returncode, resumed.stderr
    assert "in flight" in resumed.stderr
    assert EACH_ONCE == counted(store)
    assert before <= counted(store)
    killed = "select ending, counted, turns, tokens > 0 from attempt where counted = 0"
    assert [("interrupted", 0, 1, 1)] == rows(store, killed), "what was spent on it is not forgotten"
    assert [("done",)] == rows(store, "select status from run")


@pytest.mark.slow
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stores_what_is_in_flight_as_cancelled_and_exits_130(running, cli, asked) -> None:  # type: ignore[no-untyped-def] # fixtures
    """So does a CI job that is cancelled, which sends SIGTERM."""
    process, store = running
    wait_for(store, FINISHED, 1)
    send_in_flight(process, store, asked)
    _, stderr = process.communicate(timeout=600)
    assert 130 == process.returncode, stderr
    assert "Traceback" not in stderr
    assert [("cancelled", 0)] == rows(store, "select ending, counted from attempt where counted is not 1")
    assert [("interrupted",)] == rows(store, "select status from run")
    assert 0 == cli("run", "--resume", "1").returncode
    assert EACH_ONCE == counted(store)


@pytest.mark.slow
def test_of_two_that_go_on_with_a_run_at_once_one_does(running, cli, bench: Path) -> None:  # type: ignore[no-untyped-def] # fixtures
    """While the first still checks the scenarios, too, which takes seconds: else every attempt is made, and paid for, twice."""
    store = interrupted(*running)
    at_once = [resuming(bench) for _ in range(2)]
    said = [one.communicate(timeout=600)[1] for one in at_once]
    assert [0, 2] == sorted(one.returncode for one in at_once), said
    assert "is being worked on by process" in next(s for s, one in zip(said, at_once, strict=True) if one.returncode)
    assert EACH_ONCE == counted(store)
    assert 7 == rows(store, "select count(*) from attempt")[0][0]


def resuming(bench: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "crucible", "run", "--resume", "1"]
    return subprocess.Popen(command, cwd=bench, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_run_that_cannot_go_on_stands_as_it_did(running, cli, bench: Path) -> None:  # type: ignore[no-untyped-def] # fixtures
    store = interrupted(*running)
    before = rows(store, "select status, ended_at from run")
    assert "interrupted" == before[0][0]
    (bench / "scenarios" / "first-bug.md").write_text("")
    assert 2 == cli("run", "--resume", "1").returncode
    assert before == rows(store, "select status, ended_at from run")


@pytest.mark.slow
def test_an_edited_scenario_is_another_scenario_and_is_not_gone_on_with(running, cli, bench: Path) -> None:  # type: ignore[no-untyped-def] # fixtures
    interrupted(*running)
    file = bench / "scenarios" / "first-bug.md"
    file.write_text(file.read_text().replace("max_turns: 15", "max_turns: 16"))
    refused = cli("run", "--resume", "1")
    assert 2 == refused.returncode
    assert "was edited since" in refused.stderr


@pytest.mark.slow
def test_a_run_that_is_being_worked_on_is_not_taken_over(running, cli) -> None:  # type: ignore[no-untyped-def] # fixtures
    process, store = running
    freeze_in_flight(process, store)
    refused = cli("run", "--resume", "1")
    process.send_signal(signal.SIGCONT)
    assert 2 == refused.returncode
    assert "is being worked on by process" in refused.stderr
    assert [] == rows(store, "select id from attempt where ending = 'interrupted'")
    assert 0 == process.wait(timeout=600)
