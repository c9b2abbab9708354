"""`crucible gate`: an exit code for CI from a stored run."""

from __future__ import annotations

from typing import Annotated

import typer

from crucible.cli.console import print_json
from crucible.cli.context import Context
from crucible.cli.numbers import RunNumber


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate", short_help="Exit 0 if it holds, 1 if shown not to, 3 if nobody can tell.")(gate_command)


def gate_command(
    context: typer.Context,
    run: RunNumber,
    no_worse_than: Annotated[
        float | None, typer.Option(metavar="POINTS", help="Holds if the treatment loses at most so many points.")
    ] = None,
    better_by: Annotated[
        float | None, typer.Option(metavar="POINTS", help="Holds if the treatment gains more than so many points.")
    ] = None,
    claim: Annotated[
        str, typer.Option(help="these: on the scenarios of the run; like-these: on scenarios like them.")
    ] = "these",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Exit 0 when it holds, 1 when it is shown not to, 3 when the data do not tell or nothing was tested."""
    from crucible.report.gate import asked_of, gate

    chosen: Context = context.obj
    asked = asked_of(no_worse_than, better_by, claim)
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        found = gate(store, run, asked)
    if as_json:
        print_json(found.as_dict())
    else:
        typer.echo(found.sentence)
    return int(found.exit_code)
