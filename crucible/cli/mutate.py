"""`crucible mutate`: what would a frozen failure notice? A green run is made worse, one thing at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli import failing
from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.errors import UsageError

if TYPE_CHECKING:
    from crucible.runner.failures.choose import Asked
    from crucible.runner.failures.frozen import Frozen
    from crucible.runner.failures.subject import Played
    from crucible.runner.failures.teeth import Teeth

WIDEST = 76
"""Characters of what was changed that are shown."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mutate", short_help="See whether a frozen failure notices worse runs.")(mutate_command)


def mutate_command(
    context: typer.Context,
    file: failing.File,
    transcript: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What an agent printed in a green run; else one run is made.")
    ] = None,
    agent: failing.Agent = None,
    format_: failing.Format = None,
    model: failing.ModelName = None,
    timeout: failing.Timeout = None,
    as_json: failing.AsJson = False,
) -> int:
    """Make a green run worse, one thing at a time, and show which dimension of the scenario notices.

    Exit 0, 1 when the scenario is toothless (no harmful change is noticed), 2 when the run is not green to begin with.
    Without --transcript, --agent or --model, the command that was seen failing is run, once.
    """
    from crucible.runner.failures.choose import Asked
    from crucible.runner.failures.sidecar import read_seen
    from crucible.runner.failures.teeth import try_teeth

    chosen: Context = context.obj
    bench = failing.bench_of(chosen)
    asked = Asked(agent=agent, format=format_, model=model, seconds=timeout)
    frozen = failing.frozen_of(bench, file, asked)
    if transcript is not None and (agent or model):
        raise UsageError("--transcript is a run that was made, --agent and --model make one: give one of them")
    seen = asked.or_as_seen(read_seen(frozen.failure, bench))
    played = _kept(transcript, format_) if transcript else _made(chosen, frozen, seen)
    found = try_teeth(frozen, played)
    return failing.show(found, teeth_lines(found), as_json=as_json)


def _made(chosen: Context, frozen: Frozen, asked: Asked) -> Played:
    from crucible.runner.failures.choose import make_subject

    subject = make_subject(frozen, asked, failing.settings_of(chosen), Path.cwd())
    note(f"{frozen.failure.slug}: one run, to be green")
    return failing.run_to_end(subject.play)


def _kept(path: Path, format: str | None) -> Played:  # noqa: A002 - the word users have for it
    from crucible.runner.failures.subject import Played
    from crucible.transcript.readers import read_transcript

    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--transcript {path}: cannot be read: {error.strerror}") from None
    return Played(read_transcript(data, format), data, 0.0)


def teeth_lines(found: Teeth) -> Iterator[str]:
    """A line for each mutant: what it is, what was changed, and what caught it."""
    from crucible.runner.failures.made import one_line
    from crucible.runner.failures.teeth import TOOTHLESS

    rows = [("mutant", "what was changed", "caught by")]
    for bite in found.bites:
        what = one_line(bite.mutant.what)
        short = what if len(what) <= WIDEST else f"{what[: WIDEST - 1]}…"
        rows.append((bite.mutant.kind.value, short, ", ".join(bite.caught_by) or "survives"))
    first, second = (max(len(row[at]) for row in rows) for at in (0, 1))
    for kind, what, by in rows:
        yield f"{kind:<{first}}  {what:<{second}}  {by}"
    if found.toothless:
        yield f"toothless: {TOOTHLESS}"
    yield f"{found.caught} of {len(found.bites)} mutants caught"
