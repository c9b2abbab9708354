"""`crucible compare`: the report of a stored run, or of one run against another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import console, print_json
from crucible.cli.context import Context
from crucible.cli.numbers import RunNumber, storable
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.report.costs import Prices
    from crucible.store.writes import Store


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare", short_help="Report a run: the verdict, differences, cost, order.")(compare_command)


def compare_command(
    context: typer.Context,
    run: RunNumber,
    other: Annotated[
        int | None,
        typer.Argument(metavar="[RUN2]", callback=storable, help="A later run to hold against it, arm by arm."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="List every attempt, and every number behind the verdict.")
    ] = False,
    differences: Annotated[
        bool, typer.Option("--differences", help="Show how the first requests of the arms differ, as a diff.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every number.")] = False,
) -> int:
    """Report a run: was it tested, the verdict, what it could see, cost, order. With RUN2: what changed since RUN.

    Two runs are compared only when scenarios, judge and sandbox agree; else it says what differs and ends with 3.
    """
    from crucible.report.costs import prices_of

    chosen: Context = context.obj
    settings = chosen.settings()
    with chosen.open_store(settings, must_exist=True) as store:
        if differences:
            return _differences(store, run, other, as_json=as_json)
        if other is not None:
            return _two(store, run, other, as_json=as_json)
        return show_run(store, run, prices_of(settings), details=details, as_json=as_json)


def _differences(store: Store, run: int, other: int | None, *, as_json: bool) -> int:
    from crucible.report.arm_diff import arm_diff, arm_diff_lines

    if other is not None:
        raise UsageError("--differences is of the arms of one run", hint=f"crucible compare {run} --differences")
    if (found := arm_diff(store, run)) is None:
        raise UsageError(f"there is no run {run} in this store", hint="crucible runs")
    if as_json:
        print_json(found)
    else:
        for line in arm_diff_lines(found):
            typer.echo(line)
    return int(ExitCode.DONE)


def show_run(store: Store, run: int, prices: Prices, *, details: bool = False, as_json: bool = False) -> int:
    """Print the report of a run. Raises UsageError when there is no such run."""
    from crucible.report.overall import overall
    from crucible.report.terminal import beside, overall_view

    found = overall(store, run, prices, detailed=details or as_json)
    if found is None:
        raise UsageError(f"there is no run {run} in this store", hint="crucible runs")
    more = beside(store, found)
    if as_json:
        itself = more.itself.as_dict() if more.itself else None
        print_json({**found.as_dict(), "judge_trust": more.trust.as_dict(), "against_itself": itself})
    else:
        console().print(overall_view(found, more, detailed=details), highlight=False)
    return int(ExitCode.DONE)


def _two(store: Store, then: int, now: int, *, as_json: bool) -> int:
    from crucible.report.two_runs import two_runs, two_runs_view
    from crucible.store.declared import declared

    found = two_runs(store, then, now)
    if found is None:
        missing = next((run for run in (then, now) if declared(store, run) is None), now)
        raise UsageError(f"there is no run {missing} in this store", hint="crucible runs")
    if as_json:
        print_json(found.as_dict())
    else:
        console().print(two_runs_view(found), highlight=False)
    return int(ExitCode.INCONCLUSIVE if found.incomparable else ExitCode.DONE)
