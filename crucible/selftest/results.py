"""What a self-test found out, trick by trick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crucible.selftest.catalog import FAMILIES, Family, Honest, Trick
from crucible.selftest.stopped import Stop
from crucible.world.types import SandboxMode


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one trick. `escaped` says how it got away with it, `not_run` why it was not tried."""

    trick: Trick
    stops: tuple[Stop, ...] = ()
    escaped: str | None = None
    not_run: str | None = None

    @property
    def said(self) -> str:
        """In words."""
        if self.not_run is not None:
            return f"not run: {self.not_run}"
        return f"ESCAPED: {self.escaped}" if self.escaped else "; ".join(stop.text for stop in self.stops)


@dataclass(frozen=True, slots=True)
class HonestResult:
    """What became of one honest agent. `punished` says what was held against it."""

    case: Honest
    left_out: tuple[str, ...]
    punished: str | None

    @property
    def said(self) -> str:
        """In words."""
        if self.punished is not None:
            return f"PUNISHED: {self.punished}"
        return "graded green" + (f"; left out of grading: {', '.join(self.left_out)}" if self.left_out else "")


@dataclass(frozen=True, slots=True)
class Tried:
    """Everything one self-test found out."""

    mode: SandboxMode
    results: tuple[Result, ...]
    honest: tuple[HonestResult, ...]

    @property
    def escapes(self) -> int:
        """How many tricks worked."""
        return sum(result.escaped is not None for result in self.results)

    @property
    def ok(self) -> bool:
        """Whether no trick worked and no honest agent was punished."""
        return not self.escapes and all(one.punished is None for one in self.honest)

    def families(self) -> Iterator[tuple[Family, list[Result]]]:
        """The families that were tried, with their results."""
        for family in FAMILIES:
            if mine := [result for result in self.results if result.trick.family == family]:
                yield family, mine

    @property
    def summary(self) -> str:
        """The last line."""
        ran = sum(result.not_run is None for result in self.results)
        left = len(self.results) - ran
        escapes = f"{self.escapes} escape{'' if self.escapes == 1 else 's'}"
        return f"{ran} trick{'' if ran == 1 else 's'}, {escapes}" + (f" ({left} not run)" if left else "")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sandbox": self.mode,
            "tricks": [
                {
                    "family": one.trick.family,
                    "id": one.trick.id,
                    "what": one.trick.what,
                    "stopped_by": [stop.text for stop in one.stops],
                    "escaped": one.escaped,
                    "not_run": one.not_run,
                }
                for one in self.results
            ],
            "honest": [
                {"id": one.case.id, "what": one.case.what, "left_out": list(one.left_out), "punished": one.punished}
                for one in self.honest
            ],
            "escapes": self.escapes,
        }
