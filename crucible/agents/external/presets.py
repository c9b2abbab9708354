"""The agent CLIs Crucible knows: how each is found, what it speaks and prints, and what it can be given."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from crucible.agents.external import builders
from crucible.agents.external.launch import Api, Connections, Launch, Source, Values
from crucible.agents.external.locate import locate

VERSION: Final = re.compile(r"\d+\.\d+[\w.+-]*")
"""A version in what an agent prints when it is asked for it."""
_VERSION_SECONDS = 30
Build = Callable[[tuple[str, ...], Values, Connections], Launch]


@dataclass(frozen=True, slots=True)
class Preset:
    """One agent CLI.

    `get`: the command that installs it. `format`: the reader of its transcript, None when it prints none; `source`: where
    that is, `wire` meaning that it is put together from its requests. `build` makes its launch of the program's command,
    the values and the tool servers. `acp`: arguments, with places, that make it speak the Agent Client Protocol, None when it
    cannot.
    `package`: the Python package whose version it is, for one that does not print its own. `leaves`: globs of what it
    leaves in the workspace for itself.
    """

    name: str
    program: str
    get: str
    api: Api
    format: str | None
    source: Source
    build: Build
    system_prompt: bool
    extra_tools: bool
    acp: tuple[str, ...] | None = None
    package: str | None = None
    leaves: tuple[str, ...] = ()

    def version(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """The command that prints its version."""
        python = Path(command[0]).parent / "python"
        if self.package is None or not python.exists():
            return (*command, "--version")
        return (str(python), "-c", f"from importlib.metadata import version; print(version({self.package!r}))")


_ALL: Final = (
    Preset(
        name="claude-code",
        program="claude",
        get="npm install -g @anthropic-ai/claude-code",
        api="anthropic",
        format="claude-stream",
        source="stdout",
        build=builders.claude,
        system_prompt=True,
        extra_tools=True,
    ),
    Preset(
        name="codex",
        program="codex",
        get="npm install -g @openai/codex",
        api="openai-responses",
        format="codex",
        source="stdout",
        build=builders.codex,
        system_prompt=True,
        extra_tools=True,
    ),
    Preset(
        name="gemini-cli",
        program="gemini",
        get="npm install -g @google/gemini-cli",
        api="gemini",
        format="gemini-stream",
        source="stdout",
        build=builders.gemini,
        system_prompt=False,
        extra_tools=True,
        acp=("--acp", "--model", "{model}"),
    ),
    Preset(
        name="opencode",
        program="opencode",
        get="npm install -g opencode-ai",
        api="openai",
        format="openai-chat",
        source="wire",
        build=builders.opencode,
        system_prompt=False,
        extra_tools=True,
        acp=("acp",),
    ),
    Preset(
        name="mini-swe-agent",
        program="mini",
        get="uv tool install mini-swe-agent",
        api="openai",
        format="mini-swe-agent",
        source="file",
        build=builders.mini,
        system_prompt=False,
        extra_tools=False,
        package="mini-swe-agent",
    ),
    Preset(
        name="aider",
        program="aider",
        get="uv tool install aider-chat",
        api="openai",
        format=None,
        source="wire",
        build=builders.aider,
        system_prompt=False,
        extra_tools=False,
        leaves=(".aider*",),
    ),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({one.name: one for one in _ALL})
"""Every preset by its name."""


@dataclass(frozen=True, slots=True)
class Here:
    """Whether an agent CLI is on this machine: where, its version as it says itself, and how it is had."""

    name: str
    where: str | None
    version: str | None
    get: str

    def line(self) -> str:
        """For people."""
        if self.where is None:
            return f"{self.name}: not here; {self.get}"
        return f"{self.name}: {self.version or 'version unknown'}, {self.where}"


def look() -> list[Here]:
    """Every preset, found or not. Asks each that is there for its version, which may take seconds."""
    return [_look(one) for one in _ALL]


def found() -> list[str]:
    """One line for each agent CLI."""
    return [here.line() for here in look()]


def _look(preset: Preset) -> Here:
    program = locate(preset.program)
    if program is None:
        return Here(preset.name, None, None, preset.get)
    try:
        said = subprocess.run(
            preset.version(program.command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    number = VERSION.search(said)
    return Here(preset.name, program.command[-1], number[0] if number else None, preset.get)
