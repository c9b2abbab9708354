"""`crucible repro`: a failure is seen before anything is fixed, and what was seen is recorded."""

from __future__ import annotations

import hashlib
import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from crucible.runner.failures.frozen import load_frozen
from crucible.runner.failures.repro import plan_repro
from crucible.runner.failures.sidecar import read_seen
from crucible.scenario.failure import load_failure
from tests.beside import beside

from .conftest import SEED, Cli, agent, write


def test_the_number_of_runs_is_the_oracles(folder: Path) -> None:
    oracle = beside("oracle", "statistics", "seen_failing_first.json")
    checked = 0
    for case in json.loads(oracle.read_text())["known_p"]:
        rate = Fraction(case["p"])
        if rate.denominator < 10**6:
            write(folder, SEED | {"report": {"failed": rate.numerator, "of": rate.denominator}})
            frozen = load_frozen(folder / "scenarios" / "tickets.json", folder)
            assert case["N_at_least_one_0.95"] == plan_repro(frozen, None).runs
            checked += 1
    assert checked > 10


def test_it_stops_at_the_first_failure_and_records_it(cli: Cli, folder: Path) -> None:
    done = cli("repro", "tickets", "--agent", agent("green,green,red"))
    assert 0 == done.returncode, done.stderr
    assert "at most 14 runs: at 2 of 10 they would show it 95.60% of the time" in done.stderr
    assert done.stdout.startswith("seen failing: 1 of 3 runs, first on forbidden tool executed")
    seen = read_seen(load_failure(folder / "scenarios" / "tickets.json", folder), folder)
    assert seen is not None
    assert (1, 3, 14, False) == (seen.failed, seen.of, seen.planned, seen.counted)
    assert "forbidden tool executed" == seen.dimensions[0]
    (journal,) = (folder / "results" / "failures").iterdir()
    assert hashlib.sha256((journal / "run-03.txt").read_bytes()).hexdigest() == seen.transcript_sha256
    lines = [json.loads(line) for line in (journal / "journal.jsonl").read_text().splitlines()]
    assert ["green", "green", "red"] == [line["colour"] for line in lines[1:-1]]
    assert (14, True) == (lines[0]["plan"]["runs"], lines[-1]["verdict"]["seen_failing"])


def test_a_place_that_cannot_be_written_is_said_before_any_run_is_made(cli: Cli, folder: Path) -> None:
    """A folder where the record goes, or a file where the folder of results goes: exit 5, and one line."""
    blocked = {"scenarios/tickets.seen.json": Path.mkdir, "results": Path.touch}
    for number, (name, block) in enumerate(blocked.items()):
        block(folder / name)
        done = cli("repro", "tickets", "--agent", agent("red"), TAKEN=f"t{number}")
        assert 5 == done.returncode, done.stderr
        assert "cannot be written: " in done.stderr
        assert not (folder / f"t{number}").exists()
        (folder / name).rmdir() if (folder / name).is_dir() else (folder / name).unlink()


def test_a_record_that_cannot_be_written_at_the_end_is_in_the_journal(cli: Cli, folder: Path) -> None:
    """The agent puts a folder where the record goes: what was seen is not lost."""
    script = "import json, os; os.mkdir('scenarios/tickets.seen.json'); print(json.dumps({'tools': ['delete_ticket']}))"
    (folder / "rude.py").write_text(script)
    done = cli("repro", "tickets", "--agent", f"{sys.executable} rude.py {{query}}")
    assert 5 == done.returncode
    assert "scenarios/tickets.seen.json: cannot be written: Is a directory" in done.stderr
    (journal,) = (folder / "results" / "failures").glob("*/journal.jsonl")
    assert 1 == json.loads(journal.read_text().splitlines()[-1])["verdict"]["record"]["failed"]


def test_not_seen_is_exit_4_with_what_it_says_of_the_scenario(cli: Cli, folder: Path) -> None:
    done = cli("repro", "tickets", "--agent", agent("green"), "--parallel", "7")
    assert 4 == done.returncode
    assert "not seen failing: 0 of 14 runs" in done.stdout
    assert "had it fired 1 in 5, 14 runs would have shown it 95.60% of the time" in done.stdout
    assert "mend the scenario, not the code" in done.stdout
    assert not list(folder.glob("scenarios/*.seen.json"))


