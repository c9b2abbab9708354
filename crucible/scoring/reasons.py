"""The sentences beside a similarity: what the change has in common with the reference, misses and does besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crucible.scoring.edits import Edit, Key
from crucible.scoring.extent import Extent

MOST_EXTRAS = 8
"""So many places are named one by one; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """One definition that the reference changes.

    `weight` is the size of its change in tokens, `credit` how far the candidate is in the same place (1 the same
    definition, less in another of the same file), `shared` what the two edits have in common. Both in [0, 1].
    `is_told`: where in the file the candidate's change is can be told.
    """

    key: Key
    weight: float
    credit: float
    shared: float
    is_told: bool = True


def reasons_of(
    places: list[Place], candidate: Mapping[Key, Edit], extra: Mapping[Key, float], extent: Extent
) -> tuple[str, ...]:
    """All sentences, the most telling first."""
    if not (candidate or extent.measured or extent.left_out):
        return ("changes nothing but comments, layout or quotes, if anything",)
    return (*_about_places(places, candidate), *_about_extras(extra), *_about_extent(extent))


def _about_places(places: list[Place], candidate: Mapping[Key, Edit]) -> Iterator[str]:
    for place in sorted(places, key=lambda place: (-place.weight, place.key)):
        name = _named(place.key)
        if place.credit == 1:
            yield f"touches {name} as the reference does, {_how_alike(place.shared)}"
        elif not place.is_told:
            yield f"changes {plain(place.key[0])} where it cannot be told, {_how_alike(place.shared)}"
        elif place.key in candidate:
            yield f"{_did(candidate[place.key])} {name}, unlike the reference"
        else:
            yield f"misses {name}" + (", but changes another part of that file" if place.credit else "")


def _about_extras(extra: Mapping[Key, float]) -> Iterator[str]:
    keys = sorted((key for key in extra if extra[key]), key=lambda key: (-extra[key], key))
    for key in keys[:MOST_EXTRAS]:
        yield f"also changes {_named(key)}, which the reference leaves alone"
    if len(keys) > MOST_EXTRAS:
        yield f"also changes {len(keys) - MOST_EXTRAS} more places that the reference leaves alone"


def _about_extent(extent: Extent) -> Iterator[str]:
    if extent.left_out or extent.measured:
        yield "the change is above the size that is compared in full; beyond it, source files only are compared"
    for path, size in sorted(extent.measured.items()):
        yield f"also changes {plain(path)}, which the reference leaves alone (about {size} tokens, estimated)"
    if extent.left_out:
        more = " and more" if len(extent.left_out) > MOST_EXTRAS else ""
        yield f"left out: {', '.join(map(plain, sorted(extent.left_out)[:MOST_EXTRAS]))}{more}"


def _did(edit: Edit) -> str:
    if edit.only_moves:
        return "only moves"
    return "deletes" if edit.deletes else "keeps"


def _named(key: Key) -> str:
    return ": ".join(map(plain, key))


def plain(path: str) -> str:
    """A path as text that can be stored and shown: what is not UTF-8 in it becomes a question mark."""
    return path.encode("utf-8", "replace").decode()


def _how_alike(shared: float) -> str:
    if shared == 1:
        return "in the same words"
    return f"with {shared:.0%} of the edit in common"
