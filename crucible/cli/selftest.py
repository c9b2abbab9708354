"""`crucible selftest`: scripted agents that cheat, run for real; what stopped each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import console, note, print_json, writing
from crucible.cli.context import Context
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from crucible.selftest.results import Tried
    from crucible.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("selftest", short_help="Try to cheat in every known way; what stopped it.")(selftest_command)


def selftest_command(
    context: typer.Context,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family: tests, policy, leak, process, hiding, judge.")
    ] = None,
    trick: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this trick.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    parallel: Annotated[
        int | None, typer.Option(min=1, max=16, help="Tricks at a time; default: by processors.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the page of all tricks.")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the tricks; run none.")] = False,
) -> int:
    """Try to cheat: small scripted agents go through the whole pipeline, and none may get away with it.

    Needs no model, no key and no bench of yours. Exit code 1 when a trick worked or an honest agent was punished.
    """
    import asyncio

    from crucible.runner.checks import announced_mode
    from crucible.selftest.catalog import choose, honest_cases
    from crucible.selftest.trying import try_out

    chosen = choose(family or (), trick or ())
    if list_only:
        return _list([(one.family, one.id, one.what) for one in chosen])
    whole = not (family or trick)
    if markdown is not None and not whole:
        raise UsageError("the page is about all tricks", hint="leave out --family and --trick")
    settings = _settings(context.obj, sandbox)
    mode = announced_mode(settings, note)
    tried = asyncio.run(
        try_out(chosen, honest_cases() if whole else (), mode, settings, parallel=parallel or _processors(), say=note)
    )
    if markdown is not None:
        _write(markdown, tried)
    if as_json:
        print_json(tried.as_dict())
    else:
        console().print(_view(tried), highlight=False)
        console().print(tried.summary, highlight=False)
    return int(ExitCode.DONE if tried.ok else ExitCode.GATE_FAILED)


def _settings(chosen: Context, sandbox: str | None) -> Settings:
    """Of the bench at hand, if any, only the sandbox and the cache: its toolchain is not what is tried."""
    from crucible.settings import Settings, load_settings

    try:
        folder = chosen.bench
    except UsageError:
        folder = Path.cwd()
    found = load_settings(folder, sandbox=sandbox)
    return Settings(cache=found.cache, sandbox=found.sandbox)


def _processors() -> int:
    import os

    return max(2, min(4, os.cpu_count() or 2))


def _list(rows: list[tuple[str, str, str]]) -> int:
    for family, name, what in rows:
        typer.echo(f"{family:8} {name:24} {what}")
    return int(ExitCode.DONE)


def _view(tried: Tried) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("family", "trick", "what stopped it", box=SIMPLE_HEAD, pad_edge=False)
    for family, results in tried.families():
        for result in results:
            table.add_row(family, result.trick.id, result.said)
    for one in tried.honest:
        table.add_row("honest", one.case.id, one.said)
    return table


def _write(file: Path, tried: Tried) -> None:
    from crucible.selftest.page import security_page

    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(security_page(tried), encoding="utf-8", newline="\n")
    note(f"wrote {file}")
