"""The command line as its user meets it: exit codes, errors that say what to do, JSON that can be read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from crucible.cli.app import run_app


@pytest.fixture
def here(bench: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(bench)
    for key in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    return bench


def test_a_new_bench_validates_and_rehearses_and_is_shown(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app(["list-scenarios"])
    assert "scenario.schema" not in "".join(capfd.readouterr())
    assert 0 == run_app(["validate"])
    assert "ok    first-bug: unfixed red (1 failing), reference green (6 tests" in capfd.readouterr().out
    assert 0 == run_app(["run", "first-bug", "--rehearse", "--blocks", "1", "--json"])
    made = json.loads(capfd.readouterr().out)
    (comparison,) = made["comparisons"]
    assert [1, 1] == [arm["counted"] for arm in comparison["arms"]]
    assert {"not tested"} == {claim["verdict"]["word"] for claim in made["claims"]}
    for again in (["compare", "1"], ["show", "run:1"]):
        assert 0 == run_app([*again, "--json"])
        assert made == json.loads(capfd.readouterr().out)
    assert 0 == run_app(["runs"])
    assert "rehearsal" in capfd.readouterr().out
    assert 0 == run_app(["show", "run:1"])
    assert "REHEARSAL" in capfd.readouterr().out
    assert 0 == run_app(["show", "1"])
    shown = capfd.readouterr().out
    for part in (
        "Timeline",
        "Change",
        "Reference",
        "Like the reference: 1.00",
        "Tests",
        "Scores (judge: scripted",
        "total",
    ):
        assert part in shown
    assert 0 == run_app(["show", "1", "--json"])
    assert "finished" == json.loads(capfd.readouterr().out)["attempt"]["ending"]
    assert 0 == run_app(["leaderboard"])
    assert "rehearsals are never ranked" in capfd.readouterr().err
    assert 0 == run_app(["rejudge", "1", "--judge", "facts"])
    out = capfd.readouterr().out
    assert "2 attempts of run 1 judged by facts; 0 pending" in out


def test_new_makes_stubs_that_say_what_is_missing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app(["new", "my-bug"])
    assert (here / "fixtures" / "my-bug" / "repo" / "README.md").exists()
    assert 2 == run_app(["validate", "my-bug"])
    assert "FAIL  my-bug" in capfd.readouterr().out
    assert 2 == run_app(["new", "my-bug"])
    assert "is there already; nothing was written" in capfd.readouterr().err
    assert 2 == run_app(["new", "My Bug"])
    assert "cannot name a scenario" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        (["run", "first-bgu", "--rehearse"], "did you mean 'first-bug'?"),
        (["run"], "name scenarios to run"),
        (["run", "first-bug", "--model", "x"], "--model takes ARM=MODEL"),
        (["run", "first-bug", "--model", "carefull=m/x"], "did you mean 'careful'?"),
        (["run", "first-bug"], "needs ANTHROPIC_API_KEY, which is not set"),
        (["run", "first-bug", "--sandbox", "none"], "sandbox: input should be 'auto', 'overlay' or 'copy'"),
        (["show", "x"], "neither an attempt number nor run:N"),
        (["show", "\N{SUPERSCRIPT TWO}"], "neither an attempt number nor run:N"),
        (["show", f"{2**63}"], "neither an attempt number nor run:N"),
        (["compare", f"{2**63}"], "larger than any number in a store"),
        (["run", "first-bug", "--seed", f"{2**63}"], "larger than any number in a store"),
        (["show", "1"], "nothing has been stored yet"),
        (["run", "--resume", "7"], "nothing has been stored yet"),
        (["--bench", "nowhere", "runs"], "nowhere: there is no such folder"),
        (["nonsense"], "No such command"),
        (["run", "first-bug", "--nonsense"], "No such option"),
    ],
)
def test_a_user_error_says_what_to_do_and_exits_2(
    here: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], gist: str
) -> None:
    assert 2 == run_app(arguments)
    said = capfd.readouterr()
    assert gist in said.err
    assert "Traceback" not in said.err
    assert "" == said.out


def test_a_wrong_scenario_is_listed_with_every_problem(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = here / "scenarios" / "first-bug.md"
    file.write_text(file.read_text().replace("weight: 0.5", "weight: 0.9").replace("max_turns", "max_turn"))
    assert 2 == run_app(["list-scenarios"])
    said = capfd.readouterr()
    assert "cannot be read: 2 problems" in said.out
    assert "did you mean 'max_turns'?" in said.err
    assert "sum to 1" in said.err
    assert 2 == run_app(["run", "first-bug", "--rehearse"])
    file.write_text(file.read_text().replace("weight: 0.9", "weight: 0.5"))
    assert 2 == run_app(["list-scenarios"])
    assert "cannot be read: 1 problem " in capfd.readouterr().out


def test_tool_servers_that_are_not_there_stop_a_real_run_before_it_spends(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    file = here / "scenarios" / "first-bug.md"
    text = file.read_text()
    file.write_text(text.replace("  - id: baseline\n", "    extra_tools: [asd]\n  - id: baseline\n", 1))
    assert 2 == run_app(["run", "first-bug"])
    said = capfd.readouterr().err
    assert "tool server 'asd' is not installed" in said
    assert "--tools asd=code-graph" in said
    assert "--without-extra-tools" in said


@pytest.mark.slow
def test_a_scenario_that_is_not_red_then_green_is_not_run(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = here / "fixtures" / "first-bug" / "repo" / "shelf" / "pages.py"
    source.write_text(source.read_text().replace("max(1, -(-total // size))", "0"))
    assert 2 == run_app(["run", "first-bug", "--rehearse"])
    said = capfd.readouterr().err
    assert "the suite is not green with the reference fix" in said
    assert "crucible validate first-bug" in said


@pytest.mark.slow
def test_a_line_of_the_reference_in_the_fixture_is_found(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    readme = here / "fixtures" / "first-bug" / "repo" / "NOTES.md"
    readme.write_text("hint: return list(items[start : start + size])\n")
    assert 2 == run_app(["validate", "first-bug"])
    assert "NOTES.md holds a line of the reference fix" in capfd.readouterr().out


@pytest.mark.slow
def test_a_suite_that_is_not_pytest_is_graded_by_its_report_or_its_exit_code(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = here / "scenarios" / "first-bug.md"
    text = file.read_text()
    check = "python3 -c \"from shelf.pages import page; assert page(list('abc'), 1, 2) == ['a', 'b']\""
    file.write_text(text.replace("python3 -m pytest -q", f"'{check.replace(chr(39), chr(39) * 2)}'"))
    assert 0 == run_app(["validate", "first-bug"])
    assert "ok    first-bug" in capfd.readouterr().out
    own = "python3 -m pytest -q --junitxml=out/report.xml"
    file.write_text(text.replace("python3 -m pytest -q\n", f"{own}\ntest_report: out/report.xml\n", 1))
    assert 0 == run_app(["validate", "first-bug"])
    assert "reference green (6 tests" in capfd.readouterr().out


def test_dry_run_prices_and_makes_nothing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app(["run", "first-bug", "--rehearse", "--dry-run"])
    said = capfd.readouterr()
    assert "first-bug  careful  scripted: 3 attempts" in said.out
    assert "nothing was made" in said.out
    assert 0 == run_app(["runs", "--json"])
    assert [] == json.loads(capfd.readouterr().out)


@pytest.mark.slow
def test_doctor_says_what_is_missing_and_what_fixes_it(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_app(["doctor"])
    said = capfd.readouterr().out
    assert "model anthropic/claude-sonnet-4-6: ANTHROPIC_API_KEY is not set" in said
    assert "export ANTHROPIC_API_KEY=..." in said


def test_schema_is_json(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert 0 == run_app(["schema"])
    assert "arms" in json.loads(capfd.readouterr().out)["properties"]


def test_a_wrong_key_in_crucible_toml_names_file_line_and_the_nearest(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (here / "crucible.toml").open("a") as config:
        config.write('sandbx = "copy"\n')
    assert 2 == run_app(["runs"])
    assert "crucible.toml:4: unknown key 'sandbx'; did you mean 'sandbox'?" in capfd.readouterr().err


@pytest.mark.slow
def test_the_copy_sandbox_is_marked_and_refuses_what_it_cannot_enforce(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert 0 == run_app(["run", "first-bug", "--rehearse", "--blocks", "1", "--sandbox", "copy"])
    assert "UNSANDBOXED" in capfd.readouterr().out
    file = here / "scenarios" / "first-bug.md"
    file.write_text(file.read_text().replace("blocks: 3", "network: false"))
    assert 2 == run_app(["run", "first-bug", "--rehearse", "--sandbox", "copy"])
    assert "`network: false` cannot be enforced without the sandbox" in capfd.readouterr().err
