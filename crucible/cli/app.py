"""The application: commands put together, and every error turned into lines and an exit code."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from crucible import __version__
from crucible.cli import (
    aa,
    compare,
    confirm,
    doctor,
    floor,
    gate,
    label,
    mutate,
    new_failure,
    nightly,
    plan,
    report,
    repro,
    results,
    run,
    scenarios,
    selftest,
    tools,
    ui,
)
from crucible.cli.context import Context
from crucible.errors import CrucibleError, ExitCode
from crucible.redaction import redact


def _exit_with(result: object, **_: object) -> None:
    """Commands return their exit code."""
    raise typer.Exit(result if isinstance(result, int) else int(ExitCode.DONE))


HELP = "Is agent set-up B better than A at this job, and how sure are we?"

# Plain help: rendering it with rich costs more than everything else a command does before its own work.
app = typer.Typer(
    name="crucible",
    result_callback=_exit_with,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
run.register(app)
plan.register(app)
aa.register(app)
scenarios.register(app)
results.register(app)
compare.register(app)
ui.register(app)
report.register(app)
gate.register(app)
nightly.register(app)
label.register(app)
doctor.register(app)
tools.register(app)
selftest.register(app)
floor.register(app)
new_failure.register(app)
repro.register(app)
confirm.register(app)
mutate.register(app)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"crucible {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    bench: Annotated[
        Path | None, typer.Option("--bench", "-C", help="Bench folder; default: the nearest one holding crucible.toml.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Store: a SQLite file or a database URL.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log to stderr what is being done.")] = False,
    log_file: Annotated[Path | None, typer.Option(help="Also write the log, in full, to this file.")] = None,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    _set_up_logging(verbose, log_file)
    context.obj = Context(bench_option=bench, store_option=store)


class _Line(logging.Formatter):
    """A line of the log, without keys."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _set_up_logging(verbose: bool, log_file: Path | None) -> None:
    logger = logging.getLogger("crucible")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(logging.NullHandler())
    line = _Line("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(line)
        logger.addHandler(handler)


def run_app(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code. Errors raised on purpose become lines on stderr, never a traceback."""
    try:
        app(args=arguments, prog_name="crucible")
    except CrucibleError as error:
        for line in error.lines():
            typer.echo(line, err=True)
        return int(error.exit_code)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(ExitCode.DONE)
    return int(ExitCode.DONE)
