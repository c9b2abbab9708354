"""`crucible new-failure`: one new file from a report, with nothing but ids copied, seen failing; or nothing at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from crucible.llm.loopback import Answer, Calls, LoopbackServer, Text
from crucible.runner.failures.author import RULES, SCENARIO, slug_of
from tests.beside import beside

from .conftest import SEED, Cli, agent, write

ROOT = Path(__file__).parents[2]
REPORT = """\
It deleted resolved tickets instead of archiving them. I watched it happen on two of the last ten cleanup runs.
T-481 and T-490 are gone. Jane Doe (jane.doe@acme.test) is the customer.
"""
GOOD: dict[str, Any] = SEED | {"name": "cleanup archives, deletes nothing", "report": {"failed": 2, "of": 10}}
FILE = "cleanup-archives-deletes-nothing.json"
LEAKY = GOOD | {"query": "Clean up: archiving them. I watched it happen, says Jane Doe."}


def give(scenario: dict[str, Any]) -> Calls:
    return Calls([("write_scenario", scenario)])


@pytest.fixture
def bench(folder: Path) -> Path:
    (folder / "report.md").write_text(REPORT)
    return folder


def ask(cli: Cli, bench: Path, answers: Sequence[Answer], *options: str) -> tuple[int, str, str, list[dict[str, Any]]]:
    """Run the command with a model that gives these answers; exit code, what was printed, and what it was asked."""
    with LoopbackServer(answers) as server:
        (bench / "crucible.toml").write_text(f'[models."openai/author"]\napi_base = "{server.base_url}"\n')
        done = cli("new-failure", "report.md", "--model", "openai/author", *options)
        return done.returncode, done.stdout, done.stderr, server.requests


def files(bench: Path) -> set[str]:
    """Every file there is, what the test's own agent notes apart."""
    found = (path.relative_to(bench) for path in bench.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if path.parts[0] != "taken"}


@pytest.mark.slow
def test_a_report_becomes_one_new_file_and_nothing_else_changes(cli: Cli, bench: Path) -> None:
    before = files(bench)
    code, out, err, (request,) = ask(cli, bench, [give(GOOD)], "--no-repro")
    assert (0, f"wrote scenarios/{FILE}\n") == (code, out), err
    assert {f"scenarios/{FILE}"} == files(bench) - before
    assert GOOD == json.loads((bench / "scenarios" / FILE).read_text())
    assert "not run: it proves nothing until `crucible repro cleanup-archives-deletes-nothing" in err
    assert "report: 2 of 10, as the model read it" in err
    assert [SCENARIO.name] == [tool["function"]["name"] for tool in request["tools"]]


def test_the_model_is_given_the_four_rules_and_the_report_and_never_a_transcript(cli: Cli, bench: Path) -> None:
    (bench / "run.jsonl").write_text('{"text": "a secret of the customer"}')
    _, _, err, requests = ask(cli, bench, [give(GOOD)], "--no-repro", "--transcript", "run.jsonl")
    (said,) = requests[0]["messages"]
    assert said["content"].startswith(RULES)
    assert REPORT in said["content"]
    assert "secret" not in json.dumps(requests)
    assert "copied from report.md, run.jsonl" in err


def test_the_rules_are_those_of_the_seed() -> None:
    assert RULES in beside("seeds", "000_c9a432bf54d681c1.txt").read_text("utf-8")


def test_it_is_run_until_it_is_seen_failing(cli: Cli, bench: Path) -> None:
    code, out, err, _ = ask(cli, bench, [give(GOOD)], "--agent", agent("green,red"), "--name", "ours")
    assert (0, True) == (code, "seen failing: 1 of 2 runs" in out), err
    assert {"scenarios/ours.json", "scenarios/ours.seen.json"} <= files(bench)


def test_a_scenario_that_does_not_fail_is_kept_with_exit_code_4_and_the_code_left_alone(cli: Cli, bench: Path) -> None:
    code, _, err, _ = ask(cli, bench, [give(GOOD | {"report": {"failed": 9, "of": 10}})], "--agent", agent("green"))
    assert (4, True) == (code, "mend the scenario, not the code" in err), err
    assert f"scenarios/{FILE}" in files(bench)
    assert not [name for name in files(bench) if name.startswith("scenarios/cleanup") and name.endswith("seen.json")]


