"""What commands that make attempts share: options as they are typed, progress while it runs, the result at the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from crucible.cli.console import console, note, print_json
from crucible.cli.stopping import ended_like_ctrl_c
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.runner.command import Chosen
    from crucible.runner.recorder import Progress
    from crucible.runner.run import Result
    from crucible.settings import Settings
    from crucible.store.writes import Store

Found = TypeVar("Found")


def complete_scenario(incomplete: str) -> list[str]:
    """Names for shell completion."""
    from pathlib import Path

    from crucible.errors import CrucibleError
    from crucible.scenario.catalog import find_bench, scenario_files

    try:
        return [f.stem for f in scenario_files(find_bench(Path.cwd())) if f.stem.startswith(incomplete)]
    except CrucibleError:
        return []


def models_of(given: list[str] | None) -> dict[str, str]:
    """ARM=MODEL pairs."""
    models = {}
    for pair in given or []:
        arm, equals, name = pair.partition("=")
        if not (arm and equals and name):
            raise UsageError(f"--model takes ARM=MODEL, got {pair!r}", hint="--model baseline=openai/gpt-5-mini")
        models[arm] = name
    return models


def watched(store: Store, work: Callable[[Progress], Awaitable[Found]]) -> Found:
    """Do the work in an event loop of its own, showing its attempts. Interrupted, it says how the run is gone on with."""
    import asyncio

    from crucible.cli.progress import Watch
    from crucible.report.runs import left_unfinished
    from crucible.store.writes import now

    async def run(progress: Progress) -> Found:
        return await work(progress)

    began = now()
    try:
        with Watch(console(stderr=True)) as watch, ended_like_ctrl_c():
            return asyncio.run(run(watch.event))
    except KeyboardInterrupt:
        if left := left_unfinished(store, began):
            note(f"interrupted; what had ended is stored; go on with: crucible run --resume {left}")
        raise


def dry_run(chosen: Chosen, settings: Settings, store: Store, as_json: bool) -> int:
    """What the run may cost, and nothing else."""
    from crucible.report.price import price_lines, price_run

    priced = price_run(chosen, settings, store)
    if as_json:
        print_json([line.as_dict() for line in priced])
    else:
        for text in price_lines(priced):
            console().print(text, highlight=False)
    return int(ExitCode.DONE)


def show_result(result: Result, settings: Settings, store: Store, as_json: bool) -> int:
    """The comparison, or what an A/A run found; the exit code of the run."""
    from crucible.report.aa import aa_report

    report = aa_report(store, result.run_id)
    if report is None:
        show_comparisons(result.run_id, settings, store, as_json)
    elif as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            console().print(line, highlight=False, soft_wrap=True)
    if not as_json:
        console().print(f"\nStored as run {result.run_id} in {store.where}", highlight=False, soft_wrap=True)
        console().print("Look closer: crucible show ATTEMPT; all runs: crucible runs", highlight=False)
    return _exit_code(result)


def show_comparisons(run_id: int, settings: Settings, store: Store, as_json: bool) -> None:
    """The report of a run; as JSON what `crucible compare RUN --json` prints. Raises UsageError when there is no such run."""
    from crucible.cli.compare import show_run
    from crucible.report.costs import prices_of
    from crucible.report.terminal import run_view

    prices = prices_of(settings)
    if as_json:
        show_run(store, run_id, prices, as_json=True)
        return
    shown = run_view(store, run_id, prices)
    if not shown:
        raise UsageError(f"there is no run {run_id} in this store", hint="crucible runs")
    console().print(shown, highlight=False)


def _exit_code(result: Result) -> int:
    if result.stopped:
        note(f"stopped: {result.stopped}; {_what_to_do(result)}")
        return int(ExitCode.INFRASTRUCTURE if result.unequipped else ExitCode.INCONCLUSIVE)
    return int(ExitCode.DONE if result.status == "done" else ExitCode.INFRASTRUCTURE)


def _what_to_do(result: Result) -> str:
    if result.undeclared:
        return f"make the arms alike in this, or declare it, and start anew (crucible compare {result.run_id} --differences)"
    return f"go on with: crucible run --resume {result.run_id}"
