"""How much a change is the reference fix, in two parts: the same place (structural) and the same text (textual).

    structural = recall x precision
        recall     share of the reference's change, in tokens, that lies in definitions the candidate changed too
        precision  (R + 60) / (R + 60 + E); R: the reference's size, E: the candidate's in places it leaves alone
    textual    = mean over the reference's definitions, weighted by size, of what the two edits have in common
    combined   = structural x (1 + cube root of textual) / 2

docs/scoring.md explains the choices with a worked example. All sizes are in tokens deleted and inserted, so comments,
layout and quote style count for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crucible.scoring.distance import edit_distance, edits_in_common
from crucible.scoring.edits import Edit, Key, edits
from crucible.scoring.extent import Extent, Files, extent_of
from crucible.scoring.languages import language_of
from crucible.scoring.reasons import Place, plain, reasons_of
from crucible.scoring.structure import IMPORTS, NOTHING, Region, Shape, shape_of

COMPANION_WEIGHT = 0.25
"""Weight of what follows from a fix: imports beside other changes of their file, a changelog beside the source."""
FILE_CREDIT = 0.5
"""Credit for a change in the right file but another definition."""
ALLOWANCE = 60
"""Tokens that precision forgives by half: a fix of four tokens is not undone by a log line beside it."""
SAME_LINES = 0.2
"""Least textual share of an edit of the same lines: the same fix in other words may share no token."""
UNREADABLE = "the change takes more computing to read as code than it may; compared as text, every file as a whole"


@dataclass(frozen=True, slots=True)
class Similarity:
    """Three numbers in [0, 1], and in plain sentences what they come from."""

    structural: float
    textual: float
    combined: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both sides' edits by definition, the estimated sizes of files that were not read, and remarks on files."""

    candidate: Mapping[Key, Edit]
    reference: Mapping[Key, Edit]
    extent: Extent
    blurred: frozenset[str]
    remarks: tuple[str, ...]


def similarity(before: Mapping[str, bytes], candidate: Files, reference: Files, *, as_text: bool = False) -> Similarity:
    """Compare a candidate's change with the reference's.

    `before` holds the fixture's bytes of every path either touches (absent: no such file); `candidate` and
    `reference` hold, for the paths each touches, the bytes after (None: deleted). Deterministic; never raises.
    `as_text` parses nothing, for a candidate that no parser gets through.
    """
    sides = _sides(before, candidate, reference, as_text=as_text)
    places = [_place(key, sides) for key in sides.reference]
    total = sum(place.weight for place in places)
    if not total:
        return _without_reference(before, candidate, reference)
    extra = {key: _extra_weight(key, sides.candidate) for key in sides.candidate if key not in sides.reference}
    recall = sum(place.weight * place.credit for place in places) / total
    precision = (total + ALLOWANCE) / (total + ALLOWANCE + sum(extra.values()) + sum(sides.extent.measured.values()))
    structural = recall * precision
    textual = sum(place.weight * place.shared for place in places) / total
    combined = structural * (1 + textual ** (1 / 3)) / 2
    reasons = reasons_of(places, sides.candidate, extra, sides.extent)
    return Similarity(structural, textual, combined, (*reasons, *sides.remarks))


def size_ratio(
    candidate: Files, reference: Files, before: Mapping[str, bytes], *, as_text: bool = False
) -> float | None:
    """Size of the candidate's change divided by the reference's, in tokens; None when the reference's is 0.

    Moving code counts in full here, at both ends. Files beyond the cap count with an estimate. `as_text` as above.
    """
    extent = extent_of(before, candidate, reference)
    sizes = [0, 0]
    for path in extent.read:
        old, *after = (shape.regions for shape in _shapes(path, before, candidate, reference, as_text=as_text))
        for side, new in enumerate(after):
            sizes[side] += sum(edit_distance(_tokens(old, name), _tokens(new, name)) for name in {*old, *new})
    beyond = sum(extent.measured.values()) + sum(extent.left_out.values())
    return (sizes[0] + beyond) / sizes[1] if sizes[1] else None


def _tokens(regions: Mapping[str, Region], name: str) -> list[str]:
    return regions[name].tokens if name in regions else []


