"""A scenario made ready to run: fixture frozen, reference read, protected paths known, all named by one hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from crucible.errors import FixtureError, UsageError
from crucible.policy.protection import Protection
from crucible.scenario.load import LoadedScenario
from crucible.scenario.reference import Reference, load_reference
from crucible.scenario.schema import Scenario
from crucible.scoring.canary import beside
from crucible.scoring.grading import Suite
from crucible.scoring.node_canary import SUFFIXES, is_node_test
from crucible.scoring.scaffolding import Filtered, filter_change, grades
from crucible.settings import Settings
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Change, ChangeStatus, FileChange, FileKind, FileState, SandboxMode, Snapshot, WorldSpec

LINK_MODE = 0o120000
MOST_GUARDED = 500
"""Files bound read-only one by one in a grading copy."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything attempts of one scenario share.

    `mounts` are the paths nothing inside can write, `guarded` the same as single files; `hash` names scenario text,
    fixture and reference together.
    """

    loaded: LoadedScenario
    snapshot: Snapshot
    reference: Reference
    protection: Protection
    mounts: tuple[str, ...]
    guarded: tuple[str, ...]
    hash: str

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.loaded.scenario

    def world_spec(self, settings: Settings) -> WorldSpec:
        """How to make this scenario's world."""
        return WorldSpec(
            snapshot=self.snapshot,
            protected=self.mounts,
            network=self.scenario.network,
            toolchain=tuple(Path(p).expanduser() for p in settings.toolchain),
            python=Path(settings.python).expanduser() if settings.python else None,
        )

    def grading_spec(self, settings: Settings, suite: Suite) -> WorldSpec:
        """How to make the copy that is graded. A canary needs a folder that takes a new file, so files are guarded singly."""
        spec = self.world_spec(settings)
        return replace(spec, protected=self.guarded) if suite.beside else spec

    def suite(self, seconds: float = 120.0, beside: str | None = None, **tests: frozenset[str]) -> Suite:
        """How this scenario's result is tested. `tests`: those expected, quarantined, controlled; see Suite."""
        return Suite(self.scenario.test_command, self.scenario.test_report, seconds=seconds, beside=beside, **tests)

    def place_for_canary(self, tests: frozenset[str]) -> str | None:
        """A test file that a canary can be planted beside; None for other runners and where too much is guarded."""
        if self.suite().is_node and self.suite().report is not None:
            scripts = (path for path in self.snapshot.files if path.endswith(SUFFIXES))
            return next((path for path in scripts if is_node_test(self.before(path))), None)
        if not self.suite().is_pytest or len(self.guarded) > MOST_GUARDED:
            return None
        return beside(self.snapshot.files, tests)

    def before(self, path: str) -> bytes | None:
        """A fixture file's bytes; None when the fixture has no such file."""
        return read_fixture(self.snapshot, path)


def prepare(loaded: LoadedScenario, bench: Path, settings: Settings) -> Prepared:
    """Freeze the fixture and read the reference. Raises FixtureError, PatchError or UsageError."""
    scenario = loaded.scenario
    fixture = bench / scenario.fixture_path
    if not fixture.is_dir():
        raise UsageError(f"{loaded.path}: fixture_path {scenario.fixture_path!r} is not a folder")
    snapshot = take_snapshot(fixture, settings.cache_folder(), scenario.fixture_ref)
    reference = load_reference(bench / scenario.reference_fix, lambda path: read_fixture(snapshot, path))
    parts = (loaded.text, snapshot.digest, reference.text)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    protection = Protection.of(scenario)
    mounts = protection.mounts(snapshot.files)
    return Prepared(loaded, snapshot, reference, protection, mounts, _guarded(snapshot, reference, protection), digest)


def _guarded(snapshot: Snapshot, reference: Reference, protection: Protection) -> tuple[str, ...]:
    """Files that code under test must not rewrite while it is graded: what policies protect, and the suite's own code."""
    guarded = [path for path in snapshot.files if protection.by(path)]
    ours = [
        path
        for path in snapshot.files
        if path not in reference.after and grades(path) and not (snapshot.root / path).is_symlink()
    ]
    together = tuple(sorted({*guarded, *ours}))
    return together if len(together) <= MOST_GUARDED else tuple(guarded)


def read_fixture(snapshot: Snapshot, path: str) -> bytes | None:
    """A fixture file's bytes; None when there is no such plain file."""
    if path not in snapshot.files:
        return None
    file = snapshot.root / path
    if file.is_symlink():
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise FixtureError(f"{file}: cannot be read: {error.strerror}") from error


def reference_change(prepared: Prepared) -> Change:
    """The reference fix as a change, for grading and for comparing."""
    reference = prepared.reference
    files = []
    for path in sorted(reference.after):
        mode = reference.modes.get(path, 0o100644)
        before, after = _state(prepared.before(path)), _state(reference.after[path], mode)
        status: ChangeStatus = "add" if before is None else "delete" if after is None else "modify"
        files.append(FileChange(path, status, before, after))
    return Change(tuple(files))


def graded_part(prepared: Prepared, change: Change) -> Filtered:
    """The part of an attempt's change that is graded, and why the rest is not."""
    return filter_change(
        change,
        prepared.protection.by,
        prepared.reference.after.keys(),
        command=prepared.scenario.test_command,
        files=prepared.snapshot.files,
    )


def _state(data: bytes | None, mode: int = 0o100644) -> FileState | None:
    if data is None:
        return None
    kind: FileKind = "symlink" if mode == LINK_MODE else "file"
    return FileState(kind, mode, len(data), hashlib.sha256(data).hexdigest(), data)


def resolve_mode(settings: Settings) -> tuple[SandboxMode, str | None]:
    """The sandbox to use and, when `auto` had to take the copy, why."""
    from crucible.world.probe import probe

    if settings.sandbox == "copy":
        return "copy", None
    found = probe()
    if found.ok:
        return "overlay", None
    if settings.sandbox == "overlay":
        raise UsageError(f"the overlay sandbox does not work here: {found.why}", hint=found.remedy)
    return "copy", found.why
