"""An agent by its command: what it is given, and that a run which says nothing about the agent is never green."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from crucible.errors import UsageError
from crucible.runner.failures.command_agent import CommandAgent, read_template
from crucible.runner.failures.frozen import load_frozen
from crucible.runner.failures.made import Colour, Made, hold
from crucible.runner.failures.process import MOST_OUTPUT, run_process

from .conftest import SEED, Cli, agent, arguments, write


def play(folder: Path, command: str, *, seconds: float = 100.0, format_: str | None = None) -> Made:
    frozen = load_frozen(folder / "scenarios" / "tickets.json", folder)
    subject = CommandAgent(read_template(command), frozen, folder=folder, format=format_, seconds=seconds)
    return hold(1, frozen, asyncio.run(subject.play()), subject.enforced)


def test_each_placeholder_is_one_argument_and_never_a_shells(folder: Path) -> None:
    evil = "$(touch /tmp/pwned); `id` && {context} 'x\" \\"
    write(folder, SEED | {"query": evil})
    play(folder, agent("green", "-p {query} --context={context} --max-turns {max_turns}"))
    assert ["-p", evil, f"--context={json.dumps(SEED['context'])}", "--max-turns", "20"] == arguments(folder)


def test_the_turns_of_the_file_reach_the_agent(folder: Path) -> None:
    write(folder, SEED | {"caps": {"turns": 7}})
    play(folder, agent("green", "{query} {max_turns}"))
    assert "7" == arguments(folder)[1]


COLOURS = {
    "green": (Colour.GREEN, "pass: "),
    "red": (Colour.RED, "fail: forbidden tool executed: call 2, delete_ticket(…), ran"),
    "nothing": (Colour.RED, "fail: right tool: expected archive_ticket, which was not called (no tool was called)"),
    "mute": (Colour.RED, "fail: facts: "),
    "crash": (Colour.INVALID, "the agent printed nothing (exit code 1); stderr: Traceback: no such skill"),
    "silent": (Colour.INVALID, "the agent printed nothing (exit code 0)"),
    "noise": (Colour.INVALID, "no known format in 16 bytes that begin with 'starting up ...' (exit code 0)"),
    "limited": (Colour.INVALID, ""),
    "capped": (Colour.RED, "fail: right tool: "),
}


@pytest.mark.parametrize("word", COLOURS)
def test_a_run_is_what_its_output_shows(folder: Path, word: str) -> None:
    colour, line = COLOURS[word]
    made = play(folder, agent(word))
    assert colour is made.colour, made.line
    assert made.line.startswith(line)


def test_a_run_that_hangs_is_stopped_and_does_not_count(folder: Path) -> None:
    began = time.monotonic()
    made = play(folder, agent("hang"), seconds=0.5)
    assert (Colour.INVALID, "stopped after 0.5 s, without an end") == (made.colour, made.line)
    assert time.monotonic() - began < 30


def test_a_run_that_floods_is_stopped_and_does_not_count(folder: Path) -> None:
    made = play(folder, agent("flood"))
    assert (Colour.INVALID, f"stopped: it printed more than {MOST_OUTPUT // 2**20} MiB") == (made.colour, made.line)


def test_what_an_agent_leaves_behind_does_not_hold_a_run_up(folder: Path) -> None:
    made = play(folder, agent("orphan"), seconds=100)
    assert Colour.GREEN is made.colour
    assert made.seconds < 90


def test_everything_in_the_session_ends_with_the_run(folder: Path) -> None:
    done = asyncio.run(run_process(["sh", "-c", "sleep 600 & echo $!"], folder, 60))
    assert 0 == done.exit_code
    deadline = time.monotonic() + 60
    while runs(int(done.output)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def runs(pid: int) -> bool:
    """A zombie does not: it waits for whoever inherited it."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_wall_clock_is_known_even_where_the_format_is_silent(folder: Path) -> None:
    write(folder, SEED | {"caps": {"seconds": 30}})
    made = play(folder, agent("green"))
    assert Colour.GREEN is made.colour
    assert made.run.seconds is not None


def test_a_limit_nobody_can_check_is_not_green_unless_the_agent_is_made_to_keep_it(folder: Path) -> None:
    write(folder, SEED | {"caps": {"cost_usd": 1}})
    unknown = play(folder, agent("unpriced"))
    kept = play(folder, agent("unpriced", "{query} --max-budget-usd {max_cost_usd}"))
    assert (Colour.INVALID, Colour.GREEN) == (unknown.colour, kept.colour)
    assert "cannot be judged" in unknown.line


REFUSED = {
    "": "without {query} the agent is not asked anything",
    "agent": "without {query} the agent is not asked anything",
    "no-such-agent-here {query}": "there is no command 'no-such-agent-here' here",
    "sh {query} {contxt}": "no placeholder {contxt}; did you mean 'context'?",
    "sh '{query}": "no closing quotation",
    "sh {query} {max_cost_usd}": "{max_cost_usd} needs a limit",
}


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_cannot_be_run_is_refused_before_anything_is(folder: Path, command: str) -> None:
    with pytest.raises(UsageError) as caught:
        play(folder, command)
    assert REFUSED[command] in caught.value.message
    assert not (folder / "taken").exists()


def test_a_format_without_tool_calls_is_refused_with_the_flag_to_use_instead(folder: Path) -> None:
    with pytest.raises(UsageError, match="run with --output-format stream-json --verbose"):
        play(folder, agent("claude-json"), format_="claude-json")


def test_a_format_that_only_a_run_shows_is_refused_and_the_run_is_kept(cli: Cli, folder: Path) -> None:
    done = cli("repro", "tickets", "--agent", agent("claude-json"))
    assert 2 == done.returncode
    assert done.stderr.endswith("claude-json carries no tool calls; run with --output-format stream-json --verbose\n")
    (transcript,) = (folder / "results" / "failures").glob("*/run-01.txt")
    assert b"Archived." in transcript.read_bytes()


def test_a_command_that_is_no_program_is_one_line(folder: Path) -> None:
    (folder / "text").write_text("not a program")
    (folder / "text").chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started: Exec format error"):
        play(folder, f"{folder}/text {{query}}")


def test_a_context_that_is_too_long_for_a_command_line_is_told(folder: Path) -> None:
    write(folder, SEED | {"context": {"note": "x" * 200_000}})
    with pytest.raises(UsageError, match="cannot be started: Argument list too long") as caught:
        play(folder, agent("green"))
    assert "freeze a smaller world" in str(caught.value.hint)


def test_json_braces_in_a_command_are_left_alone(folder: Path) -> None:
    play(folder, agent("green", """{query} '{"a": {}}' --x={X}"""))
    assert [SEED["query"], '{"a": {}}', "--x={X}"] == arguments(folder)
