"""`crucible confirm`: a fix is confirmed by a number of green runs fixed in advance, or it is not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli import failing
from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.errors import UsageError

if TYPE_CHECKING:
    from crucible.runner.failures.confirm import Confirmation


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("confirm", short_help="Run the new code as often as the report asks for.")(confirm_command)


def confirm_command(
    context: typer.Context,
    file: failing.File,
    agent: failing.Agent = None,
    format_: failing.Format = None,
    model: failing.ModelName = None,
    system_prompt: failing.Prompt = None,
    without: failing.Without = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Green runs to ask for; default: the floor of the report.")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option(metavar="RISK", help="Risk accepted of calling an unchanged bug fixed.")
    ] = None,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="Run a scenario that was never seen failing; the result says so.")
    ] = False,
    parallel: failing.Parallel = 1,
    timeout: failing.Timeout = None,
    max_turns: failing.Turns = None,
    run_cost: failing.RunCost = None,
    max_cost: failing.TotalCost = None,
    max_seconds: failing.TotalSeconds = None,
    max_invalid: failing.Invalid = 3,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a summary in Markdown.")] = None,
    as_json: failing.AsJson = False,
) -> int:
    """Run the new code as often as the report asks for, stopping at the first red run.

    Exit 0 confirmed, 1 refuted, 2 usage, 3 inconclusive (limits came first), 4 never seen failing.
    Without --agent or --model, the command that was seen failing is run.
    """
    from crucible.report.failures import confirm_lines, confirm_plan_lines
    from crucible.runner.failures.choose import Asked, limits_of, make_subject
    from crucible.runner.failures.confirm import confirm
    from crucible.runner.failures.planned import plan_confirm
    from crucible.runner.failures.sidecar import read_seen
    from crucible.runner.failures.teeth import teeth_warnings

    chosen: Context = context.obj
    bench, settings = failing.bench_of(chosen), failing.settings_of(chosen)
    asked = Asked(
        agent=agent,
        format=format_,
        model=model,
        prompt=system_prompt,
        without=tuple(without or ()),
        turns=max_turns,
        run_usd=run_cost,
        seconds=timeout,
        parallel=parallel,
        most_invalid=max_invalid,
        total_usd=max_cost,
        total_seconds=max_seconds,
    )
    frozen = failing.frozen_of(bench, file, asked)
    seen = read_seen(frozen.failure, bench)
    plan = plan_confirm(frozen, seen, runs, _risk(tolerance), unproven=unproven)
    subject = make_subject(frozen, asked.or_as_seen(seen), settings, Path.cwd())
    limits = limits_of(frozen, asked, subject)
    for line in (*confirm_plan_lines(frozen, plan), *teeth_warnings(frozen)):
        note(line)
    results, folder = bench / "results", Path.cwd()
    found = failing.run_to_end(
        lambda: confirm(frozen, subject, plan, limits, results=results, folder=folder, watch=failing.tell),
        kept=chosen.shown(results / "failures"),
    )
    _write_reports(found, junit, markdown)
    return failing.show(found, confirm_lines(found, chosen.shown), as_json=as_json)


def _risk(text: str | None) -> Fraction | None:
    from crucible.stats.floor import as_tolerance

    try:
        return None if text is None else as_tolerance("--tolerance", text)
    except ValueError as error:
        raise UsageError(str(error), hint="a tolerance such as 0.05") from None


def _write_reports(found: Confirmation, junit: Path | None, markdown: Path | None) -> None:
    if junit is None and markdown is None:
        return
    from crucible.report.confirmation import junit_xml, markdown_text

    if junit is not None:
        _write(junit, junit_xml(found))
    if markdown is not None:
        _write(markdown, markdown_text(found))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        note(f"{path}: cannot be written: {error.strerror}; every run is kept all the same")
