"""One settings model: crucible.toml, then the environment, then flags.

Environment variables: CRUCIBLE_STORE, CRUCIBLE_CACHE, CRUCIBLE_SANDBOX, CRUCIBLE_JUDGE, CRUCIBLE_PARALLEL.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crucible.errors import ConfigError, nearest
from crucible.redaction import guard_environment
from crucible.servers import Server

CONFIG_NAME = "crucible.toml"
_ENVIRONMENT = {
    "CRUCIBLE_STORE": "store",
    "CRUCIBLE_CACHE": "cache",
    "CRUCIBLE_SANDBOX": "sandbox",
    "CRUCIBLE_JUDGE": "judge",
    "CRUCIBLE_PARALLEL": "parallel",
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(_Section):
    """How to reach one model, and what it costs when litellm's table does not know."""

    api_base: str | None = Field(default=None, description="Base URL of the provider, for a gateway or a local server.")
    api_key_env: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the key.",
    )
    input_usd_per_million: Annotated[float, Field(ge=0)] | None = None
    cached_usd_per_million: Annotated[float, Field(ge=0)] | None = None
    output_usd_per_million: Annotated[float, Field(ge=0)] | None = None


class Settings(_Section):
    """Everything a user can set outside a scenario."""

    store: str = Field(
        default="results/crucible.db", description="SQLite file relative to the bench, or a database URL."
    )
    cache: str | None = Field(default=None, description="Folder for fixture snapshots; default ~/.cache/crucible.")
    sandbox: Literal["auto", "overlay", "copy"] = Field(
        default="auto", description="auto takes the overlay sandbox where the kernel allows it, else copy, marked."
    )
    judge: str | None = Field(default=None, description="Judge model, or `facts`.")
    judge_samples: Annotated[int, Field(ge=1, le=15)] = 1
    parallel: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="Attempts at a time.")
    python: str | None = Field(default=None, description="Virtual environment that test commands run in.")
    toolchain: tuple[str, ...] = Field(default=(), description="Extra folders visible, read-only, in the sandbox.")
    models: dict[str, ModelSettings] = Field(default_factory=dict)
    servers: dict[str, Server] = Field(default_factory=dict, description="Tool servers by the name that scenarios use.")

    def model(self, name: str) -> ModelSettings:
        """Settings of one model; the defaults when nothing is said of it."""
        return self.models.get(name, ModelSettings())

    def cache_folder(self) -> Path:
        """Where snapshots and the test environment are kept between runs."""
        if self.cache:
            return Path(self.cache).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "crucible"


def load_settings(bench: Path, **flags: Any) -> Settings:
    """Settings of a bench folder; a flag that is None says nothing. Raises ConfigError naming file and key.

    From here on the keys in the environment are never written anywhere: this is where it is known which those are.
    """
    path = bench / CONFIG_NAME
    values = _read(path) | {key: os.environ[name] for name, key in _ENVIRONMENT.items() if os.environ.get(name)}
    values |= {key: value for key, value in flags.items() if value is not None}
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(path, e) for e in error.errors())) from None
    guard_environment(said.api_key_env for said in settings.models.values() if said.api_key_env)
    guard_environment(name for server in settings.servers.values() for name in server.env_from)
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML: {error}") from None


def _explain(path: Path, error: Any) -> str:
    key = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        sections: dict[Any, Any] = {"models": ModelSettings, "servers": Server}
        known = sections.get(error["loc"][0], Settings).model_fields
        return f"{path}:{_line(path, key)}: unknown key {key!r}{nearest(str(error['loc'][-1]), known)}"
    if key.endswith("api_key_env"):
        # What stands there may be the key itself.
        return f"{path}:{_line(path, key)}: {key}: is the name of an environment variable, not a key (not shown here)"
    return f"{path}:{_line(path, key)}: {key}: {error['msg'].lower()}, got {error['input']!r}"


def _line(path: Path, key: str) -> int:
    last = key.rsplit(".", 1)[-1]
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return next((n for n, line in enumerate(lines, 1) if line.lstrip(" [\"'").startswith(last)), 1)
