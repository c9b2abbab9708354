"""`crucible repro`: see a frozen failure fail, on the code that is said to fail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crucible.cli import failing
from crucible.cli.console import note
from crucible.cli.context import Context


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("repro", short_help="Run the old code until the failure is seen.")(repro_command)


def repro_command(
    context: typer.Context,
    file: failing.File,
    agent: failing.Agent = None,
    format_: failing.Format = None,
    model: failing.ModelName = None,
    system_prompt: failing.Prompt = None,
    without: failing.Without = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Make this many, all of them, and count; default: until it fails."),
    ] = None,
    parallel: failing.Parallel = 1,
    timeout: failing.Timeout = None,
    max_turns: failing.Turns = None,
    run_cost: failing.RunCost = None,
    max_cost: failing.TotalCost = None,
    max_seconds: failing.TotalSeconds = None,
    max_invalid: failing.Invalid = 3,
    as_json: failing.AsJson = False,
) -> int:
    """Run the old code until the failure is seen, up to the runs that would show it with 95%, and record it.

    Exit 0 when it was seen (FILE.seen.json is written, to be committed), 4 when it was not, 3 when limits came first.
    """
    from crucible.report.failures import plan_line, repro_lines
    from crucible.runner.failures.choose import Asked, limits_of, make_subject
    from crucible.runner.failures.repro import plan_repro, repro

    chosen: Context = context.obj
    bench, settings = failing.bench_of(chosen), failing.settings_of(chosen)
    asked = Asked(
        agent=agent,
        format=format_,
        model=model,
        prompt=system_prompt,
        without=tuple(without or ()),
        turns=max_turns,
        run_usd=run_cost,
        seconds=timeout,
        parallel=parallel,
        most_invalid=max_invalid,
        total_usd=max_cost,
        total_seconds=max_seconds,
    )
    frozen = failing.frozen_of(bench, file, asked)
    plan = plan_repro(frozen, runs)
    subject = make_subject(frozen, asked, settings, Path.cwd())
    limits = limits_of(frozen, asked, subject)
    note(plan_line(frozen, plan))
    results, folder = bench / "results", Path.cwd()
    found = failing.run_to_end(
        lambda: repro(
            frozen, subject, plan, limits, results=results, folder=folder, format=asked.format, watch=failing.tell
        ),
        kept=chosen.shown(results / "failures"),
    )
    return failing.show(found, repro_lines(found, chosen.shown), as_json=as_json)