def _sides(before: Mapping[str, bytes], candidate: Files, reference: Files, *, as_text: bool) -> _Sides:
    extent = extent_of(before, candidate, reference)
    merged: tuple[dict[Key, Region], ...] = ({}, {}, {})
    blurred: set[str] = set()
    remarks: dict[str, None] = {UNREADABLE: None} if as_text else {}
    for path in extent.read:
        shapes = _shapes(path, before, candidate, reference, as_text=as_text)
        for into, shape in zip(merged, shapes, strict=True):
            into.update({(path, name): region for name, region in shape.regions.items()})
            if shape.why is not None:
                remarks[f"{plain(path)} {shape.why}; compared as a whole"] = None
        if path in candidate and (as_text or _blurs(*shapes)):
            blurred.add(path)
    old, new, wanted = merged
    return _Sides(edits(old, new, wanted), edits(old, wanted, new), extent, frozenset(blurred), tuple(remarks))


def _shapes(
    path: str, before: Mapping[str, bytes], candidate: Files, reference: Files, *, as_text: bool
) -> list[Shape]:
    """The file before, by the candidate and by the reference; all as one region when one of them has to be."""
    old = before.get(path)
    versions = [old, candidate.get(path, old), reference.get(path, old)]
    shapes = {data: shape_of(path, data, whole=as_text) for data in set(versions) if data is not None}
    if any(shape.whole for shape in shapes.values()):
        shapes = {data: shape if shape.whole else shape_of(path, data, whole=True) for data, shape in shapes.items()}
    return [NOTHING if data is None else shapes[data] for data in versions]


def _blurs(old: Shape, new: Shape, wanted: Shape) -> bool:
    """True when it is the candidate alone that made a file impossible to read by definitions."""
    return new.why is not None and old.why is None and wanted.why is None


def _weight(key: Key, side: Mapping[Key, Edit]) -> float:
    """Size of an edit; imports beside other changes of their file weigh less."""
    follows = key[1] == IMPORTS and any(path == key[0] and name != IMPORTS for path, name in side)
    return side[key].size * (COMPANION_WEIGHT if follows else 1.0)


def _extra_weight(key: Key, side: Mapping[Key, Edit]) -> float:
    """Size of an edit that the reference does not make; in a file that is no source it weighs less."""
    return _weight(key, side) * (COMPANION_WEIGHT if language_of(key[0]) is None else 1.0)


def _place(key: Key, sides: _Sides) -> Place:
    """One definition that the reference changes, and how far the candidate is with it."""
    wanted, made = sides.reference[key], sides.candidate.get(key)
    weight = _weight(key, sides.reference)
    if made is None or made.deletes != wanted.deletes or (made.only_moves and wanted.moved_to is None):
        return Place(key, weight, credit=FILE_CREDIT if _is_near(key, sides.candidate) else 0.0, shared=0.0)
    shared = edits_in_common(wanted.before, made.after, wanted.after)
    if key[0] in sides.blurred and made.after != wanted.after:
        return Place(key, weight, credit=FILE_CREDIT, shared=shared, is_told=False)
    same_lines = not wanted.before or bool(wanted.lines & made.lines)
    return Place(key, weight, credit=1.0, shared=max(shared, SAME_LINES if same_lines else 0.0))


def _is_near(key: Key, side: Mapping[Key, Edit]) -> bool:
    """True when a side edits the file of a definition; imports, mere moves and deletions apart."""
    others = (edit for (path, name), edit in side.items() if path == key[0] and name != IMPORTS)
    return key[1] != IMPORTS and any(not (edit.only_moves or edit.deletes) for edit in others)


def _without_reference(before: Mapping[str, bytes], candidate: Files, reference: Files) -> Similarity:
    """A reference without a changed token (a mode, an empty file, comments): only the very same bytes are like it."""
    paths = {*candidate, *reference}
    same = all(candidate.get(path, before.get(path)) == reference.get(path, before.get(path)) for path in paths)
    value = 1.0 if same and candidate else 0.0
    reason = "the reference changes no token, so only the very same files are like it"
    return Similarity(value, value, value, (reason,))
