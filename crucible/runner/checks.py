"""Everything that is checked before the first model call, and `crucible validate`, which is those checks alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crucible.errors import CrucibleError, PreflightError
from crucible.runner.prepare import prepare, resolve_mode
from crucible.runner.run import Subject
from crucible.runner.validate import TIMES, validated
from crucible.scenario.catalog import get_scenario, list_scenarios
from crucible.scenario.load import LoadedScenario
from crucible.settings import Settings
from crucible.store.writes import Store
from crucible.world.types import SandboxMode

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """What `crucible validate` found out about one scenario file."""

    name: str
    problems: tuple[str, ...] = ()
    tests: int = 0
    failing_before: tuple[str, ...] = ()
    seconds: float = 0.0
    repeats: int = TIMES
    quarantined: tuple[str, ...] = ()
    controlled: int = 0

    @property
    def ok(self) -> bool:
        """Whether the scenario can be run."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.name,
            "ok": self.ok,
            "problems": list(self.problems),
            "tests": self.tests,
            "failing_before": list(self.failing_before),
            "suite_seconds": round(self.seconds, 3),
            "repeats": self.repeats,
            "quarantined": list(self.quarantined),
            "controlled": self.controlled,
        }


async def validate_all(
    bench: Path, names: Sequence[str], settings: Settings, store: Store, say: Say, repeats: int = TIMES
) -> list[Check]:
    """Check the named scenarios, or all of the bench, freshly; every problem of every one is reported."""
    mode = announced_mode(settings, say)
    found = [_load(bench, name) for name in names] if names else [(p.stem, one) for p, one in list_scenarios(bench)]
    checks = []
    with TemporaryDirectory(prefix="crucible-") as scratch:
        for name, loaded in found:
            say(f"checking {name} ...")
            checks.append(await _check(name, loaded, bench, settings, store, mode, Path(scratch), repeats))
    return checks


def _load(bench: Path, name: str) -> tuple[str, LoadedScenario | CrucibleError]:
    try:
        return name, get_scenario(bench, name)
    except CrucibleError as error:
        return name, error


async def _check(
    name: str,
    loaded: LoadedScenario | CrucibleError,
    bench: Path,
    settings: Settings,
    store: Store,
    mode: SandboxMode,
    scratch: Path,
    repeats: int,
) -> Check:
    if isinstance(loaded, CrucibleError):
        return Check(name, tuple(loaded.lines()))
    try:
        prepared = prepare(loaded, bench, settings)
        found = await validated(store, prepared, settings, mode, scratch, fresh=True, repeats=repeats)
    except CrucibleError as error:
        return Check(name, tuple(error.lines()))
    return Check(
        name=name,
        problems=tuple(found.problems),
        tests=len(found.expected),
        failing_before=tuple(sorted(found.failing_before)),
        seconds=found.seconds,
        repeats=found.repeats,
        quarantined=tuple(sorted(found.quarantined)),
        controlled=len(found.controlled),
    )


async def check_subject(
    loaded: LoadedScenario, bench: Path, settings: Settings, store: Store, mode: SandboxMode, scratch: Path
) -> Subject:
    """A scenario that may be run: prepared, and red then green here. Raises PreflightError with what is wrong."""
    prepared = prepare(loaded, bench, settings)
    found = await validated(store, prepared, settings, mode, scratch)
    if not found.ok:
        raise PreflightError(
            "\n".join(f"{prepared.scenario.name}: {problem}" for problem in found.problems),
            hint=f"mend the scenario until `crucible validate {prepared.scenario.name}` is green",
        )
    return Subject(prepared, found)


def announced_mode(settings: Settings, say: Say) -> SandboxMode:
    """The sandbox mode; a fall-back to the copy is said aloud."""
    mode, why = resolve_mode(settings)
    if why is not None:
        say(f"unsandboxed: the overlay sandbox does not work here ({why}). Results are marked; see `crucible doctor`.")
    return mode


def refuse_unenforceable(loaded: LoadedScenario, mode: SandboxMode) -> None:
    """A control a scenario declares is enforced or refused. Raises PreflightError."""
    if mode == "copy" and "network" in loaded.scenario.model_fields_set and not loaded.scenario.network:
        line = loaded.lines.get("network", 1)
        raise PreflightError(
            f"{loaded.path}:{line}: `network: false` cannot be enforced without the sandbox",
            hint="run where `crucible doctor` finds the sandbox working, or take the line out to accept unmarked networking",
        )
