"""What this machine has and lacks: each finding with the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crucible.errors import CrucibleError
from crucible.llm.keys import missing_key
from crucible.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `ok` None means that it is missing but nothing needs it yet."""

    what: str
    ok: bool | None
    detail: str
    remedy: str = ""

    def lines(self) -> list[str]:
        """For a terminal."""
        mark = {True: "ok  ", False: "FAIL", None: "-   "}[self.ok]
        return [f"{mark}  {self.what}: {self.detail}", *([f"        -> {self.remedy}"] if self.remedy else [])]


Tricks = Callable[[], list[tuple[str, str | None]]]
"""Tries some tricks on the sandbox: the name of each, and how it got away with it, None when it did not."""


def examine(bench: Path | None, settings: Settings, tricks: Tricks | None = None) -> Iterator[Finding]:
    """Look at everything a run needs. With a bench, also the models its scenarios name; with tricks, prove the sandbox."""
    yield Finding("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield _git()
    yield _sandbox(tricks)
    yield _store(bench, settings)
    if bench is not None:
        yield from _models(bench, settings)
    yield from _servers(bench, settings)
    yield _node()
    yield from _agents()


def _git() -> Finding:
    found = shutil.which("git")
    if found is None:
        return Finding("git", False, "not on PATH", "install git with your system's package manager")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    return Finding("git", True, said)


def _sandbox(tricks: Tricks | None) -> Finding:
    from crucible.world.probe import probe

    found = probe()
    if found.ok:
        return _proved(tricks) if tricks else Finding("sandbox", True, "overlay works: attempts are isolated")
    return Finding(
        "sandbox",
        False,
        f"{found.why}; runs fall back to plain copies, marked unsandboxed: an agent's commands then run as you, here",
        found.remedy or "",
    )


def _proved(tricks: Tricks) -> Finding:
    """The sandbox works as far as it holds against tricks that are played on it."""
    try:
        tried = tricks()
    except CrucibleError as error:
        return Finding(
            "sandbox", False, f"overlay works, but nothing can be run in it: {error.message}", error.hint or ""
        )
    escaped = [f"{name}: {how}" for name, how in tried if how is not None]
    stopped = f"overlay works; {len(tried) - len(escaped)} of {len(tried)} tricks stopped"
    if not escaped:
        return Finding("sandbox", True, stopped)
    return Finding("sandbox", False, f"{stopped}; {'; '.join(escaped)}", "crucible selftest")


def _store(bench: Path | None, settings: Settings) -> Finding:
    if bench is None:
        return Finding("bench", None, "no crucible.toml here or above", "crucible init DIR")
    where = settings.store if "://" in settings.store else str(bench / settings.store)
    if "://" not in where and not Path(where).exists():
        return Finding("store", True, f"{where} will be made by the first run")
    from crucible.store.writes import Store

    try:
        with Store(where) as store:
            return Finding("store", True, store.where)
    except CrucibleError as error:
        return Finding("store", False, error.message, error.hint or "")


def _models(bench: Path, settings: Settings) -> Iterator[Finding]:
    from crucible.scenario.catalog import list_scenarios
    from crucible.scenario.load import LoadedScenario

    scenarios = [one.scenario for _, one in list_scenarios(bench) if isinstance(one, LoadedScenario)]
    models = {arm.model for scenario in scenarios for arm in scenario.arms}
    models |= {s.judge.model for s in scenarios if s.judge} | ({settings.judge} if settings.judge else set())
    for model in sorted(models - {"facts"}):
        yield _model(model, settings)


def _model(model: str, settings: Settings) -> Finding:
    said = settings.model(model)
    key = said.api_key_env if said.api_key_env and not os.environ.get(said.api_key_env) else None
    if key is None and not said.api_key_env and not said.api_base:
        key = missing_key(model)
    if key is None:
        return Finding(f"model {model}", True, "its key is set" if not said.api_base else f"asked at {said.api_base}")
    return Finding(f"model {model}", None, f"{key} is not set", f"export {key}=...   (or rehearse: no key is needed)")


def _servers(bench: Path | None, settings: Settings) -> Iterator[Finding]:
    """Tool servers. One that is not there is no failure: a comparison can do without, and says so before it starts."""
    from crucible.report.servers import PRESET, servers_here

    for one in servers_here(bench, settings):
        source = "" if one.said_in == PRESET else f" ({one.said_in})"
        yield Finding(f"tool server {one.name}{source}", True if one.there else None, one.detail, one.get)


def _node() -> Finding:
    """What most agent CLIs are written for."""
    found = shutil.which("node")
    if found is None:
        return Finding("node", None, "not on PATH; agent CLIs such as Claude Code need it", "https://nodejs.org")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    return Finding("node", True, f"{said}, for agent CLIs that need it")


def _agents() -> Iterator[Finding]:
    """Agent CLIs that an arm can be. One that is not here is no failure."""
    from crucible.agents.external.presets import look

    for one in look():
        detail = f"{one.version or 'version unknown'}, {one.where}" if one.where else "not here"
        yield Finding(f"agent {one.name}", True if one.where else None, detail, "" if one.where else one.get)
