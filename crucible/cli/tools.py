"""`crucible tools`: the tool servers an arm can have beside the built-in tools: which there are, had and tried."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import note, print_json
from crucible.cli.context import Context
from crucible.cli.stopping import ended_like_ctrl_c
from crucible.errors import CrucibleError, ExitCode, PreflightError, UsageError, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from crucible.runner.equip import Tried
    from crucible.scenario.load import LoadedScenario
    from crucible.settings import Settings

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="tools", help="Tool servers that arms name: list, install, check.")


def tools_of(given: list[str] | None) -> dict[str, str]:
    """NAME=SERVER pairs."""
    tools: dict[str, str] = {}
    for pair in given or []:
        name, equals, server = pair.partition("=")
        if not (name and equals and server):
            raise UsageError(f"--tools takes NAME=SERVER, got {pair!r}", hint="--tools asd=code-graph")
        if tools.setdefault(name, server) != server:
            raise UsageError(f"--tools puts both {tools[name]!r} and {server!r} in the place of {name!r}")
    return tools


@app.command("list", short_help="Which servers there are, their versions, who names them.")
def list_command(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> int:
    """Each preset and configured tool server: whether it is there, its version, where from, which scenarios name it."""
    from crucible.report.servers import servers_here

    found = servers_here(*_bench(context.obj))
    if as_json:
        print_json([one.as_dict() for one in found])
        return int(ExitCode.DONE)
    for one in found:
        typer.echo(f"{'ok  ' if one.there else '-   '}{one.name} ({one.said_in}): {one.detail}")
        if one.get:
            typer.echo(f"      -> {one.get}")
    return int(ExitCode.DONE)


@app.command("install", short_help="Install a server in an environment of its own.")
def install_command(
    context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME", help="code-graph.")] = "code-graph"
) -> int:
    """Install a tool server in an environment of its own, from a lock file with hashes. Does nothing when it is there."""
    from crucible.agents.mcp.install import INSTALLABLE, install

    if name not in INSTALLABLE:
        raise UsageError(
            f"{name!r} cannot be installed here{nearest(name, INSTALLABLE)}",
            hint=f"what can be: {', '.join(INSTALLABLE)}",
        )
    _, settings = _bench(context.obj)
    installed = install(settings.cache_folder(), note)
    typer.echo(f"{name} is installed in {installed.folder}")
    return int(ExitCode.DONE)


@app.command("check", short_help="Start a server in a sandbox and list its tools.")
def check_command(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A preset, or a name of crucible.toml or of a scenario.")],
    scenario: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Whose fixture it is started on; default: one that names it.")
    ] = None,
    sandbox: Annotated[str | None, typer.Option(help="auto, overlay or copy.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Start a tool server in a sandbox, on a scenario's fixture, and list the tools an arm would get of it."""
    import asyncio

    from crucible.agents.mcp.plans import plan_servers
    from crucible.runner.checks import announced_mode
    from crucible.runner.equip import try_servers

    chosen: Context = context.obj
    settings = chosen.settings(sandbox=sandbox)
    loaded = _scenario_of(chosen.bench, name, scenario)
    mode = announced_mode(settings, note)
    try:
        plans = plan_servers([name], loaded.scenario.servers, settings, {})
    except PreflightError as error:
        raise CrucibleError(error.message, hint=error.hint) from None
    with ended_like_ctrl_c():
        (tried,) = asyncio.run(try_servers(plans, loaded, chosen.bench, settings, mode, note))
    if as_json:
        print_json(tried.as_dict())
    else:
        _show(tried, loaded.scenario.name)
    return int(ExitCode.DONE)


def _show(tried: Tried, scenario: str) -> None:
    width = max(len(tool) for tool in tried.tools)
    for tool, size in tried.tools.items():
        typer.echo(f"{tool:{width}}  {size:>6,} bytes")
    typer.echo(tried.line())
    if tried.says:
        typer.echo(f"it calls itself {tried.says}")
    if told := tried.server.hello.instructions:
        typer.echo(f"and has models told:\n{textwrap.indent(told, '  ')}")
    note(f"tried on the fixture of {scenario}; what its tools do was not tried")


def _scenario_of(bench: Path, name: str, asked: str | None) -> LoadedScenario:
    """The scenario asked for, else the first that names the server, else the first there is."""
    from crucible.scenario.catalog import get_scenario, list_scenarios
    from crucible.scenario.load import LoadedScenario

    if asked is not None:
        return get_scenario(bench, asked)
    found = [one for _, one in list_scenarios(bench) if isinstance(one, LoadedScenario)]
    if not found:
        raise UsageError(
            "there is no scenario whose fixture it could be started on", hint="crucible new NAME makes one"
        )
    return next((one for one in found if any(name in arm.extra_tools for arm in one.scenario.arms)), found[0])


def _bench(chosen: Context) -> tuple[Path | None, Settings]:
    """The bench and its settings; outside of any bench, what the environment says."""
    from pathlib import Path

    from crucible.settings import load_settings

    if chosen.bench_option is None:
        try:
            _ = chosen.bench
        except UsageError:
            return None, load_settings(Path.cwd())
    return chosen.bench, chosen.settings()
