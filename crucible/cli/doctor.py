"""`crucible doctor`: what is missing here, and the command that fixes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import print_json
from crucible.cli.context import Context
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", short_help="What is missing on this machine, and what fixes it.")(doctor_command)


def doctor_command(
    context: typer.Context,
    no_tricks: Annotated[bool, typer.Option("--no-tricks", help="Do not try ten tricks on the sandbox.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Look at sandbox, git, store, models and keys; say what is missing and what fixes it."""
    from dataclasses import asdict

    from crucible.report.doctor import examine
    from crucible.settings import load_settings

    chosen: Context = context.obj
    try:
        bench, settings = chosen.bench, chosen.settings()
    except UsageError:
        bench, settings = None, load_settings(Path.cwd())
    findings = list(examine(bench, settings, None if no_tricks else lambda: _ten_tricks(settings)))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            for line in finding.lines():
                typer.echo(line)
    return int(ExitCode.INFRASTRUCTURE if any(f.ok is False for f in findings) else ExitCode.DONE)


def _ten_tricks(settings: Settings) -> list[tuple[str, str | None]]:
    import asyncio

    from crucible.selftest.catalog import quick
    from crucible.selftest.trying import try_out
    from crucible.settings import Settings

    tried = asyncio.run(try_out(quick(), (), "overlay", Settings(cache=settings.cache), parallel=4))
    return [(one.trick.id, one.escaped) for one in tried.results]