def test_a_copy_is_refused_with_what_was_found_and_nothing_is_written(cli: Cli, bench: Path) -> None:
    before = files(bench)
    code, out, err, requests = ask(cli, bench, [give(LEAKY), give(LEAKY)], "--agent", agent("red"))
    assert (2, "", before) == (code, out, files(bench))
    assert "report.md:1: words in a row copied: 'archiving them i watched it happen'\n" in err
    assert "report.md:2: personal name copied: 'Jane Doe'\n" in err
    assert 2 == len(requests)
    assert not (bench / "taken").exists(), "the agent was run"


def test_a_copy_from_a_transcript_is_refused_as_well(cli: Cli, bench: Path) -> None:
    (bench / "run.jsonl").write_text(
        json.dumps({"result": json.dumps({"subject": "Printer on fire in the old office"})})
    )
    held = GOOD | {"context": {"tickets": [{"id": "T-481", "subject": "printer on fire in the old office"}]}}
    code, _, err, _ = ask(cli, bench, 2 * [give(held)], "--no-repro", "--transcript", "run.jsonl")
    assert (2, True) == (code, "run.jsonl:1: words in a row copied" in err), err
    assert f"scenarios/{FILE}" not in files(bench)


def test_the_model_may_mend_once_and_is_told_what_was_wrong(cli: Cli, bench: Path) -> None:
    both = GOOD | {"expect_tool": "delete_ticket", "query": LEAKY["query"]}
    code, _, err, (_, second) = ask(cli, bench, [give(both), give(GOOD)], "--no-repro")
    assert (0, True) == (code, "asked 2 of at most 2 times" in err), err
    told = second["messages"][-1]["content"]
    assert all(what in told for what in (f"scenarios/{FILE}:", "delete_ticket", "personal name copied: 'Jane Doe'"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Text("I would rather fix the bug for you."), "not JSON"),
        (Text(None), "not JSON"),
        (Text('["a list"]'), "must be an object"),
        (Calls([("write_scenario", '{"name": "n", "query": ')]), "not JSON"),
        (give({"name": "n", "query": "q", "context": {}}), "assert"),
        (give(GOOD | {"report": {"failed": 11, "of": 10}}), "11 of 10"),
        (give(GOOD | {"patch": "rm delete_ticket"}), "unknown key 'patch'"),
    ],
)
def test_a_reply_that_is_no_scenario_is_kept_and_nothing_is_written_under_scenarios(
    cli: Cli, bench: Path, answer: Answer, said: str
) -> None:
    before = files(bench)
    code, _, err, _ = ask(cli, bench, [answer, answer], "--no-repro")
    assert (2, True) == (code, said in err), err
    (kept,) = files(bench) - before
    assert kept.startswith("results/failures/new-failure-")
    assert kept in err
    given = answer.text or "" if isinstance(answer, Text) else answer.calls[0][1]  # type: ignore[union-attr]  # no Status
    assert (given if isinstance(given, str) else json.dumps(given)) == (bench / kept).read_text()


def test_a_model_without_tools_may_answer_in_text(cli: Cli, bench: Path) -> None:
    text = f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\nGood luck."
    assert 0 == ask(cli, bench, [Text(text)], "--no-repro")[0]
    assert GOOD == json.loads((bench / "scenarios" / FILE).read_text())


def test_no_file_is_written_over(cli: Cli, bench: Path) -> None:
    kept = (bench / "scenarios" / "tickets.json").read_text()
    code, _, err, requests = ask(cli, bench, [give(GOOD)], "--no-repro", "--name", "tickets")
    assert (2, True, []) == (code, "scenarios/tickets.json is there already" in err, requests)
    for number in ("", "-2", "-3"):
        assert 0 == ask(cli, bench, [give(GOOD | {"name": "Tickets"})], "--no-repro")[0]
        assert f"scenarios/tickets{number or '-2'}.json" in files(bench)
    assert "scenarios/tickets-4.json" in files(bench)
    assert kept == (bench / "scenarios" / "tickets.json").read_text()


def test_a_name_that_a_model_gives_stays_in_the_folder(cli: Cli, bench: Path) -> None:
    before = files(bench)
    assert 0 == ask(cli, bench, [give(GOOD | {"name": "../../.bashrc"})], "--no-repro")[0]
    assert {"scenarios/bashrc.json"} == files(bench) - before
    assert "failure" == slug_of("../..")


