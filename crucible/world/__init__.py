"""The workspace of an attempt: reset, sandbox, tools, and the change that came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from crucible.world.types import SandboxMode, World, WorldSpec

__all__ = ["make_world"]


def make_world(spec: WorldSpec, mode: SandboxMode, scratch: Path) -> World:
    """A world that is not open yet. `scratch` is a folder for what it writes, kept empty between worlds.

    Raises SandboxError when the overlay does not work here, FixtureError when a protected path cannot be protected.
    """
    from crucible.errors import SandboxError
    from crucible.world.copied import CopyWorld
    from crucible.world.overlay import OverlayWorld
    from crucible.world.probe import probe

    if mode == "copy":
        return CopyWorld(spec, scratch)
    found = probe(scratch)
    if found.upper is None or found.bwrap is None:
        raise SandboxError(f"the overlay sandbox does not work here: {found.why}", hint=found.remedy)
    return OverlayWorld(spec, found.upper, found.bwrap)
