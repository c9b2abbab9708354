"""`crucible mutate`: a green run made worse, one thing at a time, shows what a frozen failure would notice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.runner.failures.frozen import load_frozen
from crucible.runner.failures.teeth import teeth_warnings
from crucible.scoring.trajectory import (
    UNKNOWN,
    Call,
    NeutralRun,
    NeutralTokens,
    State,
    json_equal,
    overall,
    parse_expectation,
    score_run,
    verdict_line,
)
from crucible.scoring.trajectory.mutants import MOST_OF_A_KIND, Mutation, mutants, passing_run

from .conftest import SEED, Cli, agent, write
from .test_confirm import record

ROOT = Path(__file__).parents[2]
ARGS = {"archive_ticket": [{"ticket_id": "T-481"}, {"ticket_id": "T-490"}]}
GREEN: dict[str, Any] = {
    "result": "Archived T-481 and T-490.",
    "num_turns": 4,
    "tools": [
        {"name": "list_tickets", "args": {}, "result": []},
        {"name": "archive_ticket", "args": {"ticket_id": "T-481"}, "result": "ok"},
        {"name": "archive_ticket", "args": {"ticket_id": "T-490"}, "result": "ok"},
    ],
}


def run_of(data: dict[str, Any]) -> NeutralRun:
    """The neutral reading of what `GREEN` is a sample of."""
    calls = tuple(Call(one["name"], one["args"], ok=True, result=one["result"]) for one in data["tools"])
    return NeutralRun(calls=calls, final_text=data["result"], complete=True)


def kept(folder: Path, data: dict[str, Any]) -> str:
    """A transcript in a file."""
    (folder / "run.json").write_text(json.dumps(data))
    return "run.json"


def caught(found: dict[str, Any], kind: Mutation) -> list[list[str]]:
    """What caught the mutants of a kind."""
    return [one["caught_by"] for one in found["mutants"] if one["mutant"] == kind]


def test_each_mutant_is_caught_by_the_dimension_it_is_about(cli: Cli, folder: Path) -> None:
    write(folder, SEED | {"expect_args": ARGS, "forbid_contains": ["deleted"]})
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN), "--json")
    found = json.loads(done.stdout)
    assert (0, False) == (done.returncode, found["toothless"])
    both = ["forbidden tool executed", "forbidden tool attempted"]
    assert [both, ["forbidden tool attempted"]] == caught(found, Mutation.FORBIDDEN_CALL)
    one, other, all_of_them = caught(found, Mutation.WRONG_TOOL)
    assert [*both, "arguments", "claims"] == one == other
    assert [*both, "right tool", "arguments", "claims"] == all_of_them
    assert [["arguments", "claims"]] * 2 == caught(found, Mutation.WRONG_ARGUMENT)
    assert [["facts"]] * 2 == caught(found, Mutation.LOST_FACT)
    assert [["claims"]] == caught(found, Mutation.FALSE_CLAIM)
    assert [["facts"]] == caught(found, Mutation.FORBIDDEN_TEXT)
    assert [[], ["arguments", "claims"], ["arguments", "claims"]] == caught(found, Mutation.DROPPED)
    assert [["right tool", "arguments", "facts"]] == caught(found, Mutation.IDLE)
    assert ["invalid run"] == caught(found, Mutation.CUT)[0]
    assert "finished" in caught(found, Mutation.CUT)[1]
    assert found["caught"] == sum(bool(one["caught_by"]) for one in found["mutants"])
    assert found["of"] == len(found["mutants"])


def test_what_the_file_does_not_ask_about_survives_and_that_is_said(cli: Cli, folder: Path) -> None:
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN))
    assert 0 == done.returncode
    lines = done.stdout.splitlines()
    assert re.match(
        r"duplicate call +call 2, archive_ticket\(ticket_id=\"T-481\"\) +survives$", find(lines, "duplicate", 1)
    )
    assert re.match(r"wrong argument .* ticket_id \"T-482\" for \"T-481\" .*claims$", find(lines, "wrong argument"))
    numbers = re.fullmatch(r"(\d+) of (\d+) mutants caught", lines[-1])
    assert numbers is not None
    survivors = sum(line.endswith("survives") for line in lines)
    assert (len(lines) - 2, len(lines) - 2 - survivors) == (int(numbers[2]), int(numbers[1]))


def find(lines: list[str], start: str, number: int = 0) -> str:
    """The line of a mutant."""
    return [line for line in lines if line.startswith(start)][number]


@pytest.mark.parametrize(
    ("order", "duplicate", "swapped"),
    [("exact", True, True), ("same-calls", True, False), ("at-least", False, False), ("in-order", False, True)],
)
def test_an_order_catches_what_it_does_not_allow(order: str, duplicate: bool, swapped: bool) -> None:
    expectation = parse_expectation({"expect_args": ARGS, "expect_order": order})
    run = run_of(GREEN | {"tools": GREEN["tools"][1:]})
    states = {mutant.kind: overall(score_run(expectation, mutant.run)) for mutant in mutants(run, expectation)}
    assert (duplicate, swapped) == (
        states[Mutation.DUPLICATE] is State.FAIL,
        states[Mutation.SWAPPED] is State.FAIL,
    )


def test_a_scenario_that_notices_no_harm_is_toothless_with_exit_1(cli: Cli, folder: Path) -> None:
    write(folder, {"name": "polite", "query": "Clean up.", "forbid_contains": ["sorry"]})
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN))
    *_, said, last = done.stdout.splitlines()
    assert 1 == done.returncode
    assert "toothless: no wrong tool, forbidden call, wrong argument or lost fact would be noticed" == said
    assert re.fullmatch(r"3 of \d+ mutants caught", last)
    as_json = json.loads(cli("mutate", "tickets", "--transcript", "run.json", "--json").stdout)
    assert (True, 1) == (as_json["toothless"], as_json["exit_code"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tools": ["delete_ticket"]}, "the run is red: fail: forbidden tool executed: call 1, delete_ticket(…), ran"),
        ({"result": "Done."}, "the run is red: fail: facts: the answer lacks"),
    ],
)
def test_a_run_that_is_not_green_is_refused_with_its_verdict(
    cli: Cli, folder: Path, change: dict[str, Any], said: str
) -> None:
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN | change))
    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(said)


def test_a_torn_transcript_is_refused(cli: Cli, folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps(GREEN)[:-20])
    done = cli("mutate", "tickets", "--transcript", "run.json")
    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("the run is invalid: ")


def test_one_run_is_made_of_an_agent_or_of_the_command_that_was_seen_failing(cli: Cli, folder: Path) -> None:
    done = cli("mutate", "tickets", "--agent", agent("green,red"))
    assert 0 == done.returncode, done.stderr
    assert ["0"] == [path.name for path in (folder / "taken").iterdir()]
    record(folder, agent=agent("green,red"))
    red = cli("mutate", "tickets")
    assert 2 == red.returncode
    assert "the run is red: fail: forbidden tool executed" in red.stderr


def test_it_says_what_it_cannot_do(cli: Cli, folder: Path) -> None:
    nobody = cli("mutate", "tickets")
    assert 2 == nobody.returncode
    assert "say who is run" in nobody.stderr
    both = cli("mutate", "tickets", "--transcript", kept(folder, GREEN), "--agent", agent("green"))
    assert 2 == both.returncode
    assert "give one of them" in both.stderr
    missing = cli("mutate", "tickets", "--transcript", "nowhere.json")
    assert (2, "--transcript nowhere.json: cannot be read: No such file or directory\n") == (
        missing.returncode,
        missing.stderr,
    )


def test_a_limit_on_what_a_kept_transcript_does_not_say_is_left_aside(cli: Cli, folder: Path) -> None:
    write(folder, SEED | {"caps": {"seconds": 60, "turns": 4}})
    assert 0 == cli("mutate", "tickets", "--transcript", kept(folder, GREEN)).returncode


def test_nothing_an_agent_says_reaches_the_terminal_as_it_is(cli: Cli, folder: Path) -> None:
    tools = [*GREEN["tools"], {"name": "note\x1b[2J\nx", "args": {"text": "a" * 500}, "result": "ok"}]
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN | {"tools": tools}))
    assert 0 == done.returncode, done.stderr
    assert "\x1b" not in done.stdout
    assert all(len(line) < 250 for line in done.stdout.splitlines())


def test_confirm_warns_of_a_toothless_scenario_and_of_no_other(cli: Cli, folder: Path) -> None:
    how = ("--agent", agent("green"), "--unproven", "--runs", "1")
    write(folder, SEED)
    assert "toothless" not in cli("confirm", "tickets", *how).stderr
    write(folder, {"name": "polite", "query": "Clean up.", "forbid_contains": ["sorry"]})
    done = cli("confirm", "tickets", *how)
    assert 0 == done.returncode
    assert "  warning: tickets is toothless: no wrong tool, forbidden call" in done.stderr
    assert "toothless" not in done.stdout


def test_confirm_says_when_the_assertions_leave_no_run_that_is_green(folder: Path) -> None:
    path = write(folder, SEED | {"expect_args": ARGS, "caps": {"calls": 1}})
    (line,) = teeth_warnings(load_frozen(path, folder))
    assert "not tried for teeth; a run made up from its assertions is not green: fail: caps: calls 2, at most 1" in line


WHOLE = {"expect_tool": ["archive_ticket", "list_tickets"], "forbid_tool": "delete_ticket", "expect_args": ARGS}


@pytest.mark.parametrize(
    "assertions",
    [
        {"expect_tool": "archive_ticket"},
        {"expect_tool": ["archive_ticket", "archive_ticket"], "expect_order": "exact"},
        {"forbid_tool": "delete_ticket"},
        {"expect_contains": ["T-481", "48", "Archived T-481"]},
        {"expect_args": ARGS, "expect_order": "exact"},
        {"recovers_from": True},
        {"recovers_from": ["archive_ticket", "list_tickets"]},
        WHOLE | {"recovers_from": "archive_ticket", "expect_contains": ["T-9 archived"], "forbid_contains": ["gone"]},
        WHOLE | {"caps": {"calls": 3, "turns": 1, "tokens": 1, "cost_usd": 0.1, "seconds": 1}},
        {"expect_args": [{"tool": "a", "args": {"x": 1, "y": [2]}, "match": "only-from", "ignore": ["y"]}]},
    ],
)
def test_a_run_made_up_from_assertions_is_green_and_its_scenario_has_teeth(assertions: dict[str, Any]) -> None:
    expectation = parse_expectation(assertions)
    run = passing_run(expectation)
    results = score_run(expectation, run)
    assert State.PASS is overall(results), verdict_line(results)
    harmful = [mutant for mutant in mutants(run, expectation) if mutant.harmful]
    assert any(overall(score_run(expectation, mutant.run)) is not State.PASS for mutant in harmful)


def test_a_run_that_carries_only_counts_is_mutated_by_its_counts() -> None:
    expectation = parse_expectation({"expect_tool": "archive_ticket", "forbid_tool": "delete_ticket"})
    run = NeutralRun(calls=None, complete=True, tool_counts={"list_tickets": 1, "archive_ticket": 2})
    assert State.PASS is overall(score_run(expectation, run))
    made = [mutant for mutant in mutants(run, expectation) if mutant.harmful]
    assert [Mutation.WRONG_TOOL, Mutation.FORBIDDEN_CALL] == [mutant.kind for mutant in made]
    assert all(overall(score_run(expectation, mutant.run)) is State.FAIL for mutant in made)


def test_what_a_run_does_not_carry_is_not_mutated() -> None:
    """Unknown arguments have no other value, and an unknown answer loses no fact."""
    expectation = parse_expectation({"expect_tool": "archive_ticket", "expect_contains": ["T-1"]})
    run = NeutralRun(calls=(Call("archive_ticket"),), final_text=UNKNOWN, complete=True)
    kinds = {mutant.kind for mutant in mutants(run, expectation)}
    assert not kinds & {Mutation.WRONG_ARGUMENT, Mutation.LOST_FACT, Mutation.FALSE_CLAIM}


def test_counts_of_calls_go_with_the_calls() -> None:
    """Where a sub-agent is unseen, names are judged by the counts: a dropped call must be missing there too."""
    expectation = parse_expectation({"expect_tool": "archive_ticket"})
    run = NeutralRun(
        calls=(Call("archive_ticket", {}, ok=True),),
        complete=True,
        tool_counts={"archive_ticket": 1},
        unseen="a sub-agent",
    )
    dropped = next(mutant for mutant in mutants(run, expectation) if mutant.kind is Mutation.DROPPED)
    assert {} == dropped.run.tool_counts
    assert State.FAIL is overall(score_run(expectation, dropped.run))


def test_mutants_of_a_long_run_are_limited() -> None:
    expectation = parse_expectation({"expect_tool": "a"})
    run = NeutralRun(calls=tuple(Call("a", {"n": n}, ok=True) for n in range(500)), complete=True)
    kinds = [mutant.kind for mutant in mutants(run, expectation)]
    assert MOST_OF_A_KIND == max(map(kinds.count, kinds))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.from_regex(r"T-\d{1,30}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
calls = st.builds(
    Call,
    st.sampled_from(["archive_ticket", "mcp__board__archive_ticket", "delete_ticket", "list"]),
    st.dictionaries(st.text(max_size=4), json_values, max_size=3) | st.just(UNKNOWN) | st.none(),
    ok=st.sampled_from([True, False, None]),
    result=json_values,
)
runs = st.builds(
    NeutralRun,
    calls=st.none() | st.lists(calls, max_size=4).map(tuple),
    final_text=st.just(UNKNOWN) | st.none() | st.text(max_size=30) | st.just("Archived T-481, T-490; not gone"),
    complete=st.just(True),
    tool_counts=st.none() | st.just({"archive_ticket": 2}),
    tokens=st.just(NeutralTokens()),
)


@settings(max_examples=40)
@given(run=runs)
def test_every_mutant_of_whatever_run_differs_from_it_and_comes_again(run: NeutralRun) -> None:
    expectation = parse_expectation(
        {k: v for k, v in SEED.items() if k.startswith(("expect", "forbid"))}
        | {"expect_args": ARGS, "forbid_contains": ["gone"], "recovers_from": True}
    )
    made = mutants(run, expectation)
    assert made == mutants(run, expectation)
    assert all(mutant.run != run and mutant.what for mutant in made)
    for mutant in made:
        score_run(expectation, mutant.run)
        if mutant.kind is Mutation.WRONG_ARGUMENT:
            pairs = zip(run.calls or (), mutant.run.calls or (), strict=True)
            assert 1 == sum(not json_equal(one.args, other.args) for one, other in pairs if one.args is not UNKNOWN)


def test_the_page_shows_what_is_printed(cli: Cli, folder: Path) -> None:
    page = (ROOT / "docs" / "frozen-failures.md").read_text("utf-8")
    section = page.split("## Has it teeth?")[1].split("\n## ")[0]
    shown = [line.strip() for line in section.splitlines() if line.startswith("    ") and "crucible mutate" not in line]
    write(folder, json.loads((ROOT / "scenarios/cleanup-archives-tickets.json").read_text("utf-8")))
    done = cli("mutate", "tickets", "--transcript", kept(folder, GREEN))
    printed = [line.strip() for line in done.stdout.splitlines()]
    assert len(shown) > 5
    assert [] == [line for line in shown if line not in printed]
    assert f"`{printed[-1]}`" in section
