"""`crucible run`: attempts of both arms on scenarios, stored, judged and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.cli.numbers import SeedNumber, storable
from crucible.cli.running import complete_scenario, dry_run, models_of, show_result, watched
from crucible.cli.tools import tools_of
from crucible.errors import UsageError

if TYPE_CHECKING:
    from crucible.runner.command import Chosen
    from crucible.runner.recorder import Progress
    from crucible.runner.run import Result
    from crucible.settings import Settings

WITH_RESUME = ("resume", "as_json", "sandbox")
"""What may be said beside --resume; everything else was said, and stored, when the run began."""


Primary = Literal["pass-rate", "score"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", short_help="Make attempts of both arms and compare them.")(run_command)


def run_command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="Names or files.", autocompletion=complete_scenario),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Attempts per arm; default: what the scenario says.")
    ] = None,
    seed: SeedNumber = None,
    arm: Annotated[str | None, typer.Option(help="Run only this arm.")] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="ARM=MODEL", help="Another model for an arm.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, max=64, help="Attempts at a time.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Start no attempt once they cost this; judging is extra.")
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
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SERVER", help="Another tool server in the place of one a scenario names; marked."),
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    primary: Annotated[Primary, typer.Option(help="What the verdict is about.")] = "pass-rate",
    margin: Annotated[
        float,
        typer.Option(metavar="POINTS", help="Arms are equivalent where a difference this large is ruled out; 0 to 50."),
    ] = 10.0,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="Stop a scenario as soon as its verdict, or that none is near, is sure."),
    ] = False,
    max_blocks: Annotated[
        int | None, typer.Option(metavar="N", help="With --until-decided: the most attempts per arm.")
    ] = None,
    control: Annotated[
        bool, typer.Option("--control", help="First one attempt that must call each tool server; stop if none answers.")
    ] = False,
    only_price: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and price the run; make nothing.")
    ] = False,
    resume: Annotated[
        int | None, typer.Option(metavar="RUN", callback=storable, help="Go on with a stored run.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Make attempts of both arms of scenarios, store them, judge them, and print the comparison.

    What the verdict is about, the margin and whether the run may stop early are declared before the first attempt.
    With --until-decided each scenario is a sequential design of its own: its false alarms are at most 5%, those of
    several scenarios together are not.
    """
    from crucible.runner.command import Options, choose, start
    from crucible.runner.command import resume as go_on
    from crucible.runner.control_run import control_run, controlled
    from crucible.runner.declare import Declared
    from crucible.runner.equip import check_equipment

    chosen: Context = context.obj
    settings = chosen.settings(sandbox=sandbox)
    if resume is not None and names:
        raise UsageError(
            "a run goes on with the scenarios it was declared with", hint=f"crucible run --resume {resume}"
        )
    if resume is None and not names:
        raise UsageError("name scenarios to run, or a run to go on with (--resume RUN)", hint="crucible list-scenarios")
    if resume is not None:
        _check_nothing_new(context)
        with chosen.open_store(settings, must_exist=True) as store:
            gone_on = watched(store, lambda p: go_on(chosen.bench, resume, settings, store, note, p))
            return show_result(gone_on, settings, store, as_json)
    options = Options(
        names=tuple(names or ()),
        blocks=blocks,
        seed=seed,
        arm=arm,
        models=models_of(model),
        parallel=parallel,
        max_cost=max_cost,
        judge=judge,
        judge_samples=judge_samples,
        rehearse=rehearse,
        without_extra_tools=without_extra_tools,
        tools=tools_of(tools),
        declared=Declared("score" if primary == "score" else "pass_rate", margin / 100, until_decided, max_blocks),
    )
    ready = choose(chosen.bench, options, settings, note)
    if control:
        controlled(ready)
    with chosen.open_store(settings) as store:
        if not rehearse:
            _say_what_can_be_seen(ready)
        if only_price:
            _say_what_runs(ready, settings, control=control)
            return dry_run(ready, settings, store, as_json)

        async def checked(progress: Progress) -> Result:
            equipped = await check_equipment(chosen.bench, ready, settings, note)
            if control:
                await control_run(chosen.bench, ready, settings, store, note, progress)
            return await start(chosen.bench, ready, settings, store, note, progress, equipped)

        made = watched(store, checked)
        return show_result(made, settings, store, as_json)


def _check_nothing_new(context: typer.Context) -> None:
    """A run that is gone on with stays what was declared. Raises UsageError."""
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if name not in WITH_RESUME and source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{option.opts[0]} cannot be given with --resume: a run goes on as it was declared",
                hint="start another run to change it",
            )


def _say_what_can_be_seen(ready: Chosen) -> None:
    from crucible.report.plan_lines import before_run

    if ready.options.arm is not None:
        note(f"only {ready.options.arm} is run: nothing will be compared within this run")
        return
    for line in before_run([one.scenario for one in ready.loaded], ready.options.declared):
        note(line)


def _say_what_runs(ready: Chosen, settings: Settings, *, control: bool) -> None:
    from crucible.runner.choose import arms_of
    from crucible.runner.equip import what_runs

    for one in () if ready.options.rehearse else ready.loaded:
        for line in what_runs(one.scenario, arms_of(one.scenario, ready.options), settings, ready.options.instead):
            note(line)
    if control:
        note("the control's cost is on top: one attempt per scenario whose treated arm has tool servers")
