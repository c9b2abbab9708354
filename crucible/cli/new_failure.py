"""`crucible new-failure`: from a report to the smallest scenario that should fail, written by a model and checked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli import failing
from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.runner.failures.author import Draft
    from crucible.scenario.copied import Copied, Source


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new-failure", short_help="Freeze a reported failure as a scenario file.")(new_failure_command)


def new_failure_command(
    context: typer.Context,
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="What was reported, as text.")],
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Who writes the scenario; without one, the prompt is printed.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the file; default: the model's.")] = None,
    transcript: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Nothing may be copied from it; it is sent nowhere. Repeatable."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="SCENARIO", help="Write nothing: check this one, that an agent wrote.")
    ] = None,
    agent: failing.Agent = None,
    format_: failing.Format = None,
    no_repro: Annotated[bool, typer.Option("--no-repro", help="Do not run it now; it proves nothing until then.")] = (
        False
    ),
    print_prompt: Annotated[bool, typer.Option("--print-prompt", help="Print the prompt, for any agent.")] = False,
) -> int:
    """Write the smallest scenario file from a report, see that only ids are copied, and run `repro` on it.

    One new file under scenarios/, and nothing else. Exit 0 seen failing, 4 not seen failing, 2 refused.
    """
    from crucible.runner.failures.author import prompt_of, read_report, read_transcript_text

    text = read_report(report)
    if print_prompt or (model is None and check is None):
        typer.echo(prompt_of(text, by_hand=True), nl=False)
        return int(ExitCode.DONE)
    _check_options(model, name, check, agent, no_repro=no_repro)
    sources = [text, *map(read_transcript_text, transcript or ())]
    chosen: Context = context.obj
    path = _checked(chosen, check, sources) if check else _written(chosen, model or "", name, sources)
    if no_repro:
        note(f"not run: it proves nothing until `crucible repro {path.stem} --agent COMMAND` has seen it fail")
        return int(ExitCode.DONE)
    return _repro(context, path, agent, format_)


def _check_options(
    model: str | None, name: str | None, check: Path | None, agent: str | None, *, no_repro: bool
) -> None:
    """All of it before anything is spent."""
    from crucible.runner.failures.author import check_name
    from crucible.runner.failures.command_agent import read_template

    if check is not None and (model or name):
        raise UsageError("--check is for a file that is there; --model and --name are for a new one")
    if (agent is None) != no_repro:
        raise UsageError(
            "say who is to be seen failing: the agent's command (--agent), or --no-repro",
            hint="--agent 'claude -p {query} --output-format stream-json --verbose --max-turns {max_turns}'",
        )
    if agent is not None:
        read_template(agent)
    if name is not None:
        check_name(name)


def _checked(chosen: Context, check: Path, sources: list[Source]) -> Path:
    from crucible.runner.failures.author import copies_in
    from crucible.runner.failures.frozen import load_frozen
    from crucible.scenario.catalog import find_failure

    bench = failing.bench_of(chosen)
    path = find_failure(bench, str(check))
    _refuse_copies(copies_in(load_frozen(path, bench), sources), "the file is not fit to be committed")
    note(f"{chosen.shown(path)}: nothing but ids was found copied from {_named(sources)}")
    return path


def _written(chosen: Context, model: str, name: str | None, sources: list[Source]) -> Path:
    from crucible.runner.failures.author import draft, free_path, write_new
    from crucible.runner.failures.choose import check_model
    from crucible.runner.models import make_model
    from crucible.scenario.failure import load_failure

    bench, settings = failing.bench_of(chosen), failing.settings_of(chosen)
    if name is not None:
        free_path(bench, name, exactly=True)
    check_model(model, settings)
    made = failing.run_to_end(lambda: draft(make_model(model, settings), sources[0], sources, name))
    note(f"{model}: asked {made.asked} of at most 2 times, {_cost(made)}")
    _refuse_copies(made.copies, "nothing was written, and the reply is not kept")
    if made.wrong:
        raise UsageError("\n".join(["no usable scenario came back:", *made.wrong]), hint=_kept(chosen, bench, made))
    path = free_path(bench, made.name, exactly=name is not None)
    write_new(path, made.text)
    note(f"nothing but ids was found copied from {_named(sources)}; what was found is words, not sense: read the file")
    typer.echo(f"wrote {chosen.shown(path)}")
    if (count := load_failure(path, bench).report) is not None:
        note(f"  report: {count}, as the model read it; everything follows from it, so compare")
    return path


def _refuse_copies(copies: tuple[Copied, ...] | list[Copied], what: str) -> None:
    if copies:
        raise UsageError("\n".join(map(str, copies)), hint=f"{what}: ids may be copied, nothing else")


def _named(sources: list[Source]) -> str:
    return ", ".join(source.name for source in sources)


def _cost(made: Draft) -> str:
    return "price unknown" if made.cost_usd is None else f"{made.cost_usd:.4f} USD"


def _kept(chosen: Context, bench: Path, made: Draft) -> str:
    """Keep the reply as it came; say where."""
    from crucible.redaction import redact

    folder = bench / "results" / "failures"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"new-failure-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.reply.txt"
    path.write_text(redact(made.raw), encoding="utf-8", errors="replace")
    return f"the reply is kept in {chosen.shown(path)}; nothing was written under scenarios/"


def _repro(context: typer.Context, path: Path, agent: str | None, format_: str | None) -> int:
    from crucible.cli.repro import repro_command

    code = repro_command(context, str(path), agent=agent, format_=format_)
    if code == ExitCode.NOT_SEEN_FAILING:
        note("mend the scenario, not the code: it has to fail on what is there today")
    return code
