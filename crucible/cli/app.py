"""The application: commands put together, and every error turned into lines and an exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
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
from crucible.cli.console import writing
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
        with writing(log_file):
            log_file.parent.mkdir(parents=True, exist_ok=True)
            handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(line)
        logger.addHandler(handler)


def run_app(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code. Errors raised on purpose, and files that cannot be used, become lines on stderr.

    A fault of ours is shown whole and ends with 5, never with the 1 that Python would give it: that is the answer of a gate.
    """
    _prepare_output()
    try:
        app(args=arguments, prog_name="crucible")
    except CrucibleError as error:
        return _said(error)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):
            return READER_GONE
        return stop.code if isinstance(stop.code, int) else int(ExitCode.DONE)
    except OSError as error:
        logging.getLogger("crucible").debug("what the system refused", exc_info=True)
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return _said(
            CrucibleError(f"{where}{error.strerror or error}", hint="crucible -v COMMAND shows where it happened")
        )
    except Exception:  # noqa: BLE001 - the outermost edge: what nobody foresaw must not end like a gate that fails
        traceback.print_exc()
        return _said(CrucibleError("Crucible did not foresee this", hint="please report it with the lines above"))
    return int(ExitCode.DONE)


READER_GONE = 128 + 13
"""What the shell calls a program that nobody reads any more (`| head`): as if by SIGPIPE, which is no answer either."""


def _prepare_output() -> None:
    """A closed stdout swallows what is written; one that cannot write a character (an old code page) writes its number."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    elif isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _said(error: CrucibleError) -> int:
    for line in error.lines():
        typer.echo(line, err=True)
    return int(error.exit_code)
