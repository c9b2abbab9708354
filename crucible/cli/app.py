"""The application: commands put together, and every error turned into lines and an exit code."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import click
import typer

from crucible import __version__
from crucible.cli import doctor, results, run, scenarios
from crucible.cli.context import Context
from crucible.errors import CrucibleError, ExitCode

HELP = "Is agent set-up B better than A at this job, and how sure are we?"

app = typer.Typer(name="crucible", help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")
run.register(app)
scenarios.register(app)
results.register(app)
doctor.register(app)


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


def _set_up_logging(verbose: bool, log_file: Path | None) -> None:
    logger = logging.getLogger("crucible")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(logging.NullHandler())
    line = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(line)
        logger.addHandler(handler)


def run_app(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code. Errors raised on purpose become lines on stderr, never a traceback."""
    command = typer.main.get_command(app)
    try:
        result = command.main(args=arguments, prog_name="crucible", standalone_mode=False)
    except CrucibleError as error:
        for line in error.lines():
            click.echo(f"crucible: {line}" if not line.startswith((" ", "/")) and ":" not in line[:1] else line, err=True)
        return int(error.exit_code)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("crucible: interrupted; what was done is stored", err=True)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return int(ExitCode.DONE)
    return int(result) if isinstance(result, int) else int(ExitCode.DONE)
