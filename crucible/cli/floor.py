"""`crucible floor`: how many green runs the word "fixed" is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible.cli.console import print_json
from crucible.errors import ExitCode


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("floor", short_help="How many green runs in a row confirm a fix.")(floor_command)


def floor_command(
    report: Annotated[
        str, typer.Argument(metavar="REPORT", help="What was reported: failures of runs, such as 2/10; or a rate, 0.2.")
    ],
    tolerance: Annotated[
        str, typer.Option(metavar="RISK", help="Risk accepted of calling an unchanged bug fixed.")
    ] = "0.05",
    runs: Annotated[int | None, typer.Option(min=1, help="Runs chosen, if not the floor: what are they worth?")] = None,
    most: Annotated[
        int, typer.Option(min=1, metavar="RUNS", help="More runs than this are too many to confirm cheaply.")
    ] = 100,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="What one run takes: say what all of them do.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the arithmetic: listed, by formula, by dice.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the dice.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """How many green runs in a row confirm a fix, for a bug that failed so often? Exact; chosen before the first run."""
    from crucible.report.floor import explain as explained
    from crucible.report.floor import floor_lines, floor_of, read_report

    found = floor_of(read_report(report), tolerance, runs, most)
    if as_json:
        print_json(found.as_dict())
        return int(ExitCode.DONE)
    for line in floor_lines(found, most, seconds):
        typer.echo(line)
    for line in ["", *explained(found, seed)] if explain else []:
        typer.echo(line)
    return int(ExitCode.DONE)