def test_without_a_model_the_prompt_is_printed_and_no_key_is_needed(cli: Cli, bench: Path) -> None:
    before = files(bench)
    done = cli("new-failure", "report.md")
    assert (0, "", before) == (done.returncode, done.stderr, files(bench))
    assert done.stdout.startswith(RULES)
    assert REPORT.strip() in done.stdout
    assert "crucible new-failure report.md --check scenarios/NAME.json --no-repro" in done.stdout
    assert "{query}" in done.stdout
    assert done == cli("new-failure", "report.md", "--print-prompt", "--model", "openai/author")


def test_what_an_agent_wrote_is_checked_and_run(cli: Cli, bench: Path) -> None:
    write(bench, GOOD, "theirs")
    done = cli("new-failure", "report.md", "--check", "scenarios/theirs.json", "--agent", agent("red"))
    assert (0, True) == (done.returncode, "seen failing: 1 of 1 runs" in done.stdout), done.stderr
    write(bench, LEAKY, "theirs")
    done = cli("new-failure", "report.md", "--check", "theirs", "--no-repro")
    assert (2, True) == (done.returncode, "personal name copied: 'Jane Doe'" in done.stderr)


def test_the_prose_below_a_frontmatter_is_checked_too(cli: Cli, bench: Path) -> None:
    path = bench / "scenarios" / "prose.md"
    head = "---\n" + yaml.safe_dump({"kind": "failure"} | GOOD) + "---\n"
    path.write_text(head + "\nAn invented board.\n")
    assert 0 == cli("new-failure", "report.md", "--check", "prose", "--no-repro").returncode
    path.write_text(head + "\nIt deleted resolved tickets\ninstead of archiving them.\n")
    done = cli("new-failure", "report.md", "--check", "prose", "--no-repro")
    assert (2, True) == (done.returncode, "it deleted resolved tickets instead of archiving them" in done.stderr)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["report.md", "--model", "openai/x"], "say who is to be seen failing"),
        (
            ["report.md", "--model", "openai/x", "--no-repro", "--agent", "echo {query}"],
            "say who is to be seen failing",
        ),
        (
            ["report.md", "--model", "openai/x", "--agent", "no-such-agent {query}"],
            "there is no command 'no-such-agent'",
        ),
        (["report.md", "--model", "openai/x", "--agent", "echo"], "without {query}"),
        (["report.md", "--model", "openai/x", "--no-repro", "--name", "../x"], "small letters, digits"),
        (["report.md", "--model", "openai/x", "--no-repro"], "openai/x needs OPENAI_API_KEY"),
        (["report.md", "--model", "openai/x", "--no-repro", "--transcript", "none"], "none: cannot be read"),
        (
            ["report.md", "--check", "tickets", "--model", "openai/x", "--no-repro"],
            "--check is for a file that is there",
        ),
        (["report.md", "--check", "tickts", "--no-repro"], "did you mean 'tickets'?"),
        (["missing.md"], "missing.md: cannot be read"),
        (["empty.md"], "the report is empty"),
        (["binary.md"], "it is not UTF-8 text"),
        (["long.md"], "100,001 characters are no report"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_asked_or_written(
    cli: Cli, bench: Path, options: list[str], said: str
) -> None:
    (bench / "empty.md").write_text(" \n")
    (bench / "binary.md").write_bytes(b"\xff\xfe\x00")
    (bench / "long.md").write_text("x" * 100_001)
    before = files(bench)
    done = cli("new-failure", *options)
    assert (2, True) == (done.returncode, said in done.stderr), done.stderr
    assert before == files(bench)


@pytest.mark.parametrize("part", ["commands/freeze-failure.md", "agents/failure-freezer.md"])
def test_the_ready_command_and_subagent_carry_the_rules_and_run_the_checks(part: str) -> None:
    text = (ROOT / "examples" / "authoring" / part).read_text("utf-8")
    head, body = text.split("---\n", 2)[1:]
    assert "description" in yaml.safe_load(head)
    assert RULES.split("\n\n", 1)[1] in body
    assert "crucible new-failure" in body
    assert "--check scenarios/NAME.json" in body
    assert "crucible repro NAME --agent" in body
