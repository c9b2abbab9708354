"""`crucible report`: a run's comparison as a file for others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import note, writing
from crucible.cli.context import Context
from crucible.cli.numbers import RunNumber
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.report.overall import Overall
    from crucible.store.writes import Store

STDOUT = Path("-")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", short_help="Write a comparison as HTML, Markdown, JUnit, JSON or CSV.")(report_command)


def report_command(
    context: typer.Context,
    run: RunNumber,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="One page that needs nothing beside it.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="For a comment on a pull request.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML, for a CI server.")] = None,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Every number.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="One row for each attempt.")] = None,
) -> int:
    """Write a run's comparison into files, `-` for stdout. Several at once may be asked for; Markdown when none is."""
    wanted = {"html": html, "markdown": markdown, "junit": junit, "json": as_json, "csv": csv}
    asked = {kind: file for kind, file in wanted.items() if file is not None} or {"markdown": STDOUT}
    if list(asked.values()).count(STDOUT) > 1:
        raise UsageError("only one of them can go to stdout", hint="name files for the others")
    chosen: Context = context.obj
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        found = _read(chosen, store, run, detailed="json" in asked)
        made = {kind: _MAKERS[kind](store, found) for kind in asked}
    for kind, file in asked.items():
        _write(made[kind], file)
    return int(ExitCode.DONE)


def _read(chosen: Context, store: Store, run: int, *, detailed: bool) -> Overall:
    from crucible.report.costs import prices_of
    from crucible.report.overall import overall

    found = overall(store, run, prices_of(chosen.settings()), detailed=detailed)
    if found is None:
        raise UsageError(f"there is no run {run} in this store", hint="crucible runs")
    return found


def _html(store: Store, run: Overall) -> str:
    from crucible.web.onefile import one_file

    return one_file(store, run)


def _markdown(store: Store, run: Overall) -> str:
    from crucible.report.files.about import about
    from crucible.report.files.markdown import markdown
    from crucible.report.terminal import beside

    return markdown(run, beside(store, run), about(store, run.run_id))


def _junit(store: Store, run: Overall) -> str:
    from crucible.report.files.about import about
    from crucible.report.files.junit import junit

    return junit(run, about(store, run.run_id))


def _json(store: Store, run: Overall) -> str:
    from crucible.report.terminal import as_dict

    return json.dumps(as_dict(store, run), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _csv(_store: Store, run: Overall) -> str:
    from crucible.report.files.table import table

    return table(run)


_MAKERS: dict[str, Callable[[Store, Overall], str]] = {
    "html": _html,
    "markdown": _markdown,
    "junit": _junit,
    "json": _json,
    "csv": _csv,
}


def _write(text: str, file: Path) -> None:
    if file == STDOUT:
        typer.echo(text, nl=False)
        return
    with writing(file):
        file.write_text(text, "utf-8", newline="")
    note(f"wrote {file} ({len(text.encode()) / 1000:,.1f} kB)")
