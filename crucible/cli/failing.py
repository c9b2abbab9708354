"""What the commands of frozen failures share: the options that say who is run, watching the runs, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from crucible.cli.console import note, print_json
from crucible.cli.context import Context
from crucible.cli.stopping import ended_like_ctrl_c
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.runner.failures.choose import Asked
    from crucible.runner.failures.frozen import Frozen
    from crucible.runner.failures.made import Made
    from crucible.settings import Settings

Found = TypeVar("Found")


class Shown(Protocol):
    """What a command found."""

    @property
    def exit_code(self) -> ExitCode:
        """What the process ends with."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""


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


def frozen_of(bench: Path, file: str, asked: Asked) -> Frozen:
    """The frozen failure of that name, under the limits of one run that were asked for."""
    from crucible.runner.failures.choose import within
    from crucible.runner.failures.frozen import load_frozen
    from crucible.scenario.catalog import find_failure

    return within(load_frozen(find_failure(bench, file), bench), asked)


def show(found: Shown, lines: Iterable[str], *, as_json: bool) -> int:
    """Print what was found, as JSON or as lines; its exit code."""
    if as_json:
        print_json(found.as_dict())
    else:
        for line in lines:
            typer.echo(line)
    return int(found.exit_code)


def tell(made: Made) -> None:
    """One run, as it ends."""
    note(f"  run {made.number:>3}: {made.colour.value:<7} {made.line}")


def run_to_end(work: Callable[[], Coroutine[Any, Any, Found]], kept: str | None = None) -> Found:
    """Do the work in an event loop of its own, and give back the connections that models keep open.

    Ctrl-C, and whatever else asks the process to end, ends what was started and exits with 130; `kept` says where the
    runs are that had ended.
    """
    import asyncio

    async def all_of_it() -> Found:
        try:
            return await work()
        finally:
            if "crucible.llm.client" in sys.modules:
                from crucible.runner.models import close_models

                await close_models()

    try:
        with ended_like_ctrl_c():
            return asyncio.run(all_of_it())
    except KeyboardInterrupt:
        note(f"stopped; the runs that had ended are in {kept}" if kept else "stopped")
        raise typer.Exit(int(ExitCode.INTERRUPTED)) from None
