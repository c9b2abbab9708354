"""Whether a frozen failure would notice a run that went wrong: mutants of a green run, each held against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

from crucible.errors import ExitCode, UsageError
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.made import Colour, hold, one_line
from crucible.runner.failures.subject import Played
from crucible.scoring.trajectory.dimensions import score_run
from crucible.scoring.trajectory.expectation import Caps, Expectation
from crucible.scoring.trajectory.mutants import Mutant, mutants, passing_run
from crucible.scoring.trajectory.results import State, overall, verdict_line
from crucible.transcript.neutral import NeutralRun

LIMITS: Final = frozenset(one.name for one in fields(Caps))
TOOTHLESS: Final = "no wrong tool, forbidden call, wrong argument or lost fact would be noticed"


@dataclass(frozen=True, slots=True)
class Bite:
    """One mutant, and the dimensions that failed for it; `invalid run` where it could only not be judged."""

    mutant: Mutant
    caught_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Teeth:
    """All mutants of one green run. `verdict` is that of the run before anything was changed."""

    scenario: str
    verdict: str
    bites: tuple[Bite, ...]

    @property
    def caught(self) -> int:
        """Mutants that are not green."""
        return sum(bool(bite.caught_by) for bite in self.bites)

    @property
    def toothless(self) -> bool:
        """Whether no harmful mutant is caught."""
        return not any(bite.caught_by for bite in self.bites if bite.mutant.harmful)

    @property
    def exit_code(self) -> ExitCode:
        """1 when toothless."""
        return ExitCode.GATE_FAILED if self.toothless else ExitCode.DONE

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "caught": self.caught,
            "of": len(self.bites),
            "toothless": self.toothless,
            "exit_code": int(self.exit_code),
            "mutants": [
                {
                    "mutant": bite.mutant.kind.value,
                    "what": one_line(bite.mutant.what),
                    "harmful": bite.mutant.harmful,
                    "caught_by": list(bite.caught_by),
                    "survives": not bite.caught_by,
                }
                for bite in self.bites
            ],
        }


def try_teeth(frozen: Frozen, played: Played) -> Teeth:
    """Mutate a run. Raises UsageError with its verdict for one that is not green: what would be caught in it already is.

    Limits of which the run says nothing are left aside: a kept transcript does not know how long it took.
    """
    if played.refused is not None:
        raise played.refused
    made = hold(1, frozen, played, LIMITS)
    if made.colour is not Colour.GREEN:
        raise UsageError(f"the run is {made.colour.value}: {made.line}", hint="only a green run can be made worse")
    return Teeth(frozen.failure.slug, made.line, _bites(frozen.expected_of(played.run, LIMITS), played.run))


def teeth_warnings(frozen: Frozen) -> Iterator[str]:
    """What is wrong with a scenario that needs no run to be seen, as a run made up from its assertions shows it."""
    name, run = frozen.failure.slug, passing_run(frozen.expectation)
    results = score_run(frozen.expectation, run)
    if overall(results) is not State.PASS:
        why = one_line(verdict_line(results))
        yield f"  {name}: not tried for teeth; a run made up from its assertions is not green: {why}"
    elif not any(_caught_by(frozen.expectation, one.run) for one in mutants(run, frozen.expectation) if one.harmful):
        yield f"  warning: {name} is toothless: {TOOTHLESS}; see `crucible mutate`"


def _bites(expectation: Expectation, run: NeutralRun) -> tuple[Bite, ...]:
    return tuple(Bite(mutant, _caught_by(expectation, mutant.run)) for mutant in mutants(run, expectation))


def _caught_by(expectation: Expectation, run: NeutralRun) -> tuple[str, ...]:
    results = score_run(expectation, run)
    state = overall(results) if run.valid else State.UNKNOWN
    if state is State.FAIL:
        return tuple(name.value for name, result in results.items() if result.state is State.FAIL)
    return () if state is State.PASS else ("invalid run",)
