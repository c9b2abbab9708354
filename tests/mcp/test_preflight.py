"""Tool servers are started once before anything is spent; and a run whose servers stop starting stops, both arms alike."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from crucible.errors import PreflightError
from crucible.llm.loopback import Answer, Counts, LoopbackServer, Text
from crucible.runner.command import Options, choose, resume, start
from crucible.runner.equip import Equipment, check_equipment
from crucible.runner.run import Result
from crucible.settings import Settings, load_settings
from crucible.store import queries
from crucible.store.tables import AttemptRow
from crucible.store.writes import Store
from crucible.world.probe import probe

SERVER = Path(__file__).parent / "servers" / "ctx_standin.py"
USAGE = Counts(prompt_tokens=100, completion_tokens=10)


def done(_: dict[str, Any]) -> Answer:
    return Text("Done.", usage=USAGE)


def equip(bench: Path, command: str) -> Settings:
    """The treated arm of the starter scenario gets the server `notes`, which this shell command starts."""
    scenario = bench / "scenarios" / "first-bug.md"
    text = scenario.read_text("utf-8")
    if "extra_tools" not in text:
        scenario.write_text(text.replace("  - id: careful\n", "  - id: careful\n    extra_tools: [notes]\n"), "utf-8")
    config = bench / "crucible.toml"
    kept = config.read_text().partition("[servers")[0]
    config.write_text(
        f'{kept}[servers.notes]\ncommand = "sh"\nargs = ["-c", {command!r}]\nfolders = ["{SERVER.parent}"]\n'
        "start_seconds = 60.0\n"
    )
    return load_settings(bench)


def model(bench: Path, server: LoopbackServer) -> None:
    with (bench / "crucible.toml").open("a") as config:
        config.write(f'[models."openai/solver"]\napi_base = "{server.base_url}"\n')


STARTS = f"exec python3 {SERVER} --namespace n"
OPTIONS = Options(
    ("first-bug",), blocks=2, seed=3, judge="facts", models={"careful": "openai/solver", "baseline": "openai/solver"}
)


def preflight(bench: Path, settings: Settings) -> list[str]:
    said: list[str] = []
    chosen = choose(bench, OPTIONS, settings, lambda _: None)
    asyncio.run(check_equipment(bench, chosen, settings, said.append))
    return said


@pytest.mark.slow
def test_what_each_server_is_and_costs_is_said_before_the_run(bench: Path) -> None:
    with LoopbackServer({"solver": done}) as server:
        model(bench, server)
        said = preflight(bench, equip(bench, STARTS))
        assert [] == server.requests, "no model was asked"
    (line,) = said
    assert line.startswith("notes: sh -c exec python3 ")
    assert ", 12 tools, " in line
    assert " KB of schemas and 27 bytes of instructions, started in " in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo the index is broken >&2; exit 7", "the index is broken"),
        ("exec python3 -c 'import no_such_module'", "no_such_module"),
        ("exec no-such-program", "no-such-program"),
    ],
)
def test_a_server_that_does_not_start_ends_it_before_anything_is_spent(bench: Path, command: str, why: str) -> None:
    with LoopbackServer({"solver": done}) as server:
        model(bench, server)
        with pytest.raises(PreflightError, match=why) as refused:
            preflight(bench, equip(bench, command))
        assert [] == server.requests, "no model was asked"
    assert refused.value.message.startswith("first-bug, careful: tool server notes")
    assert refused.value.hint == "look closer: crucible tools check notes"


@pytest.mark.slow
def test_a_file_that_the_sandbox_does_not_show_is_named(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    with LoopbackServer({"solver": done}) as server:
        model(bench, server)
        settings = equip(bench, STARTS)
        text = (bench / "crucible.toml").read_text().replace('"sh"', '"python3"')
        (bench / "crucible.toml").write_text(re.sub(r"args = .*", f'args = ["{tmp_path / "mine.py"}"]', text))
        if probe().ok:
            with pytest.raises(PreflightError, match="No such file") as refused:
                preflight(bench, load_settings(bench, cache=settings.cache))
            assert f"the sandbox does not show {tmp_path / 'mine.py'}" in (refused.value.hint or "")


@pytest.mark.slow
def test_what_a_server_leaves_in_the_workspace_by_starting_is_warned_of(bench: Path) -> None:
    """Unless it is declared: then it is part of no change."""
    with LoopbackServer({"solver": done}) as server:
        model(bench, server)
        settings = equip(bench, f"mkdir .graph; echo x > .graph/index; {STARTS}")
        assert ".graph/index in the workspace by starting" in preflight(bench, settings)[0]
        with (bench / "crucible.toml").open("a") as config:
            config.write('leaves = [".graph/*"]\n')
        assert 1 == len(preflight(bench, load_settings(bench))), "the line that says what it is"


@pytest.mark.slow
def test_a_run_that_goes_on_tries_its_servers_first(bench: Path) -> None:
    """Not when nothing is left to be made."""
    with LoopbackServer({"solver": done}) as server, Store(bench / "results" / "crucible.db") as store:
        model(bench, server)
        result = made(bench, equip(bench, STARTS), store)
        broken = equip(bench, "echo gone away >&2; exit 7")
        assert "done" == asyncio.run(resume(bench, result.run_id, broken, store, lambda _: None, None)).status
        with store.writing() as session:
            session.get_one(AttemptRow, result.made[-1]).counted = False
        with pytest.raises(PreflightError, match="gone away"):
            asyncio.run(resume(bench, result.run_id, broken, store, lambda _: None, None))
        assert 4 == len(server.requests), "nothing was asked for going on"


@pytest.mark.slow
def test_a_run_whose_server_stops_starting_stops_and_can_go_on(bench: Path) -> None:
    with LoopbackServer({"solver": done}) as server, Store(bench / "results" / "crucible.db") as store:
        model(bench, server)
        result = made(bench, equip(bench, "echo gone away >&2; exit 7"), store, equipped={})
        assert "first-bug, careful: tool server notes" in (result.stopped or "")
        assert ("stopped", 3) == (result.status, asked_in_vain(store, result))
        assert len(server.requests) <= 1, "at most one attempt of the other arm, if its turn came first"
        gone_on = asyncio.run(resume(bench, result.run_id, equip(bench, STARTS), store, lambda _: None, None))
        assert (None, "done") == (gone_on.stopped, gone_on.status)
        (listed,) = queries.runs(store)
        assert (4, 4) == (listed[2], listed[3])


def made(bench: Path, settings: Settings, store: Store, equipped: Equipment | None = None) -> Result:
    """A run; `equipped`: its servers were tried before, and found to start."""
    chosen = choose(bench, OPTIONS, settings, lambda _: None)
    return asyncio.run(start(bench, chosen, settings, store, lambda _: None, None, equipped))


def asked_in_vain(store: Store, result: Result) -> int:
    """Attempts of the run that do not count."""
    records = [queries.attempt_record(store, attempt_id) for attempt_id in result.made]
    return sum(not record.attempt.counted for record in records if record is not None)