def test_a_crash_or_a_limit_is_not_the_failure(cli: Cli, folder: Path) -> None:
    write(folder, {k: v for k, v in SEED.items() if k.startswith(("n", "q", "forbid"))} | {"report": "1 of 2"})
    done = cli("repro", "tickets", "--agent", agent("capped,crash,capped"), "--json")
    found = json.loads(done.stdout)
    assert (4, False, 5, 5, 1) == (
        done.returncode,
        found["seen_failing"],
        found["of"],
        found["failed_elsewhere"],
        found["invalid"],
    )


def test_what_is_missing_from_a_run_that_was_cut_is_not_the_failure_and_what_it_did_is(cli: Cli, folder: Path) -> None:
    """The seed's scenario, as it stands: a run at its limit of turns has not called the right tool, or not yet."""
    done = cli("repro", "tickets", "--agent", agent("capped"), "--runs", "2")
    assert (4, True) == (done.returncode, "2 runs failed on something else, or cut short" in done.stdout)
    done = cli("repro", "tickets", "--agent", agent("capped-red"), "--runs", "1", TAKEN="other")
    assert (0, True) == (done.returncode, "first on forbidden tool executed" in done.stdout), done.stdout


def test_nobody_counted_so_ten_runs_are_made_and_counted(cli: Cli, folder: Path) -> None:
    write(folder, SEED)
    done = cli("repro", "tickets", "--agent", agent("red,green,red,green"), "--parallel", "5")
    assert 0 == done.returncode
    assert "10 runs, all of them counted" in done.stderr
    seen = read_seen(load_failure(folder / "scenarios" / "tickets.json", folder), folder)
    assert seen is not None
    assert (2, 10, True) == (seen.failed, seen.of, seen.counted)


def test_runs_that_do_not_count_are_made_again_but_not_for_ever(cli: Cli, folder: Path) -> None:
    done = cli("repro", "tickets", "--agent", agent("crash,silent,red"))
    assert 0 == done.returncode
    assert "2 runs did not count; the first, run 1: the agent printed nothing (exit code 1)" in done.stdout
    again = cli("repro", "tickets", "--agent", agent("crash"), "--max-invalid", "1", TAKEN="other")
    assert 3 == again.returncode
    assert "inconclusive: 2 runs did not count, and at most 1 are made again" in again.stdout
    assert 2 == len(list((folder / "other").iterdir()))


def test_not_seen_leaves_an_earlier_record_alone(cli: Cli, folder: Path) -> None:
    assert 0 == cli("repro", "tickets", "--agent", agent("red")).returncode
    before = (folder / "scenarios" / "tickets.seen.json").read_bytes()
    assert 4 == cli("repro", "tickets", "--agent", agent("green"), "--runs", "2", TAKEN="o").returncode
    assert before == (folder / "scenarios" / "tickets.seen.json").read_bytes()


def test_it_needs_no_bench(cli: Cli, tmp_path_factory: pytest.TempPathFactory, folder: Path) -> None:
    bare = tmp_path_factory.mktemp("bare")
    (bare / "agent.py").write_bytes((folder / "agent.py").read_bytes())
    (bare / "f.json").write_bytes((folder / "scenarios" / "tickets.json").read_bytes())
    done = cli("repro", "f.json", "--agent", agent("red"), cwd=bare)
    assert 0 == done.returncode, done.stderr
    assert (bare / "f.seen.json").exists()


USAGE = {
    "nobody": ((), "say who is run"),
    "both": (("--agent", "sh {query}", "--model", "openai/x"), "say who is run"),
    "money": (("--agent", "sh {query}", "--max-cost", "1"), "--max-cost limits all runs together"),
    "no such format": (("--agent", "sh {query}", "--format", "claude-jsn"), "did you mean 'claude-json'?"),
    "prompt": (
        ("--agent", "sh {query}", "--without", "delete_ticket"),
        "--system-prompt and --without are for --model",
    ),
    "no tools": (("--model", "openai/gpt-4o-mini"), "needs OPENAI_API_KEY"),
}


@pytest.mark.parametrize("case", USAGE)
def test_what_cannot_be_run_is_one_line_and_exit_2(cli: Cli, case: str) -> None:
    options, expected = USAGE[case]
    done = cli("repro", "tickets", *options)
    assert (2, "") == (done.returncode, done.stdout)
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
