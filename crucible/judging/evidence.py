"""Fitting the evidence to the room there is. Nothing is cut silently: judge and reader are told what, and how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from crucible.judging.types import Evidence
from crucible.policy.signs import without_addressed
from crucible.transcript.events import cap_text

BUDGET_CHARS = 120_000
"""Default room for all evidence of one attempt, in characters."""
LEAST_BUDGET = 2_000
"""With less room than this there is nothing to judge by."""

_PARTS: tuple[tuple[str, str, str, float], ...] = (
    ("task", "task", "(no task was given)", 0.15),
    ("change", "change_diff", "(nothing was changed)", 0.30),
    ("test report", "test_report", "(there is no test report)", 0.10),
    ("reference change", "reference_diff", "(there is no reference change)", 0.15),
    ("transcript digest", "digest", "(there is no transcript)", 0.10),
)
"""Name, field, what is shown when it is empty, and the share of the room it always gets if it needs it.

The order is that of importance: room left over when every part has its share goes to the first that can use it.
"""
_UNTRUSTED = frozenset({"change_diff", "test_report", "digest"})
"""Fields an agent has a hand in; the others are the scenario's own words."""
_MARKER_ROOM = 60
"""Characters kept free for the marker that stands where something was cut out."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the evidence as shown; `total` is its length in characters before it was cut."""

    name: str
    text: str
    total: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """The evidence as a judge sees it: blinded and fitted."""

    parts: tuple[Part, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of every part, in order; a quote must stand in one of them."""
        return tuple(part.text for part in self.parts)

    @property
    def cuts(self) -> tuple[str, ...]:
        """One sentence for every part that was cut, for the reader of a score."""
        return tuple(
            f"{part.name}: {len(part.text)} characters shown, of {part.total}; the middle was left out"
            for part in self.parts
            if part.cut
        )


def fit(
    evidence: Evidence, blind: Callable[[str], str], budget_chars: int = BUDGET_CHARS, dimensions: Iterable[str] = ()
) -> Shown:
    """Take out what speaks to a judge, blind every part, then cut so that all parts together take `budget_chars` at most.

    Cutting comes last: a name or a sentence cut in half would pass the others. `dimensions` are the rubric's names,
    which an agent may try to set a score for. Raises ValueError below `LEAST_BUDGET` characters.
    """
    if budget_chars < LEAST_BUDGET:
        raise ValueError(f"the judge needs room for at least {LEAST_BUDGET} characters of evidence, got {budget_chars}")
    names = tuple(dimensions)
    texts = [blind(_said(evidence, field, names)) for _, field, _, _ in _PARTS]
    texts = [text if text.strip() else empty for text, (_, _, empty, _) in zip(texts, _PARTS, strict=True)]
    rooms = _rooms([len(text) for text in texts], budget_chars)
    return Shown(tuple(_part(name, text, room) for (name, *_), text, room in zip(_PARTS, texts, rooms, strict=True)))


def _said(evidence: Evidence, field: str, dimensions: tuple[str, ...]) -> str:
    text: str = getattr(evidence, field)
    return without_addressed(text, dimensions) if field in _UNTRUSTED else text


def _rooms(needs: list[int], budget: int) -> list[int]:
    """Characters for each part: what it needs up to its share, then the rest in order of importance."""
    rooms = [min(need, int(share * budget)) for need, (*_, share) in zip(needs, _PARTS, strict=True)]
    left = budget - sum(rooms)
    for number, need in enumerate(needs):
        more = min(left, need - rooms[number])
        rooms[number] += more
        left -= more
    return rooms


def _part(name: str, text: str, room: int) -> Part:
    if len(text) <= room:
        return Part(name, text, len(text))
    return Part(name, cap_text(text, room - _MARKER_ROOM), len(text), cut=True)
