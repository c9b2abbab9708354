"""A run until decided makes block after block, looks after each, and stops when its exact design says so."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.cli.app import run_app
from crucible.errors import UsageError
from crucible.llm.loopback import Answer, Calls, LoopbackServer, Status, Text
from crucible.report.sequential import decide_sequential, stopped_at
from crucible.report.tallies import Tally
from crucible.runner.command import Options, choose, resume, start
from crucible.runner.declare import Declared, blocks_of, check_declared
from crucible.runner.until_decided import UntilDecided, looks_at
from crucible.settings import load_settings
from crucible.stats.sequential import calibrated, repeated_interval
from crucible.store import queries
from crucible.store.filling import Filled, fill_run
from crucible.store.looks import complete_pairs, run_looks
from crucible.store.writes import Store
from tests.beside import beside

FIX = {"path": "shelf/pages.py", "old": "start + size - 1]", "new": "start + size]"}
GREEN = f"{{arm: %s, title: fixes, turns: [{{calls: [{{tool: edit_file, args: {json.dumps(FIX)}}}]}}, {{say: done}}]}}"
RED = "{arm: %s, title: gives up, turns: [{say: done}]}"
SLOW = "{arm: %s, title: slow, turns: [{calls: [{tool: bash, args: {command: 'sleep 100'}}]}, {say: done}]}"


def rehearsal(bench: Path, *sessions: str, name: str = "first-bug") -> None:
    lines = "\n".join(f"  - {session}" for session in sessions)
    (bench / "scenarios" / f"{name}.rehearsal.yaml").write_text(f"handwritten: true\nsessions:\n{lines}\n")


def rows(bench: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(bench / "results" / "crucible.db")) as raw:
        return raw.execute(query).fetchall()


LOOKS = "select pairs, passed_treatment, passed_baseline, decision from look order by scenario_hash, pairs"


@pytest.mark.slow
def test_it_stops_at_the_first_look_that_decides(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 of 4 against 0 of 4 decides for N = 8; what was planned beyond is never made, and the run is done."""
    monkeypatch.chdir(bench)
    rehearsal(bench, GREEN % "careful", RED % "baseline")
    asked = ["--primary", "pass-rate", "--margin", "5", "--until-decided", "--max-blocks", "8", "--parallel", "2"]
    assert 0 == run_app(["run", "first-bug", "--rehearse", *asked])
    assert [(4, 4, 0, "decided")] == rows(bench, LOOKS)
    assert [(8,)] == rows(bench, "select count(*) from attempt")
    assert [(16,)] == rows(bench, "select count(*) from planned")
    declared = "select status, sequential, blocks, primary_metric, margin from run"
    assert [("done", 1, 8, "pass_rate", 0.05)] == rows(bench, declared)
    assert 0 == run_app(["run", "--resume", "1"])
    assert [(8,)] == rows(bench, "select count(*) from attempt")


@pytest.mark.slow
def test_it_stops_when_going_on_is_hopeless_and_never_starts_a_block_before_the_look(bench: Path) -> None:
    """Two scenarios, each its own design, several attempts at a time: blocks of one scenario never overlap."""
    text = (bench / "scenarios" / "first-bug.md").read_text()
    (bench / "scenarios" / "second-bug.md").write_text(text.replace("name: first-bug", "name: second-bug"))
    rehearsal(bench, RED % "careful", RED % "baseline")
    rehearsal(bench, GREEN % "careful", RED % "baseline", name="second-bug")
    options = Options(
        names=("first-bug", "second-bug"), seed=1, rehearse=True, parallel=4, declared=Declared(until_decided=True)
    )
    said: list[str] = []
    store, _ = run(bench, options, said.append)
    with store:
        looks = {name: [(look.pairs, look.decision) for look in found] for name, found in by_name(store).items()}
        assert {"first-bug": [(4, "continue"), (5, "continue")], "second-bug": [(4, "decided")]} == looks
        record = queries.run_record(store, 1)
        assert record is not None
        assert "done" == record.run.status
        for digest in record.scenarios:
            mine = sorted((a for a in record.attempts if a.scenario_hash == digest), key=lambda a: a.block)
            for before, after in zip(mine, mine[2:], strict=False):
                assert before.block == after.block or str(before.ended_at) <= after.started_at
    assert any("second-bug: look after 4 pairs, 4 against 0 green, |z| 2.83 of" in line for line in said)


