"""Commands about scenario files: list-scenarios, validate, schema, init, new."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from crucible.cli.console import console, note, print_json, writing
from crucible.cli.context import Context
from crucible.errors import ExitCode


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list-scenarios", short_help="List the scenarios and frozen failures of the bench.")(
        list_scenarios_command
    )
    app.command("validate", short_help="Check scenarios: unfixed is red, the reference is green.")(validate_command)
    app.command("schema")(schema_command)
    app.command("init", short_help="Make a new bench folder with one small scenario.")(init_command)
    app.command("new", short_help="Make stubs of a scenario, its fixture and its fix.")(new_command)


def list_scenarios_command(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> int:
    """List the scenarios and frozen failures of the bench; a file that cannot be read is listed with its problems."""
    from crucible.report.scenarios import failure_lines, scenario_lines, scenario_table
    from crucible.scenario.catalog import list_scenarios

    bench = context.obj.bench
    lines = [*scenario_lines(list_scenarios(bench)), *failure_lines(bench)]
    if as_json:
        print_json([line.as_dict() for line in lines])
    else:
        console().print(scenario_table(lines))
        for line in lines:
            for problem in line.problems:
                note(problem)
    return int(ExitCode.USAGE if any(line.problems for line in lines) else ExitCode.DONE)


def validate_command(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="Names or files; default all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    repeat: Annotated[
        int, typer.Option(min=2, max=1000, help="How often to test each state; unsteady tests are quarantined.")
    ] = 2,
) -> int:
    """Check scenarios: unfixed is red, the reference is green, twice each, and no line of the reference can be read."""
    import asyncio

    from crucible.report.scenarios import validation_lines
    from crucible.runner.checks import validate_all

    chosen: Context = context.obj
    settings = chosen.settings(sandbox=sandbox)
    with chosen.open_store(settings) as store:
        checked = asyncio.run(validate_all(chosen.bench, names or [], settings, store, note, repeat))
    if as_json:
        print_json([check.as_dict() for check in checked])
    else:
        for line in validation_lines(checked):
            console().print(line, highlight=False)
    return int(ExitCode.DONE if all(check.ok for check in checked) else ExitCode.USAGE)


def schema_command() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from crucible.scenario.jsonschema import scenario_json_schema

    typer.echo(json.dumps(scenario_json_schema(), indent=2, ensure_ascii=False))


def init_command(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make.")]) -> None:
    """Make a new bench folder with one small scenario that can be rehearsed at once."""
    from crucible.scenario.starter import make_bench

    with writing():
        made = make_bench(folder)
    for path in made:
        typer.echo(f"made {path}")
    typer.echo(f"\nNext: cd {shlex.quote(str(folder))} && crucible validate && crucible run first-bug --rehearse")


def new_command(
    context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the scenario.")]
) -> None:
    """Make stubs of a scenario, its fixture and its reference fix."""
    from crucible.scenario.starter import make_scenario

    with writing():
        made = make_scenario(context.obj.bench, name)
    for path in made:
        typer.echo(f"made {context.obj.shown(path)}")
    typer.echo(f"\nNext: fill them in, then crucible validate {name}")
