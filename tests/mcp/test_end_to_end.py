"""`crucible run asd-vs-baseline` with real tool servers and a model on loopback: what really ran is stored and reported.

code-graph is the real one, installed once into a folder of the session; CTX is played by its stand-in.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crucible.agents.mcp.install import install
from crucible.errors import CrucibleError
from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Text
from crucible.store import queries
from crucible.store.writes import Store
from crucible.transcript.events import EVENT, Answered

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STANDIN = Path(__file__).parent / "servers" / "ctx_standin.py"
USAGE = Counts(prompt_tokens=900, completion_tokens=40)
FIX = {"path": "store/pricing.py", "old": "    return raw * pct", "new": "    return raw * (1 - pct)"}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with code-graph in it, installed as `crucible tools install` does."""
    folder, said = tmp_path_factory.mktemp("with-code-graph"), []
    try:
        install(folder, said.append)
    except CrucibleError as error:
        pytest.skip(f"code-graph cannot be installed here: {error.message}")
    return folder


@pytest.fixture
def bench(tmp_path: Path, sandbox: None, installed: Path) -> Path:
    """The bench of this repository with one scenario, and the session's cache."""
    folder = tmp_path / "bench"
    (folder / "scenarios").mkdir(parents=True)
    for name in ("asd-vs-baseline.md", "asd-vs-baseline.rehearsal.yaml"):
        shutil.copy(ROOT / "scenarios" / name, folder / "scenarios")
    shutil.copytree(ROOT / "fixtures" / "asd-vs-baseline", folder / "fixtures" / "asd-vs-baseline")
    (folder / "crucible.toml").write_text(f'cache = "{installed}"\n')
    return folder


@pytest.fixture
def run(bench: Path, tmp_path: Path) -> Run:
    """Runs `crucible ...` in the bench, with the stand-in of ctxone-hub on PATH and no key."""
    programs = tmp_path / "programs"
    programs.mkdir()
    shutil.copy(STANDIN, programs / "ctxone-hub")
    env = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_API_BASE"))}
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"

    def crucible(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "crucible", *arguments],
            cwd=bench, env=env, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip

    return crucible


def solver(request: dict[str, Any]) -> Answer:
    """Asks the graph who calls the function, remembers, mends it; without a graph, greps and mends it."""
    turns = sum(message["role"] == "assistant" for message in request["messages"])
    offered = {tool["function"]["name"] for tool in request["tools"]}
    if turns == 0 and "asd__callers" in offered:
        return Calls(
            [("asd__callers", {"name": "discounted"}), ("ctx__remember", {"fact": "the discount is returned"})],
            usage=USAGE,
        )
    if turns == 0:
        return Calls([("bash", {"command": "grep -rn 'discounted(' store"})], usage=USAGE)
    return Calls([("edit_file", FIX)], usage=USAGE) if turns == 1 else Text("Fixed discounted().", usage=USAGE)


def configure(bench: Path, server: LoopbackServer) -> None:
    with (bench / "crucible.toml").open("a") as config:
        config.write(f'[models."openai/solver"]\napi_base = "{server.base_url}"\n')
        config.write("input_usd_per_million = 1.0\noutput_usd_per_million = 2.0\n")


MODELS = ("--model", "assisted=openai/solver", "--model", "baseline=openai/solver", "--judge", "facts")


def test_the_assisted_arm_runs_with_code_graph_in_the_place_of_asd(run: Run, bench: Path) -> None:
    with LoopbackServer({"solver": solver}) as server:
        configure(bench, server)
        done = run("run", "asd-vs-baseline", "--tools", "asd=code-graph", "--blocks", "1", *MODELS)
    assert 0 == done.returncode, done.stderr
    assert "asd: code-graph (codenav-mcp 0.2.1), 9 tools" in done.stderr, "said before the first attempt"
    assert "ctx: CTXone (ctxone-hub), 9 tools" in done.stderr
    with Store(bench / "results" / "crucible.db") as store:
        (listed,) = queries.runs(store)
        assert {"asd": "code-graph"} == listed[0].tools
        records = [queries.attempt_record(store, attempt_id) for attempt_id in (1, 2)]
    assisted = next(r for r in records if r is not None and r.attempt.arm == "assisted")
    baseline = next(r for r in records if r is not None and r.attempt.arm == "baseline")
    assert ("asd=code-graph", {"asd", "ctx"}) == (assisted.attempt.setup, set(assisted.attempt.servers))
    assert "code-graph (codenav-mcp 0.2.1)" in assisted.attempt.servers["asd"]
    assert ("", {}) == (baseline.attempt.setup, baseline.attempt.servers)
    assert [True, True] == [assisted.attempt.passed, baseline.attempt.passed]
    events = [EVENT.validate_json(row.data) for row in assisted.events]
    answered = {event.tool: event for event in events if isinstance(event, Answered)}
    assert [True, True] == [answered[tool].ok for tool in ("asd__callers", "ctx__remember")]
    assert "store/pricing.py" in answered["asd__callers"].text
    assert [["store/pricing.py"]] * 2 == [[file.path for file in r.files] for r in (assisted, baseline)]


def test_a_dry_run_says_what_would_run_and_starts_nothing(run: Run, bench: Path) -> None:
    with LoopbackServer({"solver": solver}) as server:
        configure(bench, server)
        done = run("run", "asd-vs-baseline", "--tools", "asd=code-graph", "--dry-run", *MODELS)
        assert [] == server.requests
    assert 0 == done.returncode, done.stderr
    assert "asd-vs-baseline  assisted: asd is code-graph (codenav-mcp 0.2.1)" in done.stderr
    assert "asd-vs-baseline  assisted: ctx is CTXone (ctxone-hub)" in done.stderr


def test_code_graph_is_listed_and_can_be_checked_alone(run: Run) -> None:
    listed = {one["name"]: one for one in json.loads(run("tools", "list", "--json").stdout)}
    assert [False, True, True] == [listed[name]["there"] for name in ("asd", "ctx", "code-graph")]
    assert ["asd-vs-baseline"] == listed["asd"]["named_by"]
    done = run("tools", "check", "code-graph", "--json")
    assert 0 == done.returncode, done.stderr
    tried = json.loads(done.stdout)
    assert "code-graph__callers" in tried["tools"]
    assert not any("edit" in tool or "rename" in tool for tool in tried["tools"]), "it only reads"
    assert sum(tried["tools"].values()) == tried["bytes"]


def test_an_installed_code_graph_is_not_installed_again(run: Run) -> None:
    done = run("tools", "install", "code-graph")
    assert (0, True) == (done.returncode, "is there already" in done.stderr)