def by_name(store: Store) -> dict[str, list[Any]]:
    record = queries.run_record(store, 1)
    assert record is not None
    return {record.scenarios[digest].name: found for digest, found in run_looks(store, 1).items()}


def run(bench: Path, options: Options, say: Callable[[str], None] = lambda _: None) -> tuple[Store, Any]:
    settings = load_settings(bench)
    store = Store(bench / "results" / "crucible.db")
    chosen = choose(bench, options, settings, say)
    return store, asyncio.run(start(bench, chosen, settings, store, say, None))


def agent(works: Callable[[], bool]) -> Callable[[dict[str, Any]], Answer]:
    """Fixes the bug, or is refused by its provider."""

    def reply(request: dict[str, Any]) -> Answer:
        if not works():
            return Status(401)
        turns = sum(m["role"] == "assistant" for m in request["messages"])
        return Text("Done.") if turns else Calls([("edit_file", FIX)])

    return reply


@pytest.mark.slow
def test_a_pair_waits_for_an_attempt_that_does_not_count_and_a_resumed_run_goes_on_from_the_store(bench: Path) -> None:
    """No block is made past an incomplete one; resumed, the run keeps its design and what it declared."""
    alive = [False]
    script = {"solver": agent(lambda: True), "weak": lambda _: Text("Done.") if alive[0] else Status(401)}
    with LoopbackServer(script) as server:
        with (bench / "crucible.toml").open("a") as config:
            for name in script:
                config.write(f'[models."openai/{name}"]\napi_base = "{server.base_url}"\n')
        options = Options(
            names=("first-bug",), seed=1, judge="facts", models={"careful": "openai/solver", "baseline": "openai/weak"},
            declared=Declared(margin=0.2, until_decided=True, max_blocks=8),
        )  # fmt: skip
        store, result = run(bench, options)
        assert "incomplete" == result.status
        record = queries.run_record(store, result.run_id)
        assert record is not None
        assert {1} == {a.block for a in record.attempts}
        assert {} == run_looks(store, result.run_id)
        alive[0] = True
        settings = load_settings(bench)
        again = asyncio.run(resume(bench, result.run_id, settings, store, lambda _: None, None))
    with store:
        assert "done" == again.status
        (looks,) = run_looks(store, result.run_id).values()
        assert [(4, 4, 0, "decided")] == [(k.pairs, k.passed_treatment, k.passed_baseline, k.decision) for k in looks]
        record = queries.run_record(store, result.run_id)
        assert record is not None
        assert 8 == sum(bool(a.counted) for a in record.attempts)
        assert (True, 0.2, 8) == (record.run.sequential, record.run.margin, record.run.blocks)


