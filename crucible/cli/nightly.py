"""`crucible nightly`: a suite once, or night after night."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crucible.cli.console import console, note, print_json
from crucible.cli.context import Context
from crucible.errors import CrucibleError, ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.report.nightly import Nightly


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("nightly")(nightly_command)


def nightly_command(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Name (suites/NAME.yaml) or file.")],
    once: Annotated[bool, typer.Option("--once", help="Run one night now; what happens without --schedule.")] = False,
    schedule: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Stay and run at the times of this file: `at: "02:30"`, `days:`.'),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Also write the Markdown summary to this file.")
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="Run nothing; show the last night again.")] = False,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Play the hand-written sessions; never part of the real history.")
    ] = False,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Run a suite and compare it with its stored nights. Exit 0 no alarm, 1 alarm, 3 not enough history yet."""
    from crucible.runner.suite import find_suite, load_schedule

    chosen: Context = context.obj
    if schedule is not None and (once or report):
        raise UsageError("--schedule runs night after night; leave out --once and --report")
    find_suite(chosen.bench, suite)
    if summary is not None and (summary.is_dir() or not summary.absolute().parent.is_dir()):
        raise UsageError(f"{summary}: not a file in a folder that is there; the summary could not be written")

    def night() -> int:
        return int(_show(_night(chosen, suite, sandbox, report=report, rehearse=rehearse), summary, as_json))

    if schedule is None:
        return night()
    return _stay(load_schedule(schedule, chosen.bench), night)


def _night(chosen: Context, name: str, sandbox: str | None, *, report: bool, rehearse: bool) -> Nightly:
    from crucible.report.nightly import tonight
    from crucible.runner.suite import find_suite
    from crucible.store.nights import last_night

    suite, settings = find_suite(chosen.bench, name), chosen.settings(sandbox=sandbox)
    with chosen.open_store(settings, must_exist=report) as store:
        run_id = last_night(store, suite.name, rehearsal=rehearse) if report else None
        if report and run_id is None:
            raise UsageError(f"no night of {suite.name} is stored yet", hint=f"crucible nightly {name}")
        return tonight(store, suite, _run(chosen, suite, settings, store, rehearse) if run_id is None else run_id)


def _run(chosen: Context, suite: Any, settings: Any, store: Any, rehearse: bool) -> int:
    import asyncio

    from crucible.cli.progress import Watch
    from crucible.runner.nightly import one_night

    with Watch(console(stderr=True)) as watch:
        night = one_night(chosen.bench, suite, settings, store, note, watch.event, rehearse=rehearse)
        result = asyncio.run(night)
    if result.stopped:
        note(f"stopped: {result.stopped}; the night has fewer attempts than planned")
    return result.run_id


def _show(found: Nightly, summary: Path | None, as_json: bool) -> ExitCode:
    from crucible.report.nightly_summary import markdown

    text = markdown(found)
    if summary is not None:
        try:
            summary.write_text(text, "utf-8")
        except OSError as error:
            note(f"{summary}: the summary cannot be written: {error.strerror}; the night is stored")
    if as_json:
        print_json(found.as_dict())
    else:
        typer.echo(text, nl=False)
    return found.exit_code


def _stay(schedule: Any, night: Any) -> int:
    """Until Ctrl-C. A night that cannot be run is said and the next one is waited for."""
    from crucible.runner.nightly import night_after_night

    def safely() -> None:
        try:
            night()
        except CrucibleError as error:
            for line in error.lines():
                note(line)

    try:
        night_after_night(schedule, safely, note, clock=lambda: datetime.now().astimezone(), sleep=time.sleep)
    except KeyboardInterrupt:
        note("interrupted; what was made is stored")
    return int(ExitCode.INTERRUPTED)
