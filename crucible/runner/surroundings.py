"""What an attempt's world is made of, as far as it could set two arms apart: the runner's part of an opening."""

from __future__ import annotations

from typing import Any

from crucible.world.sandbox import environment
from crucible.world.types import SandboxMode, WorldSpec


def surroundings(spec: WorldSpec, mode: SandboxMode) -> dict[str, Any]:
    """The parts of an opening that the runner knows: `environment` and `files` (see transcript.opening)."""
    return {
        "environment": {
            "sandbox": mode,
            "network": spec.network,
            "protected": sorted(spec.protected),
            "shown": sorted(map(str, spec.shown)),
            "toolchain": list(map(str, spec.toolchain)),
            "python": None if spec.python is None else str(spec.python),
            "variables": sorted(environment(())),
        },
        "files": spec.snapshot.digest,
    }
