"""What `repro` and `confirm` share: the options that say who is run, and watching the runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.errors import UsageError

if TYPE_CHECKING:
    from crucible.runner.failures.made import Made
    from crucible.settings import Settings

Found = TypeVar("Found")

File = Annotated[str, typer.Argument(metavar="FILE", help="A frozen failure: its name, or its file.")]
Agent = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Command of a headless agent, with {query}, {context}, {max_turns}, {max_cost_usd}; run without a shell.",
    ),
]
Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="What the command prints; default: found out.")
]
ModelName = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="A model in the built-in loop, with the stub tools.")
]
Prompt = Annotated[
    Path | None, typer.Option("--system-prompt", metavar="FILE", help="With --model: its system prompt.")
]
Without = Annotated[
    list[str] | None, typer.Option(metavar="TOOL", help="With --model: a stub tool to take away. Repeatable.")
]
Parallel = Annotated[int, typer.Option(min=1, max=256, help="Runs at a time.")]
Timeout = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="A run that takes longer does not count. Default 300.")
]
Turns = Annotated[
    int | None, typer.Option("--max-turns", min=1, max=1000, help="Turns of one run; default: the file's, or 20.")
]
RunCost = Annotated[
    float | None, typer.Option("--run-cost", min=0.0001, metavar="USD", help="The most one run may spend.")
]
TotalCost = Annotated[
    float | None, typer.Option("--max-cost", min=0.0, metavar="USD", help="The most all runs may spend.")
]
TotalSeconds = Annotated[
    float | None, typer.Option("--max-seconds", min=0.0, metavar="SECONDS", help="The most all runs may take.")
]
Invalid = Annotated[
    int, typer.Option("--max-invalid", min=0, metavar="RUNS", help="Runs that do not count before giving up.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def bench_of(context: Context) -> Path:
    """The bench; the working folder where there is none: a frozen failure needs nothing of a bench but a place."""
    try:
        return context.bench
    except UsageError:
        if context.bench_option is not None:
            raise
        return Path.cwd()


def settings_of(context: Context) -> Settings:
    """Settings of the bench, or of the working folder."""
    from crucible.settings import load_settings

    return load_settings(bench_of(context))


def tell(made: Made) -> None:
    """One run, as it ends."""
    note(f"  run {made.number:>3}: {made.colour.value:<7} {made.line}")


def run_to_end(work: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
    """Do the work in an event loop of its own, and give back the connections that models keep open."""

    async def all_of_it() -> Found:
        from crucible.runner.models import close_models

        try:
            return await work()
        finally:
            await close_models()

    return asyncio.run(all_of_it())
