"""From the name of a tool server to how it is started: scenario, crucible.toml, presets, and what a run puts in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from crucible.agents.mcp.presets import preset
from crucible.agents.mcp.programs import FETCHERS, Found, find, unseen
from crucible.errors import PreflightError, UsageError, nearest
from crucible.redaction import guard_environment
from crucible.servers import PRESETS, Server
from crucible.settings import Settings
from crucible.world.sandbox import WORKSPACE

_ADDED = ("args", "env_from", "folders", "prepare", "leaves")
"""What a user says beside a preset that comes on top of what the preset says; `env` too."""
_LONGEST_WHAT = 120


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """How one tool server is started. `name` is what the arm calls it; `what` says which server it really is.

    Exactly one of `command` and `url`; `command` with `port` serves HTTP inside the sandbox. `env` is passed as it is;
    `env_from` are names of variables of the user's environment, read when it starts. `shown`: host folders visible
    inside. `files`: path below the home folder and text, written before it starts. `prepare`: commands run in the
    workspace first. `leaves`: globs of what it leaves there. Times in seconds.
    """

    name: str
    what: str
    command: tuple[str, ...] | None = None
    url: str | None = None
    port: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    leaves: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    text_errors: bool = False
    start_seconds: float = 60.0
    list_seconds: float = 30.0
    call_seconds: float = 60.0


def plan_servers(
    names: Iterable[str], scenario_servers: Mapping[str, Server], settings: Settings, replaced: Mapping[str, str]
) -> dict[str, ServerPlan]:
    """The plan of each server, by the name an arm has for it; nothing is started.

    `replaced`: what a run puts in a server's place, by name: a server of crucible.toml or a preset. Raises UsageError
    for a name that means nothing and PreflightError for all that is not there, saying how it is had.
    """
    meant = {name: _meant(name, scenario_servers, settings, replaced) for name in names}
    plans, absent = {}, []
    for name, server in meant.items():
        try:
            plans[name] = _plan(name, server, settings)
        except PreflightError as error:
            absent.append(error)
    if absent:
        raise _together(absent)
    return plans


def _together(absent: list[PreflightError]) -> PreflightError:
    """One error for all, each with its own way out, so that nobody mends them one run at a time."""
    if len(absent) == 1:
        return absent[0]
    return PreflightError("\n".join(f"{error.message}\n  -> {error.hint}" for error in absent))


def startup_hint(plan: ServerPlan, said: str, seen: Iterable[Path], *, network: bool) -> str | None:
    """What may be why a server does not start in a sandbox that shows the folders `seen`; `said` is what it said."""
    words = [word for command in (plan.command or (), *plan.prepare) for word in command]
    if (path := unseen(words, seen)) is not None:
        return f"the sandbox does not show {path}: name it, or its folder, under `folders` of [servers.{plan.name}]"
    first = plan.what.partition(" ")[0]
    if first in FETCHERS and not network:
        return f"{first} fetches a program, and there is no network: install the server, and name it as the command"
    if first in ("python", "python3") and "No module named" in said:
        return f"{first} means the sandbox's own, without your packages: name yours by its absolute path"
    return None


def known_servers(settings: Settings) -> dict[str, Server]:
    """What can be named without a scenario: the presets, and the servers of crucible.toml, which come first."""
    return {**{name: Server.model_validate({"preset": name}) for name in PRESETS}, **settings.servers}


def _meant(
    name: str, scenario_servers: Mapping[str, Server], settings: Settings, replaced: Mapping[str, str]
) -> Server:
    known = known_servers(settings)
    if (other := replaced.get(name)) is not None:
        if other not in known:
            raise UsageError(
                f"--tools {name}={other}: there is no tool server {other!r}{nearest(other, known)}",
                hint=f"known: {', '.join(sorted(known))}; crucible.toml defines others under [servers.NAME]",
            )
        return known[other]
    known |= scenario_servers
    if name not in known:
        raise UsageError(
            f"there is no tool server {name!r}{nearest(name, known)}",
            hint=f"define it in crucible.toml under [servers.{name}] or in the scenario under `servers`, put another "
            f"in its place (--tools {name}=code-graph), or run without: --without-extra-tools, which is marked",
        )
    return known[name]


def _plan(name: str, server: Server, settings: Settings) -> ServerPlan:
    what, server = _complete(server, settings)
    _check_environment(name, server)
    found = _find(name, server.command) if server.command is not None else Found(())
    first = [_find(name, words[0]) for words in server.prepare]
    shown = [folder for each in (found, *first) for folder in each.shown]
    return ServerPlan(
        name=name,
        what=what or _what(server),
        command=(*found.command, *server.args) if server.command is not None else None,
        url=server.url,
        port=server.port,
        env=server.env,
        env_from=server.env_from,
        shown=tuple(dict.fromkeys([*shown, *(_folder(name, folder) for folder in server.folders)])),
        prepare=tuple((*each.command, *words[1:]) for each, words in zip(first, server.prepare, strict=True)),
        leaves=server.leaves,
        allow=server.allow,
        deny=server.deny,
        text_errors=server.text_errors,
        start_seconds=server.start_seconds,
        list_seconds=server.list_seconds,
        call_seconds=server.call_seconds,
    )


def _complete(server: Server, settings: Settings) -> tuple[str, Server]:
    """A preset with what a user says beside it: lists and variables are added, allow and all else replaces.

    Also what it really is, empty when no preset says it.
    """
    if server.preset is None:
        return "", server
    known = preset(server.preset)
    base = known.server(settings.cache_folder())
    own = {name: getattr(server, name) for name in server.model_fields_set - {"preset"}}
    own |= {name: (*getattr(base, name), *own[name]) for name in _ADDED if name in own}
    own |= {"env": {**base.env, **server.env}}
    return known.what(), base.model_copy(update=own)


def _find(name: str, command: str) -> Found:
    if "/" in command and not command.startswith(("/", "~")):
        raise UsageError(
            f"tool server {name!r}: {command!r} is neither a command nor an absolute path",
            hint=f"a program of the fixture is {WORKSPACE}/{command.removeprefix('./')}",
        )
    if (found := find(command)) is None:
        raise PreflightError(
            f"tool server {name!r}: there is no command {command!r}",
            hint=f"install it or give its absolute path, put another in its place (--tools {name}=code-graph), or run "
            "without: --without-extra-tools, which is marked",
        )
    return found


def _folder(name: str, said: str) -> Path:
    folder, home = Path(said).expanduser(), Path.home()
    if not folder.is_absolute() or not folder.exists():
        raise UsageError(f"tool server {name!r}: folders: {said!r} is not the absolute path of something that is there")
    if home.is_relative_to(folder):
        raise UsageError(
            f"tool server {name!r}: folders: {said!r} would show the agent your whole home folder",
            hint="name the folder of the installation itself",
        )
    return folder


def _check_environment(name: str, server: Server) -> None:
    """What a server gets of the user's environment is there, and is never repeated from here on."""
    guard_environment(server.env_from)
    if lacking := [variable for variable in server.env_from if variable not in os.environ]:
        raise PreflightError(
            f"tool server {name!r} needs {', '.join(lacking)}, which is not set", hint=f"export {lacking[0]}=..."
        )


def _what(server: Server) -> str:
    """What is known of a server before it speaks: its command without the folders, or where it is asked."""
    if server.url is not None:
        parts = urlsplit(server.url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    words = [Path(word).name if word.startswith("/") else word for word in (server.command or "", *server.args)]
    return " ".join(words)[:_LONGEST_WHAT]
