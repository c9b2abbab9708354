"""Crucible: is agent set-up B better than A at this job, and how sure are we?

Public names are imported on first use, so that `import crucible` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Cause": "crucible.errors",
    "CrucibleError": "crucible.errors",
    "ExitCode": "crucible.errors",
    "LoopAgent": "crucible.agents.loop",
    "LoopbackServer": "crucible.llm.loopback",
    "Scenario": "crucible.scenario.schema",
    "ScriptedModel": "crucible.agents.scripted",
    "load_scenario": "crucible.scenario.load",
    "parse_patch": "crucible.scenario.patch",
    "similarity": "crucible.scoring.similarity",
}

__all__ = ["__version__", *_WHERE]  # noqa: PLE0604 - names from one table


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
