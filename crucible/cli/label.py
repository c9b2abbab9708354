"""`crucible label` and `crucible agreement`: people score what the judge scored, and the two are compared."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import note, print_json
from crucible.cli.context import Context
from crucible.cli.numbers import storable
from crucible.errors import ExitCode, UsageError, nearest

if TYPE_CHECKING:
    from crucible.store.labels import JudgedScore
    from crucible.store.writes import Store

RunOption = Annotated[
    int | None,
    typer.Option("--run", metavar="RUN", callback=storable, help="Only this run; default: all real ones."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("label", short_help="Score judged attempts blind, from 0 to 5.")(label_command)
    app.command("agreement", short_help="How far the judge and people agree, per dimension.")(agreement_command)


def label_command(
    context: typer.Context,
    run: RunOption = None,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension of the rubric.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many scores to give.")] = 10,
    labeller: Annotated[str | None, typer.Option(metavar="NAME", help="Who you are; default: your login.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of what is picked; default: drawn.")] = None,
) -> int:
    """Score judged attempts blind, from 0 to 5; every answer is saved at once."""
    from random import Random, SystemRandom

    from crucible.runner.labelling import Session, pick
    from crucible.store.labels import labels

    chosen: Context = context.obj
    name = _name(labeller)
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        scores = _scores(store, run)
        if dimension is not None:
            known = sorted({score.dimension for score in scores})
            if dimension not in known:
                raise UsageError(
                    f"no judged dimension {dimension!r}{nearest(dimension, known)}", hint=f"judged: {', '.join(known)}"
                )
            scores = [score for score in scores if score.dimension == dimension]
        random = SystemRandom() if seed is None else Random(seed)  # noqa: S311 - an order, not a secret
        picked = pick(scores, labels(store, run), name, count, random)
        session = Session(store, name, picked, typer.echo)
        session.hold(_ask)
        note(f"{session.labelled} of {len(picked)} scored by {name}; see: crucible agreement")
    return int(ExitCode.DONE)


def agreement_command(
    context: typer.Context,
    run: RunOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """How far the judge and people agree, per dimension, and what its errors do to pass rates."""
    from crucible.report.agreement import agreement
    from crucible.report.agreement_text import agreement_lines
    from crucible.store.labels import labels

    chosen: Context = context.obj
    with chosen.open_store(chosen.settings(), must_exist=True) as store:
        found = agreement(_scores(store, run), labels(store, run))
    if as_json:
        print_json([one.as_dict() for one in found])
    elif found:
        for line in agreement_lines(found):
            typer.echo(line)
    else:
        note("nobody has labelled any of these scores yet: crucible label")
    return int(ExitCode.DONE)


def _scores(store: Store, run: int | None) -> list[JudgedScore]:
    from crucible.store.labels import judged_scores
    from crucible.store.queries import run_record

    if run is not None and run_record(store, run) is None:
        raise UsageError(f"there is no run {run} in this store", hint="crucible runs")
    found = judged_scores(store, run)
    if not found:
        where = f"run {run}" if run is not None else "any real run"
        raise UsageError(
            f"no attempt of {where} was judged by a model, so there is nothing to compare people with",
            hint="crucible rejudge RUN --judge MODEL",
        )
    return found


def _name(given: str | None) -> str:
    try:
        name = (getpass.getuser() if given is None else given).strip()
    except (KeyError, OSError):  # no login name here; which of the two depends on the version of Python
        name = ""
    if not name:
        raise UsageError("a label needs the name of who gives it", hint="--labeller ann")
    return name


def _ask(prompt: str) -> str | None:
    """A line as typed or piped in; None at its end."""
    typer.echo(prompt, nl=False)
    line = sys.stdin.readline()
    return line or None
