"""`crucible confirm`: a number of green runs fixed in advance, and an exit code a merge gate can trust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from crucible.errors import NotSeenFailingError
from crucible.runner.failures.frozen import load_frozen
from crucible.runner.failures.planned import plan_confirm
from crucible.runner.failures.sidecar import Seen, read_seen

from .conftest import SEED, Cli, agent, write


def record(folder: Path, **more: Any) -> Seen:
    """As if `repro` had seen it fail."""
    frozen = load_frozen(folder / "scenarios" / "tickets.json", folder)
    said: dict[str, Any] = {
        "scenario_sha256": frozen.failure.digest,
        "failed": 1,
        "of": 3,
        "planned": 14,
        "counted": False,
        "dimensions": ("forbidden tool executed",),
        "verdict": "fail: forbidden tool executed",
        "transcript_sha256": "0" * 64,
        "agent": agent("green"),
        "format": None,
        "code": "v1",
        "date": "2026-03-01T12:00:00+00:00",
        "crucible": "0.1.0",
    }
    seen = Seen(**said | more)
    seen.write(frozen.failure.seen_path)
    return seen


def test_fourteen_greens_confirm_and_say_what_they_are_worth(cli: Cli, folder: Path) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--parallel", "7")
    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("confirmed: 14/14 green\n")
    assert "if the bug still fired 1 in 5, 14 green runs would happen 4.40% of the time" in done.stdout
    assert "9.93% when it is allowed for that 2 of 10 is a small count" in done.stdout
    assert "2 of 10 red before against 0 of 14 now: old and new are not shown to differ (p = 0.090" in done.stdout
    assert "23 greens would show that they do" in done.stdout
    assert "14 of 14 runs called and answered the same to the letter" in done.stdout
    assert 14 == len(list((folder / "taken").iterdir()))


def test_the_first_red_run_refutes_and_no_other_is_started(cli: Cli, folder: Path) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent("green,green,red,green"), "--json")
    found = json.loads(done.stdout)
    assert (1, "refuted", 2, 1) == (done.returncode, found["verdict"], found["green"], found["red"])
    assert found["p_old_fails_more"] is None
    assert 3 == len(list((folder / "taken").iterdir()))


def test_a_refuted_fix_is_shown_call_against_call(cli: Cli, folder: Path) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent("green,red"))
    assert (
        "refuted: run 2 is red, after 1 green: fail: forbidden tool executed: call 2, delete_ticket(…), ran"
        in done.stdout
    )
    assert "   list_tickets(…)\n  -archive_ticket(…)\n  +delete_ticket(…)\n" in done.stdout
    assert "seen failing with another agent" in done.stdout


def test_a_red_run_on_something_else_is_said_to_be_that(cli: Cli, folder: Path) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent("mute"))
    assert 1 == done.returncode
    assert "not the failure that was seen before (forbidden tool executed), but " in done.stdout


def test_never_seen_failing_is_exit_4_unless_that_is_accepted_and_marked(cli: Cli, folder: Path) -> None:
    done = cli("confirm", "tickets", "--agent", agent("green"))
    assert (4, "") == (done.returncode, done.stdout)
    assert "tickets was never seen failing: its greens would count for nothing" in done.stderr
    assert not (folder / "taken").exists()
    accepted = cli("confirm", "tickets", "--agent", agent("green"), "--unproven", "--runs", "2")
    assert 0 == accepted.returncode
    assert "confirmed: 2/2 green (unproven: never seen failing as it is now)" in accepted.stdout
    assert "warning: only 2 runs asked for, below the floor of 14" in accepted.stdout


def test_an_edited_scenario_has_to_be_seen_failing_again(folder: Path) -> None:
    seen = record(folder)
    write(folder, SEED | {"report": "2 of 10", "forbid_tool": "remove_ticket"})
    frozen = load_frozen(folder / "scenarios" / "tickets.json", folder)
    with pytest.raises(NotSeenFailingError, match="changed since it was seen failing"):
        plan_confirm(frozen, seen, None, None, unproven=False)


def test_the_number_of_runs_comes_from_the_option_else_the_report_else_what_was_counted(folder: Path) -> None:
    path = folder / "scenarios" / "tickets.json"
    seen = record(folder, failed=3, of=10, planned=10, counted=True)
    reported = load_frozen(path, folder)
    write(folder, SEED)
    silent = load_frozen(path, folder)
    assert 30 == plan_confirm(reported, seen, 30, None, unproven=False).runs
    assert 14 == plan_confirm(reported, seen, None, None, unproven=False).runs
    assert 21 == plan_confirm(reported, seen, None, Fraction(1, 100), unproven=False).runs
    assert 9 == plan_confirm(silent, seen, None, None, unproven=False).runs


def test_runs_that_do_not_count_are_never_green(cli: Cli, folder: Path) -> None:
    record(folder)
    plan = "green,crash,limited,green,green"
    done = cli("confirm", "tickets", "--agent", agent(plan), "--runs", "3", "--json")
    found = json.loads(done.stdout)
    assert (0, 3, 2) == (done.returncode, found["green"], found["invalid"])
    assert ["green", "invalid", "invalid", "green", "green"] == [run["colour"] for run in found["runs"]]


def test_a_silent_agent_is_inconclusive_although_nothing_forbidden_was_called(cli: Cli, folder: Path) -> None:
    write(folder, {k: v for k, v in SEED.items() if not k.startswith("expect")} | {"report": "2 of 10"})
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent("silent"))
    assert 3 == done.returncode
    assert "inconclusive: 0/14 green: 4 runs did not count" in done.stdout


def test_money_is_set_aside_before_each_run_and_its_end_is_inconclusive(cli: Cli, folder: Path) -> None:
    record(folder)
    money = ("--run-cost", "0.5", "--max-cost", "1.6", "--runs", "5")
    command = agent("dear", "{query} {max_cost_usd}")
    done = cli("confirm", "tickets", "--agent", command, *money, "--parallel", "5")
    assert 3 == done.returncode
    assert (
        "inconclusive: 3/5 green: the money for all runs, 1.6 US dollars, has no room for another run of 0.5"
        in done.stdout
    )
    assert "3 green runs would happen 51.20% of the time" in done.stdout
    assert 3 == len(list((folder / "taken").iterdir()))


def test_a_run_that_does_not_say_what_it_spent_is_charged_with_all_it_might_have(cli: Cli, folder: Path) -> None:
    record(folder)
    money = ("--run-cost", "0.5", "--max-cost", "1", "--runs", "3")
    done = cli("confirm", "tickets", "--agent", agent("unpriced", "{query} {max_cost_usd}"), *money, "--json")
    assert (3, 2, 1.0) == (done.returncode, json.loads(done.stdout)["green"], json.loads(done.stdout)["spent_usd"])


@pytest.mark.slow
def test_the_end_of_the_time_for_all_runs_is_inconclusive(cli: Cli, folder: Path) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent("green,hang"), "--max-seconds", "5.5")
    assert 3 == done.returncode
    assert "inconclusive: 1/14 green: the time for all runs, 5.5 s, is used up" in done.stdout


@pytest.mark.parametrize(
    ("plan", "reason"), [("session", "a replay: its session s-1 is that of run 1"), ("cached", "came from a cache")]
)
def test_replayed_and_cached_replies_never_count(cli: Cli, folder: Path, plan: str, reason: str) -> None:
    record(folder)
    done = cli("confirm", "tickets", "--agent", agent(plan), "--max-invalid", "1")
    assert 3 == done.returncode
    assert reason in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_and_its_like_are_exit_130_lose_no_run_and_leave_no_agent(folder: Path, asked: signal.Signals) -> None:
    record(folder)
    command = [sys.executable, "-m", "crucible", "confirm", "tickets", "--agent", agent("green,green,pid")]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 600
        while not (folder / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(asked)
        _, errors = process.communicate(timeout=600)
    assert 130 == process.returncode, errors
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)
    assert "stopped; the runs that had ended are in results/failures" in errors
    (journal,) = (folder / "results" / "failures").iterdir()
    lines = [json.loads(line) for line in (journal / "journal.jsonl").read_text().splitlines()]
    assert [1, 2] == [line["run"] for line in lines if "run" in line]


def test_reports_for_machines_never_pass_where_the_verdict_does_not(cli: Cli, folder: Path) -> None:
    record(folder)
    verdicts = {"green": (0, []), "green,red": (1, ["failure"]), "crash": (3, ["error"])}
    for number, (plan, (code, kinds)) in enumerate(verdicts.items()):
        reports = ("--junit", "out/j.xml", "--markdown", "out/m.md")
        done = cli("confirm", "tickets", "--agent", agent(plan), "--runs", "2", *reports, TAKEN=f"t{number}")
        assert code == done.returncode
        suite = ET.parse(folder / "out" / "j.xml").getroot()  # noqa: S314 - written by us a moment ago
        verdict = next(case for case in suite if case.get("name") == "confirmed")
        assert kinds == [child.tag for child in verdict if child.tag != "system-out"]
        assert str(len(suite)) == suite.get("tests")
        assert str(len(suite.findall(".//failure"))) == suite.get("failures")
        assert "| run | | verdict | seconds |" in (folder / "out" / "m.md").read_text()


def test_reports_hold_whatever_an_agent_answers(cli: Cli, folder: Path) -> None:
    record(folder)
    script = (
        "import json; print(json.dumps({'tools': ['delete_ticket', 'a|b```<x>'], 'result': '\\x1b[31m]]>&\\ud800'}))"
    )
    (folder / "wild.py").write_text(script)
    wild = f"{sys.executable} wild.py {{query}}"
    done = cli("confirm", "tickets", "--agent", wild, "--junit", "j.xml", "--markdown", "m.md")
    assert 1 == done.returncode, done.stderr
    assert "\x1b" not in done.stdout
    failure = ET.parse(folder / "j.xml").getroot().find(".//failure")  # noqa: S314 - written by us a moment ago
    assert failure is not None
    assert "delete_ticket" in failure.attrib["message"]
    assert "````diff" in (folder / "m.md").read_text()


BROKEN = {
    "{": "tickets.seen.json:1: column 2: not JSON",
    "[]": "tickets.seen.json:1: cannot be used: the keys are not those of such a file",
    '{"failed": 1}': "the keys are not those of such a file",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_record_that_was_written_by_hand_is_refused(cli: Cli, folder: Path, text: str) -> None:
    (folder / "scenarios" / "tickets.seen.json").write_text(text)
    done = cli("confirm", "tickets", "--agent", agent("green"))
    assert 2 == done.returncode
    assert BROKEN[text] in done.stderr
    assert "written by `crucible repro`, not by hand" in done.stderr


HAND: dict[str, tuple[Any, str]] = {
    "agent": (None, "agent must be text, got null"),
    "format": (3, "format must be text or null, got 3"),
    "code": ([], "code must be text or null, got []"),
    "counted": ("no", 'counted must be true or false, got "no"'),
    "dimensions": ([1], "dimensions must be a list of texts, got [1]"),
    "date": ("spring", 'date must be a date, got "spring"'),
    "failed": (True, "failed must be a whole number, got true"),
    "of": (0, "failed, of, planned must be in order from 1, got 1, 0, 14"),
    "planned": (10**30, "planned must be a whole number"),
}


@pytest.mark.parametrize("key", HAND)
def test_one_value_of_a_record_changed_by_hand_is_named(cli: Cli, folder: Path, key: str) -> None:
    record(folder)
    value, said = HAND[key]
    path = folder / "scenarios" / "tickets.seen.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    done = cli("confirm", "tickets")
    assert 2 == done.returncode
    assert f"scenarios/tickets.seen.json:1: cannot be used: {said}" in done.stderr


def test_a_record_that_another_hand_wrote_cannot_speak_to_the_terminal(cli: Cli, folder: Path) -> None:
    record(folder, agent="an agent \x1b[31m{query}", dimensions=("\x1b[31m",))
    done = cli("confirm", "tickets", "--agent", agent("red"))
    assert 1 == done.returncode
    assert "\x1b" not in done.stdout + done.stderr


def test_a_record_is_read_as_it_was_written(folder: Path) -> None:
    seen = record(folder)
    assert seen == read_seen(load_frozen(folder / "scenarios" / "tickets.json", folder).failure, folder)


def test_the_very_code_that_was_seen_failing_is_pointed_out(cli: Cli, folder: Path) -> None:
    who = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@x", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "n@x"}
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "old")):
        subprocess.run(["git", *words], cwd=folder, env=os.environ | who, check=True)
    assert 0 == cli("repro", "tickets", "--agent", agent("red")).returncode
    done = cli("confirm", "tickets", "--agent", agent("green"), "--runs", "1", TAKEN="t")
    assert "warning: this is the very code that was seen failing" in done.stdout


def test_a_bug_too_rare_to_confirm_cheaply_asks_for_a_number(cli: Cli, folder: Path) -> None:
    write(folder, SEED | {"report": {"failed": 1, "of": 1000}})
    record(folder)
    done = cli("confirm", "tickets")
    assert 2 == done.returncode
    assert "too flaky to confirm cheaply: 1 of 1000 with a tolerance of 0.05 takes 2995 runs" in done.stderr
    assert 0 == cli("confirm", "tickets", "--runs", "2").returncode


def test_no_count_at_all_needs_a_number(cli: Cli, folder: Path) -> None:
    write(folder, SEED)
    record(folder)
    done = cli("confirm", "tickets")
    assert 2 == done.returncode
    assert "nobody has counted how often it fails" in done.stderr
    chosen = cli("confirm", "tickets", "--runs", "2")
    assert 0 == chosen.returncode
    assert "happen" not in chosen.stdout


def test_the_failures_of_a_bench_are_listed_with_what_is_known_of_them(cli: Cli, folder: Path) -> None:
    record(folder)
    (folder / "scenarios" / "bad.json").write_text("{")
    listed = {line["name"]: line for line in json.loads(cli("list-scenarios", "--json").stdout)}
    assert listed["tickets"]["description"].endswith("(reported 2 of 10, seen failing on 2026-03-01)")
    assert ("failure", 1) == (listed["bad"]["kind"], len(listed["bad"]["problems"]))
    assert "is a frozen failure, not a comparison" in cli("run", "tickets", "--rehearse").stderr
