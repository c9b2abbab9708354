"""`crucible plan`: how many attempts a difference takes, what a number of attempts can see, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crucible.cli.console import console, print_json
from crucible.cli.context import Context
from crucible.cli.running import complete_scenario
from crucible.errors import ExitCode

if TYPE_CHECKING:
    from crucible.report.assumptions import Asked
    from crucible.report.planning import Plan
    from crucible.scenario.schema import Scenario
    from crucible.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", short_help="How many attempts a difference takes, before spending.")(plan_command)


def plan_command(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="SCENARIO...", help="Names or files.", autocompletion=complete_scenario)
    ],
    detect: Annotated[float, typer.Option(metavar="POINTS", help="The difference to find; 1 to 100.")] = 15.0,
    power: Annotated[float, typer.Option(metavar="CHANCE", help="The chance of finding it, when it is real.")] = 0.8,
    metric: Annotated[Literal["pass-rate", "score"], typer.Option(help="What the verdict is about.")] = "pass-rate",
    base: Annotated[
        float | None, typer.Option(metavar="RATE", help="The baseline's pass rate, 0 to 1; default: what is stored.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option(metavar="SD", help="Spread of one arm's scores, 0 to 0.5; default: what is stored.")
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(metavar="SD", help="Spread of the true effect between scenarios, 0 to 1; default: 0.1."),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Also say what this many attempts per arm can see.")
    ] = None,
    cost: Annotated[
        float | None, typer.Option(metavar="USD", help="Cost of one attempt; default: what is stored.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Time of one attempt; default: what is stored.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> int:
    """Say before spending how many attempts a difference takes, and what that costs. Nothing is run or stored."""
    from crucible.report.assumptions import Asked
    from crucible.report.plan_lines import plan_lines
    from crucible.scenario.catalog import get_scenario

    chosen: Context = context.obj
    scenarios = [get_scenario(chosen.bench, name).scenario for name in dict.fromkeys(names)]
    about: Literal["pass_rate", "score"] = "score" if metric == "score" else "pass_rate"
    asked = Asked(detect / 100, power, about, base, sd, spread, cost, seconds, blocks)
    plan = _plan(chosen, chosen.settings(), scenarios, asked)
    if as_json:
        print_json(plan.as_dict())
    else:
        for line in plan_lines(plan):
            console().print(line, highlight=False, soft_wrap=True)
    return int(ExitCode.DONE)


def _plan(chosen: Context, settings: Settings, scenarios: list[Scenario], asked: Asked) -> Plan:
    """From the stored history where there is a store; planning makes none."""
    from crucible.report.planning import make_plan

    where = chosen.store_path(settings)
    if "://" not in where and not Path(where).exists():
        return make_plan(scenarios, asked, None)
    with chosen.open_store(settings) as store:
        return make_plan(scenarios, asked, store)
