"""Commands about what is stored: leaderboard, runs, show, rejudge."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated

import typer

from crucible.cli.console import console, note, print_json
from crucible.cli.context import Context
from crucible.cli.numbers import LARGEST, RunNumber
from crucible.cli.running import show_comparisons
from crucible.errors import ExitCode, UsageError, nearest

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("leaderboard", short_help="Arms ranked over all real runs, ties named.")(leaderboard_command)
    app.command("runs")(runs_command)
    app.command("show", short_help="Show one attempt, or with run:N a run.")(show_command)
    app.command("rejudge", short_help="Judge a run's stored attempts again, running none.")(rejudge_command)


def leaderboard_command(
    context: typer.Context,
    scenario: Annotated[str | None, typer.Option(metavar="NAME", help="Only this scenario.")] = None,
    overall: Annotated[
        bool, typer.Option("--overall", help="Over the scenarios that arms share, all weighing the same.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Arms ranked over all real runs, tied where the data do not separate them. Rehearsals are never in it."""
    from crucible.report.leaderboard import board_view, leaderboard_view
    from crucible.report.ranking import board, rank_within
    from crucible.store.standings import leaderboard

    chosen: Context = context.obj
    if scenario is not None and overall:
        raise UsageError("--overall is over several scenarios; leave out --scenario")
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        lines = leaderboard(store)
    if scenario is not None:
        known = dict.fromkeys(line.scenario for line in lines)
        if scenario not in known:
            raise UsageError(f"no real attempt is stored on {scenario!r}{nearest(scenario, known)}", hint=_known(known))
        lines = [line for line in lines if line.scenario == scenario]
    if as_json:
        print_json(board(lines).as_dict() if overall else [one.as_dict() for one in rank_within(lines)])
    elif not lines:
        note("no real attempt is stored yet (rehearsals are never ranked): crucible run SCENARIO")
    elif overall and not board(lines).scenarios:
        note("no attempt counts yet: there is nothing to rank")
    else:
        console().print(board_view(board(lines)) if overall else leaderboard_view(rank_within(lines)), highlight=False)
    return int(ExitCode.DONE)


def _known(names: Collection[str]) -> str:
    return f"on the leaderboard: {', '.join(names)}" if names else "rehearsals are never ranked: crucible run SCENARIO"


def runs_command(context: typer.Context, as_json: AsJson = False) -> int:
    """List the newest runs."""
    from crucible.report.runs import run_lines, run_table

    chosen: Context = context.obj
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        lines = run_lines(store)
    if as_json:
        print_json([asdict(line) for line in lines])
    else:
        console().print(run_table(lines), highlight=False)
    return int(ExitCode.DONE)


def show_command(
    context: typer.Context,
    attempt: Annotated[
        str, typer.Argument(metavar="ATTEMPT", help="Attempt number, or `run:N` for a run's comparison.")
    ],
    full: Annotated[bool, typer.Option("--full", help="Show replies and results uncut.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show one attempt: timeline, change beside the reference, tests, scores with evidence. `run:N` shows a comparison."""
    chosen: Context = context.obj
    kind, _, number = attempt.rpartition(":")
    if kind not in ("", "run") or not (number.isascii() and number.isdigit()) or int(number[:20]) > LARGEST:
        raise UsageError(f"{attempt!r} is neither an attempt number nor run:N", hint="crucible runs")
    settings = chosen.settings()
    with chosen.open_store(settings, must_exist=True) as store:
        if not kind:
            return _show_attempt(store, int(number), full, as_json)
        show_comparisons(int(number), settings, store, as_json)
    return int(ExitCode.DONE)


def _show_attempt(store: object, number: int, full: bool, as_json: bool) -> int:
    from crucible.report.attempt import attempt_dict, attempt_text
    from crucible.store.queries import attempt_record
    from crucible.store.writes import Store

    assert isinstance(store, Store)  # noqa: S101 - typed loosely so that listing commands need not load the store
    record = attempt_record(store, number)
    if record is None:
        raise UsageError(f"there is no attempt {number} in this store", hint="crucible runs")
    if as_json:
        print_json(attempt_dict(record))
    else:
        typer.echo(attempt_text(record, full=full))
    return int(ExitCode.DONE)


def rejudge_command(
    context: typer.Context,
    run: RunNumber,
    judge: Annotated[str, typer.Option(metavar="MODEL", help="Judge model, or `facts`.")],
    judge_samples: Annotated[int, typer.Option(min=1, max=15, help="Replies per dimension.")] = 1,
) -> int:
    """Judge a run's stored attempts again, without running any. Earlier scores stay, under their judge version."""
    import asyncio

    from crucible.runner.judge import JudgeChoice
    from crucible.runner.rejudge import rejudge

    chosen: Context = context.obj
    settings = chosen.settings()
    with chosen.open_store(settings, must_exist=True) as store:
        done, pending = asyncio.run(rejudge(run, JudgeChoice(judge, judge_samples), settings, store, note))
        typer.echo(f"{done} attempts of run {run} judged by {judge}; {len(pending)} pending")
        for attempt_id, why in pending.items():
            note(f"attempt {attempt_id} is not judged: {why}")
        if not pending:
            show_comparisons(run, settings, store, as_json=False)
    return int(ExitCode.INFRASTRUCTURE if pending else ExitCode.DONE)