@pytest.mark.slow
def test_after_ctrl_c_looks_are_made_from_what_is_stored(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted between blocks or inside one, then resumed: each attempt counts once, each look is stored once."""
    monkeypatch.chdir(bench)
    quick = [RED % arm for arm in ("careful", "baseline") for _ in range(4)]
    # The block after the first look does not end before the signal arrives, however late it is sent.
    rehearsal(bench, *quick, SLOW % "careful", SLOW % "baseline")
    command = [
        sys.executable,
        "-m",
        "crucible",
        "run",
        "first-bug",
        "--rehearse",
        "--until-decided",
        "--max-blocks",
        "6",
    ]
    process = subprocess.Popen(command, cwd=bench, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for(bench, "select count(*) from look", 1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=600)
    assert 130 == process.returncode, stderr
    assert [("interrupted",)] == rows(bench, "select status from run")
    with closing(sqlite3.connect(bench / "results" / "crucible.db")) as raw, raw:
        raw.execute("delete from look")  # as if it had ended between the attempt and its look
    rehearsal(bench, *quick)
    assert 0 == run_app(["run", "--resume", "1"])
    made = rows(bench, "select pairs, decision from look order by pairs")
    assert [(4, "continue"), (5, "futile")] == made
    assert [(10, 10)] == rows(bench, "select count(*), count(distinct arm || block) from attempt where counted = 1")


def wait_for(bench: Path, query: str, at_least: int) -> None:
    deadline = time.monotonic() + 600  # a busy machine takes minutes to check a scenario
    while time.monotonic() < deadline:
        try:
            if rows(bench, query)[0][0] >= at_least:
                return
        except (sqlite3.OperationalError, IndexError):
            pass
        time.sleep(0.02)
    raise AssertionError(f"never: {query}")


# What is handed out, from stores filled by hand


def filled(store: Store, treatment: str, baseline: str, blocks: int) -> int:
    """A sequential run of `blocks` with these attempts made: g green, r red, x not counted, . not made yet."""
    outcome = {"g": Filled(True), "r": Filled(False), "x": Filled(None)}
    made = {"t": [outcome[c] for c in treatment], "b": [outcome[c] for c in baseline]}
    longest = {arm: [*some, *[Filled(None)] * (blocks - len(some))] for arm, some in made.items()}
    return fill_run(store, {"s": longest}, "b", sequential=True, blocks=blocks)


@pytest.mark.parametrize(
    ("treatment", "baseline", "handed", "looks"),
    [
        ("", "", [("t", 1), ("b", 1)], []),
        ("gg", "r", [("b", 2)], []),
        ("gxg", "rrr", [("t", 2)], []),
        ("ggg", "rrr", [("t", 4), ("b", 4)], []),
        ("gggg", "rrrr", [], ["decided"]),
        ("ggggx", "ggggg", [("t", 5)], ["continue"]),
        ("rrrrr", "rrrrr", [], ["continue", "futile"]),
        ("rgrgrrgr", "rrrrrrrr", [], ["continue"] * 5),
    ],
)
def test_only_the_next_block_is_handed_out(
    tmp_path: Path, treatment: str, baseline: str, handed: list[tuple[str, int]], looks: list[str]
) -> None:
    """Of at most 8: the first incomplete block after a look that goes on, and nothing after the last look."""
    with Store(tmp_path / "s.db") as store:
        run_id = filled(store, treatment, baseline, 8)
        pace = UntilDecided(store, run_id, lambda _: None)
        found = [(slot.arm, slot.block) for slot in pace.next()]
        assert sorted(handed) == sorted(found)
        assert looks == [look.decision for look in run_looks(store, run_id).get("hash-s", [])]
        assert pace.finished() is not bool(handed)
        assert [] == pace.next(), "a block tried in vain waits for the run to be resumed"
        assert looks == [look.decision for look in run_looks(store, run_id).get("hash-s", [])]


# The design and its verdict


def tallies(pairs: list[tuple[bool, bool]], most: int) -> tuple[Tally, Tally]:
    return (
        Tally("t", most, len(pairs), 0, sum(t for t, _ in pairs)),
        Tally("b", most, len(pairs), 0, sum(b for _, b in pairs)),
    )


def decided(pairs: list[tuple[bool, bool]], most: int, margin: float = 0.1) -> Any:
    return decide_sequential(*tallies(pairs, most), pairs, most, margin)


def test_the_sentence_says_where_it_stopped_and_shows_the_repeated_interval() -> None:
    """10 of 12 against 3 of 12 of at most 20; and the oracle's interval for 11 against 4 at that look."""
    treatment, baseline = "gggggrgrgggg", "rrrrrrggrgrr"
    pairs = [(t == "g", b == "g") for t, b in zip(treatment, baseline, strict=True)]
    verdict = decided(pairs, 20)
    assert "better" == verdict.word
    shown = repeated_interval(calibrated(20), 12, 10, 3)
    assert ((shown.low, shown.high), 7 / 12) == (verdict.interval, verdict.difference)
    assert verdict.sentence == (
        "t is better than b on this scenario: stopped at 12 of 20; 10 of 12 against 3 of 12 green, +58 points (95% "
        "interval +5 to +86, repeated Miettinen-Nurminen, look 12 of 20; |z| 2.87 of 2.59 needed); "
        "estimates after early stopping are somewhat optimistic."
    )
    oracle = repeated_interval(calibrated(20), 12, 11, 4)
    assert (0.065, 0.857) == pytest.approx((oracle.low, oracle.high), abs=5.1e-4)


def test_no_verdict_while_it_goes_on_and_none_by_futility_or_at_the_end() -> None:
    """Inconclusive says which of the three it is."""
    assert "No verdict yet: 3 of at most 20 pairs" in decided([(True, False)] * 3, 20).sentence
    assert "2 looks so far" in decided([(True, False), (True, True)] * 2 + [(True, False)], 20).sentence
    hopeless = decided([(False, False)] * 8, 20)
    assert "inconclusive" == hopeless.word
    assert "stopped at 8 of 20: continuing would almost never decide" in hopeless.sentence
    end = decided([(True, False)] * 3 + [(True, True)] * 2, 5)
    assert "all 5 of 5 pairs were made and the boundary was not crossed" in end.sentence
    assert "|z| 2.070 of 2.072 needed" in end.sentence
    assert "optimistic" not in end.sentence
    assert "No verdict yet" in decided([], 20).sentence


def test_losses_that_hit_one_arm_withhold_the_verdict() -> None:
    """A crossed boundary is worth nothing when one arm lost what the other did not."""
    pairs = [(True, False)] * 6
    treatment, baseline = tallies(pairs, 20)
    lost = Tally("t", 20, treatment.counted, 9, treatment.passed)
    assert "better" == decide_sequential(treatment, baseline, pairs, 20).word
    assert "hit one arm more than chance explains" in decide_sequential(lost, baseline, pairs, 20).sentence


def test_equivalence_takes_the_repeated_interval_inside_the_margin() -> None:
    """Futile at 0 of n against 0 of n is not yet equivalent; a wide margin declared before the run may make it so."""
    hopeless = [(False, False)] * 8
    stop = stopped_at(hopeless, 20) or 0
    shown = repeated_interval(calibrated(20), stop, 0, 0)
    assert "inconclusive" == decided(hopeless, 20, margin=shown.high).word
    assert "equivalent" == decided(hopeless, 20, margin=shown.high + 1e-9).word
    assert "inconclusive" == decided(hopeless, 20, margin=0).word


@given(st.integers(4, 24), st.data())
@settings(deadline=None, max_examples=80)
def test_swapping_the_arms_mirrors_the_verdict_and_what_comes_after_the_stop_changes_nothing(
    most: int, data: st.DataObject
) -> None:
    """A direction is named exactly when the boundary was crossed, in the direction of the counts."""
    pairs = data.draw(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=most))
    one, other = decided(pairs, most), decided([(b, t) for t, b in pairs], most)
    assert {"better": "worse", "worse": "better"}.get(one.word, one.word) == other.word
    stop = stopped_at(pairs, most)
    looks = looks_at(pairs, most)
    crossed = bool(looks) and abs(looks[-1].z) >= looks[-1].critical
    assert crossed == (one.word in ("better", "worse"))
    if stop is not None:
        assert decided(pairs[:stop], most) == decided(pairs, most)
    else:
        assert one.interval is None
        assert "No verdict" in one.sentence


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "other", "name"), [(0.5, 0.5, "0.5v0.5"), (0.5, 0.8, "0.5v0.8")])
def test_simulated_runs_stop_as_often_and_as_early_as_the_oracle_says(rate: float, other: float, name: str) -> None:
    """2,000 runs of at most 20 pairs through the looks that a run makes: false alarms, power and mean pairs."""
    designs = json.loads(beside("oracle", "statistics", "sequential_boundaries.json").read_text())["designs"]
    expected = next(d for d in designs if d["N_max_per_arm"] == 20)["operating"][name]
    draws = np.random.default_rng(7).random((2000, 20, 2)) < (other, rate)
    ends = [looks_at([(bool(t), bool(b)) for t, b in run], 20)[-1] for run in draws]
    found = sum(look.decision in ("A better", "B better") for look in ends)
    allowed = 4 * (2000 * expected["with_futility_power"] * (1 - expected["with_futility_power"])) ** 0.5
    assert abs(found - 2000 * expected["with_futility_power"]) < allowed
    assert expected["with_futility_n"] == pytest.approx(float(np.mean([look.look for look in ends])), abs=0.5)
    assert rate != other or found <= 2000 * 0.05 + allowed


