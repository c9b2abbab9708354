"""How a run stands: what was stored, unless the process that made it is gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crucible.store.states import attempt_state, is_elsewhere, run_state
from crucible.store.writes import this_process

HERE = this_process().rpartition(":")[0]


def test_a_run_whose_process_is_gone_is_unfinished() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert "unfinished" == run_state("running", f"{HERE}:{gone.pid}")


def test_a_run_whose_number_of_process_went_to_another_program_is_unfinished() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        assert "unfinished" == run_state("running", f"{HERE}:{other.pid}")
        other.kill()


def test_a_run_whose_process_is_there_is_running() -> None:
    said = "print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", said, "crucible"], stdin=-1, stdout=-1) as made_by:
        assert made_by.stdout is not None
        made_by.stdout.readline()
        assert "running" == run_state("running", f"{HERE}:{made_by.pid}")
        made_by.kill()


@pytest.mark.parametrize(
    "owner",
    [None, this_process(), f"not-{HERE}:1", f"{HERE}.elsewhere:{2**22 + 1}"],
    ids=["nobody", "this process", "another machine", "a machine of a longer name"],
)
def test_what_cannot_be_asked_is_believed_to_run(owner: str | None) -> None:
    assert "running" == run_state("running", owner)


@pytest.mark.parametrize("status", ["done", "interrupted", "stopped", "incomplete"])
def test_a_run_that_is_over_keeps_its_word(status: str) -> None:
    assert status == run_state(status, f"{HERE}:{2**22 + 1}")


@pytest.mark.parametrize(
    ("owner", "expected"),
    [(None, False), (this_process(), False), ("other:1", True)],
    ids=["nobody", "this process", "another machine"],
)
def test_a_run_of_another_machine_is_told_apart(owner: str | None, expected: bool) -> None:
    assert expected == is_elsewhere(owner)


@pytest.mark.parametrize(
    ("ending", "state", "expected"),
    [(None, "running", "running"), (None, "unfinished", "unfinished"), (None, "interrupted", "unfinished"),
     ("finished", "running", "finished"), ("crash", "unfinished", "crash")],
)  # fmt: skip
def test_an_attempt_without_an_ending_is_as_unfinished_as_its_run(
    ending: str | None, state: str, expected: str
) -> None:
    assert expected == attempt_state(ending, state)
