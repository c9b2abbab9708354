"""Tool servers Crucible knows how to start: what they are, how they are had, and how each is written as a Server.

ASD and CTX are programs a user installs. code-graph is an existing server that `crucible tools install` puts into an
environment of its own, so that an arm with such a server can be tried on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crucible.agents.mcp.install import PACKAGE, installed, locked_version
from crucible.agents.mcp.programs import Found, find
from crucible.errors import PreflightError
from crucible.servers import PRESETS, Server

ASD_DATABASE = "$HOME/asd-state.db"
"""Not in the workspace. Where the home folder is, is known inside only: both commands run in a shell."""
ASD_TOOLS = (
    "code_search",
    "code_read",
    "callers",
    "callees",
    "references",
    "investigate",
    "context_for",
    "impact",
)
CTX_TOOLS = (
    "remember",
    "recall",
    "prime",
    "context",
    "summarize_session",
    "what_changed_since",
    "why_did_we",
    "project_status",
    "forget",
)
"""Its memory. Its code tools need ASD's server beside it."""
CODE_GRAPH_TOOLS = (
    "symbol_info",
    "search_symbol",
    "outline",
    "callers",
    "implementations",
    "hover",
    "definition",
    "references",
    "diagnostics",
)
"""The ones that only read. Those that edit are left out: an arm has tools for that, which policies know."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A server that is known by name. `get` says how it is had, `programs` are commands it needs on the user's PATH.

    `instead`: what can take its place, as `--tools` takes it; empty for none.
    """

    name: str
    what: Callable[[], str]
    programs: tuple[str, ...]
    get: str
    instead: str
    server: Callable[[Path], Server]
    """From the cache folder; raises PreflightError when it is not there."""


def absent(name: str, why: str) -> PreflightError:
    """A preset that is not installed, and what can be done. Nothing is ever put in its place unasked."""
    known = _KNOWN[name]
    other = f"put another in its place ({known.instead}), or " if known.instead else ""
    return PreflightError(
        f"tool server {name!r} is not installed: {why}",
        hint=f"{known.get}; or {other}run without: --without-extra-tools, which is marked",
    )


def presets() -> tuple[Preset, ...]:
    """All of them, in order."""
    return tuple(_KNOWN[name] for name in PRESETS)


def preset(name: str) -> Preset:
    """One of them; KeyError when there is none of that name."""
    return _KNOWN[name]


def _program(name: str, command: str) -> Found:
    if (found := find(command)) is None:
        raise absent(name, f"there is no {command} on PATH")
    return found


def _asd(_cache: Path) -> Server:
    index, serve = _program("asd", "asd"), _program("asd", "asd-mcp")
    return Server(
        command="sh",
        args=_in_shell(f'export ASD_DB="{ASD_DATABASE}"; exec "$@"', serve),
        env={"ASD_FORMAT": "brief", "ASD_NO_AUTO_REGISTER": "1"},
        folders=tuple(map(str, (*index.shown, *serve.shown))),
        prepare=(("sh", *_in_shell(f'export ASD_NO_AUTO_REGISTER=1; exec "$@" --db "{ASD_DATABASE}" index .', index)),),
        leaves=(".asd*",),
        allow=ASD_TOOLS,
        text_errors=True,
    )


def _in_shell(script: str, found: Found) -> tuple[str, ...]:
    return ("-c", script, "sh", *found.command)


def _ctx(_cache: Path) -> Server:
    hub = _program("ctx", "ctxone-hub")
    return Server(
        command=hub.command[0],
        # Writes are refused without a namespace. In memory nothing outlives the attempt, so one name serves them all.
        args=(*hub.command[1:], "--storage", "memory", "--namespace", "attempt", "--agent-id", "agent"),
        folders=tuple(map(str, hub.shown)),
        leaves=(".ctx*",),
        allow=CTX_TOOLS,
    )


def _code_graph(cache: Path) -> Server:
    there = installed(cache)
    if there is None:
        raise absent("code-graph", "its environment is not in the cache")
    # Isolated: a module of the workspace must not be taken for one of the server's.
    return Server(
        command=str(there.python),
        args=("-I", str(there.script)),
        env={"CODENAV_MCP_READ_ONLY": "1"},
        allow=CODE_GRAPH_TOOLS,
    )


_KNOWN = {
    known.name: known
    for known in (
        Preset(
            "asd",
            lambda: "AgentStateDeveloper (asd-mcp)",
            ("asd", "asd-mcp"),
            "install it (brew install agentstatelabs/agentstatedeveloper/asd)",
            "--tools asd=code-graph",
            _asd,
        ),
        Preset(
            "ctx",
            lambda: "CTXone (ctxone-hub)",
            ("ctxone-hub",),
            "install it (brew install agentstatelabs/ctxone/ctxone)",
            "--tools ctx=NAME, a server of crucible.toml",
            _ctx,
        ),
        Preset(
            "code-graph",
            lambda: f"code-graph ({PACKAGE} {locked_version()})",
            (),
            "install it (crucible tools install code-graph)",
            "",
            _code_graph,
        ),
    )
}
