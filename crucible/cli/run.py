"""`crucible run`: attempts of both arms on scenarios, stored, judged and compared."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from crucible.cli.console import console, note, print_json
from crucible.cli.context import Context
from crucible.errors import ExitCode, UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_command)


def complete_scenario(incomplete: str) -> list[str]:
    """Names for shell completion."""
    from pathlib import Path

    from crucible.errors import CrucibleError
    from crucible.scenario.catalog import find_bench, scenario_files

    try:
        return [f.stem for f in scenario_files(find_bench(Path.cwd())) if f.stem.startswith(incomplete)]
    except CrucibleError:
        return []


def run_command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="Names or files.", autocompletion=complete_scenario),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Attempts per arm; default: what the scenario says.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the order inside blocks; default: drawn and stored.")
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Run only this arm.")] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="ARM=MODEL", help="Another model for an arm.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, max=64, help="Attempts at a time.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop starting attempts at this cost.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Judge model, or `facts` for measurements only.")
    ] = None,
    judge_samples: Annotated[
        int | None, typer.Option(min=1, max=15, help="Replies per dimension; 3 is recommended.")
    ] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Play the hand-written sessions; no model is asked.")
    ] = False,
    without_extra_tools: Annotated[
        bool, typer.Option("--without-extra-tools", help="Leave out the tool servers a scenario names; marked.")
    ] = False,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and price the run; make nothing.")
    ] = False,
    resume: Annotated[int | None, typer.Option(metavar="RUN", help="Go on with a stored run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Make attempts of both arms of scenarios, store them, judge them, and print the comparison."""
    from crucible.runner.command import Options, choose, start
    from crucible.runner.command import resume as go_on

    chosen: Context = context.obj
    settings = chosen.settings(sandbox=sandbox)
    if (resume is None) == (not names):
        raise UsageError("name scenarios to run, or a run to go on with (--resume RUN)", hint="crucible list-scenarios")
    if resume is not None:
        with chosen.open_store(settings, must_exist=True) as store:
            return _show(_watched(lambda p: go_on(chosen.bench, resume, settings, store, note, p)), store, as_json)
    options = Options(
        names=tuple(names or ()),
        blocks=blocks,
        seed=seed,
        arm=arm,
        models=_models(model or []),
        parallel=parallel,
        max_cost=max_cost,
        judge=judge,
        judge_samples=judge_samples,
        rehearse=rehearse,
        without_extra_tools=without_extra_tools,
    )
    ready = choose(chosen.bench, options, settings, note)
    with chosen.open_store(settings) as store:
        if dry_run:
            return _dry_run(ready, settings, store, as_json)
        if not rehearse:
            _say_what_can_be_seen(ready)
        return _show(_watched(lambda p: start(chosen.bench, ready, settings, store, note, p)), store, as_json)


def _models(given: list[str]) -> dict[str, str]:
    models = {}
    for pair in given:
        arm, equals, name = pair.partition("=")
        if not (arm and equals and name):
            raise UsageError(f"--model takes ARM=MODEL, got {pair!r}", hint="--model baseline=openai/gpt-5-mini")
        models[arm] = name
    return models


def _watched(work: Any) -> Any:
    import asyncio

    from crucible.cli.progress import Watch

    with Watch(console(stderr=True)) as watch:
        return asyncio.run(work(watch.event))


def _say_what_can_be_seen(ready: Any) -> None:
    from crucible.report.verdict import what_can_be_seen

    for attempts in sorted({ready.options.blocks or one.scenario.blocks for one in ready.loaded}):
        note(what_can_be_seen(attempts))


def _dry_run(ready: Any, settings: Any, store: Any, as_json: bool) -> int:
    from crucible.report.price import price_lines, price_run

    priced = price_run(ready, settings, store)
    if as_json:
        print_json([line.as_dict() for line in priced])
    else:
        for text in price_lines(priced):
            console().print(text, highlight=False)
    return int(ExitCode.DONE)


def _show(result: Any, store: Any, as_json: bool) -> int:
    from crucible.report.comparison import comparisons
    from crucible.report.terminal import comparison_view

    found = comparisons(store, result.run_id)
    if as_json:
        print_json([comparison.as_dict() for comparison in found])
    else:
        for comparison in found:
            console().print(comparison_view(comparison), highlight=False)
        console().print(f"\nStored as run {result.run_id} in {store.where}", highlight=False, soft_wrap=True)
        console().print("Look closer: crucible show ATTEMPT; all runs: crucible runs", highlight=False)
    if result.stopped:
        note(f"stopped: {result.stopped}; go on with: crucible run --resume {result.run_id}")
        return int(ExitCode.INCONCLUSIVE)
    return int(ExitCode.INFRASTRUCTURE if any(c.incomplete_blocks for c in found) else ExitCode.DONE)
