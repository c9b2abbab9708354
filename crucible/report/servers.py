"""Which tool servers can be named here: whether each is there, what it is and where, and which scenarios name it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crucible.agents.mcp.plans import ServerPlan, known_servers, plan_servers
from crucible.agents.mcp.presets import preset
from crucible.agents.mcp.programs import find
from crucible.errors import UsageError
from crucible.scenario.catalog import list_scenarios
from crucible.scenario.load import LoadedScenario
from crucible.scenario.schema import Scenario
from crucible.servers import Server
from crucible.settings import Settings

PRESET, CONFIG, NOWHERE = "preset", "crucible.toml", "defined nowhere"
_VERSION_SECONDS = 5
_LONGEST_VERSION = 60


@dataclass(frozen=True, slots=True)
class Known:
    """A tool server by the name scenarios use. `said_in`: a preset, crucible.toml, a scenario, or defined nowhere.

    Of one that is there: `what` it is, its `version` where it tells, `where` it lies. Of another: what it `lacks`, and
    how it is had (`get`). `named_by`: the scenarios that name it.
    """

    name: str
    said_in: str
    named_by: tuple[str, ...]
    what: str = ""
    version: str = ""
    where: str = ""
    lacks: str = ""
    get: str = ""

    @property
    def there(self) -> bool:
        """Whether it can be started, as far as can be known without starting it."""
        return not self.lacks

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"there": self.there, **asdict(self)}

    @property
    def detail(self) -> str:
        """What there is to say of it, in a line."""
        what = ", ".join(filter(None, [self.what, self.version, self.where])) if self.there else self.lacks
        return f"{what}; named by {', '.join(self.named_by)}" if self.named_by else what


def servers_here(bench: Path | None, settings: Settings) -> list[Known]:
    """Presets and servers of crucible.toml, those that scenarios define, and those they name that nothing defines."""
    scenarios = [one.scenario for _, one in list_scenarios(bench) if isinstance(one, LoadedScenario)] if bench else []
    return list(_all(scenarios, settings))


def _all(scenarios: list[Scenario], settings: Settings) -> Iterator[Known]:
    known = known_servers(settings)
    named: dict[str, list[str]] = {name: [] for name in known}
    for scenario in scenarios:
        for name in sorted({name for arm in scenario.arms for name in arm.extra_tools} - set(scenario.servers)):
            named.setdefault(name, []).append(scenario.name)
    for name, by in named.items():
        said_in = CONFIG if name in settings.servers else PRESET if name in known else NOWHERE
        yield _look(Known(name, said_in, tuple(by)), {}, settings)
    for scenario in scenarios:
        for name in scenario.servers:
            yield _look(Known(name, scenario.name, (scenario.name,)), scenario.servers, settings)


def _look(known: Known, of_scenario: Mapping[str, Server], settings: Settings) -> Known:
    try:
        plan = plan_servers([known.name], of_scenario, settings, {})[known.name]
    except UsageError as error:
        lacks = error.message.partition(f"{known.name!r}")[2].lstrip(": ").removeprefix("is ") or error.message
        get = _get(known.name) if known.said_in == PRESET else error.hint or ""
        return Known(known.name, known.said_in, known.named_by, lacks=lacks, get=get)
    server = {**known_servers(settings), **of_scenario}[known.name]
    version, where = _of_preset(server.preset, plan) if server.preset else ("", _where(plan))
    return Known(known.name, known.said_in, known.named_by, plan.what, version, where)


def _get(name: str) -> str:
    """How a preset is had, or done without."""
    known = preset(name)
    return f"{known.get}, or run with {known.instead}" if known.instead else known.get


def _where(plan: ServerPlan) -> str:
    """Of one that is asked over the network, `what` says it already, without what its address may hide."""
    return plan.command[0] if plan.command else ""


def _of_preset(name: str, plan: ServerPlan) -> tuple[str, str]:
    """What its program says of its version, and where it lies."""
    programs = preset(name).programs
    found = find(programs[0]) if programs else None
    if found is None:
        return "", _where(plan)
    return _version(found.command), found.command[-1]


def _version(command: tuple[str, ...]) -> str:
    """The first line of `--version`; empty for a program that does not know it."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:_LONGEST_VERSION] if lines and done.returncode == 0 else ""