def test_pairs_end_at_the_first_block_that_is_not_complete(tmp_path: Path) -> None:
    """Block 3 lacks an attempt that counts: blocks 4 and 5 wait."""
    with Store(tmp_path / "s.db") as store:
        record = queries.run_record(store, filled(store, "grxgg", "rgggg", 6))
        assert record is not None
        assert [(True, False), (False, True)] == complete_pairs(record, "hash-s")


# What is declared


@pytest.mark.parametrize(
    ("declared", "blocks", "arm", "gist"),
    [
        (Declared(margin=0.51), None, None, "--margin takes 0 to 50 points, got 51"),
        (Declared(margin=float("nan")), None, None, "--margin takes 0 to 50 points"),
        (Declared(max_blocks=20), None, None, "--max-blocks is the most a run --until-decided may make"),
        (Declared(until_decided=True), 10, None, "--blocks fixes the number of blocks"),
        (Declared(until_decided=True), None, "baseline", "--until-decided compares two arms"),
        (Declared("score", until_decided=True), None, None, "--until-decided decides on the pass rate"),
        (Declared(until_decided=True, max_blocks=3), None, None, "--max-blocks takes 4 to 200, got 3"),
        (Declared(until_decided=True, max_blocks=201), None, None, "--max-blocks takes 4 to 200, got 201"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_what_to_do(
    declared: Declared, blocks: int | None, arm: str | None, gist: str
) -> None:
    with pytest.raises(UsageError, match=gist.replace("(", r"\(")) as refused:
        check_declared(declared, blocks=blocks, arm=arm)
    assert refused.value.hint or "--margin" in gist


def test_the_most_blocks_are_those_asked_for_else_the_largest_scenarios_at_least_five() -> None:
    """A run of fixed size keeps what each scenario says."""
    assert [[12, 12], [5], [30, 30]] == [
        blocks_of(Declared(until_decided=True, max_blocks=12), None, [3, 30]),
        blocks_of(Declared(until_decided=True), None, [3]),
        blocks_of(Declared(until_decided=True), None, [3, 30]),
    ]
    assert [[7, 7], [3, 9]] == [blocks_of(Declared(), 7, [3, 9]), blocks_of(Declared(), None, [3, 9])]


def test_options_beside_resume_are_refused(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:  # type: ignore[no-untyped-def] # a fixture
    """A run that is gone on with stays as it was declared; nothing is ignored in silence."""
    monkeypatch.chdir(bench)
    for option in (["--margin", "5"], ["--until-decided"], ["--blocks", "9"], ["--primary", "score"]):
        assert 2 == run_app(["run", "--resume", "1", *option])
        assert f"{option[0]} cannot be given with --resume" in capfd.readouterr().err
