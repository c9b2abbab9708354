"""`crucible aa`: one arm against itself, which shows what differences chance makes."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.cli.numbers import SeedNumber
from crucible.cli.running import complete_scenario, dry_run, models_of, show_result, watched
from crucible.cli.tools import tools_of


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("aa", short_help="One arm against itself: what chance alone makes.")(aa_command)


def aa_command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SCENARIO", help="Name or file.", autocompletion=complete_scenario)],
    arm: Annotated[str | None, typer.Option(help="The arm; default: the baseline.")] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Attempts per half; default: what the scenario says.")
    ] = None,
    seed: SeedNumber = None,
    model: Annotated[list[str] | None, typer.Option(metavar="ARM=MODEL", help="Another model for the arm.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, max=64, help="Attempts at a time.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Start no attempt once they cost this; judging is extra.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Judge model, or `facts` for measurements only.")
    ] = None,
    judge_samples: Annotated[int | None, typer.Option(min=1, max=15, help="Replies per dimension.")] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Play the hand-written sessions; no model is asked.")
    ] = False,
    without_extra_tools: Annotated[
        bool, typer.Option("--without-extra-tools", help="Leave out the tool servers the arm names; marked.")
    ] = False,
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SERVER", help="Another tool server in the place of one the arm names; marked."),
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    only_price: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and price the run; make nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Run one arm of a scenario against itself: what differs is chance, and every later difference is held against it.

    The run is stored, marked, and never ranked. Interrupted, it goes on with: crucible run --resume RUN.
    """
    from crucible.runner.command import Options, choose, start
    from crucible.scenario.catalog import get_scenario

    chosen: Context = context.obj
    settings = chosen.settings(sandbox=sandbox)
    options = Options(
        names=(name,),
        blocks=blocks,
        seed=seed,
        models=models_of(model),
        parallel=parallel,
        max_cost=max_cost,
        judge=judge,
        judge_samples=judge_samples,
        rehearse=rehearse,
        without_extra_tools=without_extra_tools,
        tools=tools_of(tools),
        against_itself=arm or get_scenario(chosen.bench, name).scenario.baseline.id,
    )
    ready = choose(chosen.bench, options, settings, note)
    with chosen.open_store(settings) as store:
        if only_price:
            return dry_run(ready, settings, store, as_json)
        made = watched(store, lambda p: start(chosen.bench, ready, settings, store, note, p))
        return show_result(made, settings, store, as_json)
