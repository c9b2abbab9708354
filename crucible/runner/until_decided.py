"""In which order a run may make its attempts: all that are planned, or block by block with a look after each.

A run until decided is one sequential design per scenario. Its next block is handed out only when both attempts of every
earlier one count and the look after it said to go on; what a look says follows from the store alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from crucible.stats.looks import Look, at_look
from crucible.stats.sequential import FIRST_LOOK, calibrated
from crucible.store.looks import add_looks, complete_pairs, run_looks
from crucible.store.queries import RunRecord, run_record
from crucible.store.tables import LookRow, PlannedRow
from crucible.store.writes import Store, now

Say = Callable[[str], None]
WORDS = {"A better": "decided", "B better": "decided", "futile": "futile", "go on": "continue", "undecided": "continue"}


class Pace(Protocol):
    """Hands out planned attempts, a batch at a time."""

    def next(self) -> list[PlannedRow]:
        """What may be made now, in order; empty when this call of `crucible run` has nothing more to do."""
        ...

    def finished(self) -> bool:
        """Whether the run needs no further attempt."""
        ...


class AllAtOnce:
    """A run of fixed size: everything without an attempt that counts, once."""

    def __init__(self, store: Store, run_id: int) -> None:
        self.store, self.run_id = store, run_id
        self._given = False

    def next(self) -> list[PlannedRow]:
        """All open slots the first time, then nothing."""
        if self._given:
            return []
        self._given = True
        return _record(self.store, self.run_id).open_slots()

    def finished(self) -> bool:
        """Whether every planned attempt counts."""
        return not _record(self.store, self.run_id).open_slots()


class UntilDecided:
    """A run that may stop early: per scenario one block, a look, and the next block only if the look says so."""

    def __init__(self, store: Store, run_id: int, say: Say) -> None:
        self.store, self.run_id, self.say = store, run_id, say
        self._tried: set[tuple[str, int]] = set()

    def next(self) -> list[PlannedRow]:
        """The open slots of every scenario's next block. A block that was tried in vain waits for the run to be resumed."""
        record = _record(self.store, self.run_id)
        blocks = {digest: self._next_block(record, digest) for digest in record.scenarios}
        fresh = {(d, b) for d, b in blocks.items() if b is not None} - self._tried
        self._tried |= fresh
        return [slot for slot in record.open_slots() if (slot.scenario_hash, slot.block) in fresh]

    def finished(self) -> bool:
        """Whether every scenario's design has ended."""
        record = _record(self.store, self.run_id)
        return all(self._next_block(record, digest) is None for digest in record.scenarios)

    def _next_block(self, record: RunRecord, digest: str) -> int | None:
        """The block to make after all looks due so far, which are stored; None when the design has ended."""
        pairs = complete_pairs(record, digest)
        most = max(p.block for p in record.plan if p.scenario_hash == digest)
        looks = looks_at(pairs, most)
        self._store(record, digest, pairs, looks)
        ended = len(pairs) == most or (bool(looks) and looks[-1].decision != "go on")
        return None if ended else len(pairs) + 1

    def _store(self, record: RunRecord, digest: str, pairs: list[tuple[bool, bool]], looks: list[Look]) -> None:
        known = {row.pairs for row in run_looks(self.store, self.run_id).get(digest, [])}
        fresh = [look for look in looks if look.look not in known]
        add_looks(self.store, [_row(self.run_id, digest, pairs, look) for look in fresh])
        for look in fresh:
            self.say(_said(record.scenarios[digest].name, pairs, look))


def looks_at(pairs: list[tuple[bool, bool]], most: int) -> list[Look]:
    """Every look due after these pairs (treatment passed, baseline passed) of at most `most`, up to the one that stops."""
    design, looks = calibrated(most), []
    for look in range(FIRST_LOOK, len(pairs) + 1):
        looks.append(at_look(design, look, *_passes(pairs, look)))
        if looks[-1].decision != "go on":
            break
    return looks


def _passes(pairs: list[tuple[bool, bool]], look: int) -> tuple[int, int]:
    return sum(treatment for treatment, _ in pairs[:look]), sum(baseline for _, baseline in pairs[:look])


def _row(run_id: int, digest: str, pairs: list[tuple[bool, bool]], look: Look) -> LookRow:
    treatment, baseline = _passes(pairs, look.look)
    return LookRow(
        run_id=run_id,
        scenario_hash=digest,
        pairs=look.look,
        passed_treatment=treatment,
        passed_baseline=baseline,
        z=look.z,
        boundary=look.critical,
        decision=WORDS[look.decision],
        at=now(),
    )


def _said(name: str, pairs: list[tuple[bool, bool]], look: Look) -> str:
    treatment, baseline = _passes(pairs, look.look)
    ending = {
        "futile": "stopped, going on would almost never decide",
        "go on": "goes on",
        "undecided": "the end, undecided",
    }.get(look.decision, "stopped, decided")
    return f"{name}: look after {look.look} pairs, {treatment} against {baseline} green, {of_needed(look)}: {ending}"


def of_needed(look: Look) -> str:
    """How far the statistic got, with as many digits as it takes to see on which side of the boundary it is."""
    z = abs(look.z)
    digits = next((d for d in (2, 3, 4) if f"{z:.{d}f}" != f"{look.critical:.{d}f}"), 6)
    return f"|z| {z:.{digits}f} of {look.critical:.{digits}f} needed"


def _record(store: Store, run_id: int) -> RunRecord:
    record = run_record(store, run_id)
    if record is None:
        raise LookupError(f"run {run_id} is not in the store")
    return record
