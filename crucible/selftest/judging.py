"""Who judges the tricks: measurements, and for those played on a judge the worst judge there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crucible.judging.versions import FACTS
from crucible.llm.gullible import gullible_judge
from crucible.llm.loopback import LoopbackServer
from crucible.runner.judge import JudgeChoice
from crucible.selftest.catalog import Family
from crucible.settings import ModelSettings, Settings

_GULLIBLE = "openai/gullible"


@dataclass(frozen=True, slots=True)
class Judges:
    """How to judge the attempts of each family."""

    settings: Settings

    def of(self, family: Family) -> tuple[JudgeChoice, Settings]:
        """The judge of a family, and the settings it is reached with."""
        return JudgeChoice(_GULLIBLE if family == "judge" else FACTS), self.settings


@contextmanager
def judges(settings: Settings) -> Iterator[Judges]:
    """Judges at hand as long as the context lasts: the gullible one is a server on this machine."""
    with LoopbackServer(gullible_judge) as server:
        reached = {**settings.models, _GULLIBLE: ModelSettings(api_base=server.base_url)}
        yield Judges(settings.model_copy(update={"models": reached}))
