"""Cost of one attempt beside the model and the suite: 10 tool calls by a scripted model, test command `true`.

Prints the harness's own CPU (this process), CPU of the processes it started, and wall, as medians; then growth over
fixtures of 20, 2,000 and 20,000 files.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from crucible.agents.builtin import builtin_tools
from crucible.agents.loop import LoopAgent
from crucible.agents.rehearsal import ScriptedCall, ScriptedTurn
from crucible.agents.scripted import ScriptedModel
from crucible.runner.arms import Player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.plan import plan
from crucible.runner.prepare import Prepared, prepare, resolve_mode
from crucible.runner.run import new_run, store_plan
from crucible.runner.validate import Validation, scenario_row
from crucible.scenario.load import load_scenario
from crucible.scenario.starter import make_bench
from crucible.settings import Settings, load_settings
from crucible.store.writes import Store

ATTEMPTS = 30
CALLS = [
    ScriptedCall(tool="list_files", args={}),
    ScriptedCall(tool="search", args={"pattern": "def page"}),
    ScriptedCall(tool="read_file", args={"path": "shelf/pages.py"}),
    ScriptedCall(tool="write_file", args={"path": "notes.md", "content": "x\n"}),
    ScriptedCall(tool="edit_file", args={"path": "shelf/pages.py", "old": "size - 1]", "new": "size]"}),
    *[ScriptedCall(tool="bash", args={"command": "true"})] * 5,
]


def prepared(bench: Path, settings: Settings, files: int) -> Prepared:
    """The starter scenario with a fixture of that many files and a suite that costs nothing."""
    scenario = bench / "scenarios" / "first-bug.md"
    scenario.write_text(scenario.read_text().replace("python3 -m pytest -q", "'true'"))
    for n in range(files):
        folder = bench / "fixtures" / "first-bug" / "repo" / "data" / str(n // 100)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.txt").write_text("x" * 1000)
    return prepare(load_scenario(scenario, bench), bench, settings)


async def measure(files: int) -> list[tuple[float, float, float]]:
    """(own CPU, children's CPU, wall) in seconds of each attempt."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Path(folder) / "bench"
        make_bench(bench)
        settings = load_settings(bench, cache=str(Path(folder) / "cache"))
        ready = prepared(bench, settings, files)
        mode, _ = resolve_mode(settings)
        with Store(bench / "bench.db") as store:
            store.ensure(scenario_row(ready))
            slots = plan([(ready.hash, ready.scenario)], ATTEMPTS // 2, 0)
            run = new_run(str(bench), mode, rehearsal=True, seed=0, blocks=ATTEMPTS // 2, judge="facts", samples=1,
                          parallel=1, max_cost=None, without_extra_tools=False)  # fmt: skip
            where = Bench(store, settings, mode, Path(folder), store_plan(store, run, slots), rehearsal=True)
            times = []
            for slot in slots:
                turns = [*(ScriptedTurn(calls=(call,)) for call in CALLS), ScriptedTurn(say="done")]
                agent = LoopAgent(ScriptedModel(turns), builtin_tools())
                times.append(await timed(where, Job(slot, ready, Validation(), Player(agent))))
            return times[2:]


async def timed(where: Bench, job: Job) -> tuple[float, float, float]:
    """One attempt, measured."""
    before, began = os.times(), perf_counter()
    await run_attempt(where, job)
    after, ended = os.times(), perf_counter()
    own = after.user - before.user + after.system - before.system
    children = after.children_user - before.children_user + after.children_system - before.children_system
    return own, children, ended - began


def main() -> None:
    """Print medians and growth."""
    first = None
    for files in (20, 2_000, 20_000):
        times = asyncio.run(measure(files))
        own, children, wall = (statistics.median(t[n] for t in times) * 1000 for n in range(3))
        mean_own = statistics.mean(t[0] for t in times) * 1000
        first = first or wall
        print(
            f"{files:>6,} files: own CPU {own:6.1f} ms (mean {mean_own:.1f}), processes {children:6.1f} ms, "
            f"wall {wall:7.1f} ms  {wall / first:4.1f}x"
        )


if __name__ == "__main__":
    main()
