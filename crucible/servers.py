"""What a tool server is, as crucible.toml and scenario files say it: an MCP server that an arm gets beside our tools."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, StrictBool, StrictInt, StrictStr, model_validator

PRESETS = ("asd", "ctx", "code-graph")
"""Tool servers Crucible knows how to start."""
SEPARATOR = "__"
"""Between a server's name and its tool's: `asd__callers`."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

_Text = Annotated[StrictStr, Field(pattern=r"\S")]
_Variable = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Seconds = Annotated[float, Strict(), Field(gt=0, le=3600, allow_inf_nan=False)]


def safe_name(name: str) -> str:
    """The name of a server or a tool in letters that every agent and provider takes."""
    return _UNSAFE.sub("_", name)


def starts_by_agents(server: str) -> tuple[str, ...]:
    """How agent CLIs begin the name of a tool of this server: `mcp__asd__find`, `asd.find`, `mcp_asd_find`, `asd_find`."""
    safe = safe_name(server)
    return (
        f"mcp{SEPARATOR}{safe}{SEPARATOR}",
        f"{server}.",
        f"{safe}.",
        f"{safe}{SEPARATOR}",
        f"mcp_{safe}_",
        f"{safe}_",
    )


class Server(BaseModel):
    """One MCP server. Exactly one of `preset`, `command` and `url` says which; `command` with `port` serves HTTP inside.

    A server with a command runs inside the attempt's sandbox, with the workspace at /workspace and the sandbox's network
    (none, unless the scenario has one). One with only a `url` runs elsewhere and is asked over the network from outside.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    preset: Literal["asd", "ctx", "code-graph"] | None = Field(
        default=None, description="A server Crucible knows how to start."
    )
    command: _Text | None = Field(default=None, description="Program that speaks MCP on its standard input and output.")
    args: tuple[StrictStr, ...] = Field(default=(), description="Its arguments.")
    url: _Text | None = Field(default=None, description="Address of a server that speaks streamable HTTP.")
    port: Annotated[StrictInt, Field(ge=1, le=65535)] | None = Field(
        default=None,
        description="With `command`: it serves streamable HTTP on this port, at `/mcp`, inside the sandbox.",
    )
    env: dict[_Variable, StrictStr] = Field(
        default_factory=dict, description="Environment variables; stored as they are."
    )
    env_from: tuple[_Variable, ...] = Field(
        default=(),
        description="Names of variables of your environment that it gets too. Their values are never stored.",
    )
    folders: tuple[_Text, ...] = Field(
        default=(), description="Host folders it needs (its installation), visible read-only at their own path."
    )
    prepare: tuple[Annotated[tuple[StrictStr, ...], Field(min_length=1)], ...] = Field(
        default=(), description="Commands run in the workspace before it starts, such as building an index."
    )
    leaves: tuple[_Text, ...] = Field(
        default=(), description="Globs of what it leaves in the workspace; never part of the change."
    )
    allow: tuple[_Text, ...] = Field(default=(), description="Only these of its tools are offered; none named: all.")
    deny: tuple[_Text, ...] = Field(default=(), description="These of its tools are not offered.")
    text_errors: StrictBool = Field(
        default=False, description="A text result that is a JSON object with only `error` in it counts as an error."
    )
    start_seconds: _Seconds = Field(default=60.0, description="Longest it may take to start and shake hands.")
    list_seconds: _Seconds = Field(default=30.0, description="Longest it may take to list its tools.")
    call_seconds: _Seconds = Field(default=60.0, description="Longest one call may take.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        said = [name for name in ("preset", "command", "url") if getattr(self, name) is not None]
        if len(said) != 1:
            raise ValueError(f"say one of preset, command and url, not {' and '.join(said) or 'none of them'}")
        if self.port is not None and self.command is None:
            raise ValueError("port goes with command")
        return self
