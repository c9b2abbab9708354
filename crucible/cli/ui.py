"""`crucible ui`: the pages over the store, for this machine only."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from crucible.cli.console import note
from crucible.cli.context import Context
from crucible.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crucible.store.writes import Store

SECONDS_TO_STOP = 1
"""How long a stream of a run may keep the server from ending."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ui", short_help="All that is stored, in a browser.")(ui_command)


def ui_command(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8321,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    read_only: Annotated[bool, typer.Option("--read-only/--writable", help="Whether pages may store labels.")] = True,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> int:
    """Show runs, comparisons, attempts and the leaderboard in a browser. Works offline, and reads only unless told."""
    chosen: Context = context.obj
    with chosen.open_store(chosen.settings(), must_exist=True) as store, _listening(host, port) as listener:
        _serve(chosen, store, listener, host, read_only=read_only, open_browser=open_browser)
    return int(ExitCode.DONE)


def _listening(host: str, port: int) -> socket.socket:
    """The socket, before anything heavy is loaded. Raises UsageError that says what to do."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = f"take another one: crucible ui --port {port + 1 if port < 65535 else 0}"
            raise UsageError(f"port {port} of {host} is in use", hint=hint) from error
        what = error.strerror or str(error)
        raise UsageError(
            f"cannot listen on {host}, port {port}: {what}", hint="--host 127.0.0.1 is this machine"
        ) from (error)
    return listener


def _serve(
    chosen: Context, store: Store, listener: socket.socket, host: str, *, read_only: bool, open_browser: bool
) -> None:
    from threading import Thread

    import uvicorn

    from crucible.llm.price import known_price
    from crucible.web.app import make_app

    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    app = make_app(store, chosen.bench, chosen.settings(), read_only=read_only, hosts=(host,))
    note(f"{address}  ({store.where}{', read-only' if read_only else ''}; Ctrl+C ends it)")
    # The price table takes seconds to load; whoever opens the first comparison should not wait for it.
    Thread(target=known_price, args=("",), daemon=True).start()
    if open_browser:
        typer.launch(address)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_STOP, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])
