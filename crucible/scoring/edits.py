"""What one side did, definition by definition: edited, added, deleted, moved.

A definition that went and came back elsewhere nearly unchanged has moved (a renamed function, class or file). A new
one that an edited definition of the same file uses is part of that edit: a helper is a way to write a fix, not
another place. So is a new local function, and everything inside a new class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crucible.scoring.distance import edit_distance, likeness, touched_lines
from crucible.scoring.structure import IMPORTS, Region

Key = tuple[str, str]
"""A definition: path and qualified name."""
Regions = Mapping[Key, Region]

MOVED_LIKENESS = 0.6
MOVED_LEAST_TOKENS = 8
_MOST_PAIRS = 10_000


@dataclass(slots=True)
class Edit:
    """What happened to one definition: its tokens before and after, and the lines of it that were touched."""

    before: Sequence[str]
    after: Sequence[str]
    lines: frozenset[int] = frozenset()
    moved_to: Key | None = None

    @property
    def deletes(self) -> bool:
        """True when nothing is left."""
        return not self.after

    @property
    def only_moves(self) -> bool:
        """True when the definition stands elsewhere and is otherwise as it was."""
        return self.moved_to is not None and self.size == 1

    @property
    def size(self) -> int:
        """Tokens deleted and inserted."""
        return edit_distance(self.before, self.after)


def edits(before: Regions, after: Regions, other: Regions) -> dict[Key, Edit]:
    """The edits that make `after` of `before`. `other` is what the other side made of it."""
    moved = _moves(before, after)
    new = {key for key in after if key not in before} - set(moved.values())
    made = {key: _edit(before[key], after.get(moved.get(key, key)), moved.get(key)) for key in before}
    found = {key: edit for key, edit in made.items() if edit.before != edit.after}
    home = _homes(before, after, found, new, other)
    for key in sorted(new):
        root = _root(key, home)
        if root not in found:
            found[root] = Edit([], []) if root in new else Edit(before[root].tokens, after[root].tokens)
        found[root].after = [*found[root].after, *after[key].tokens]
    return found


def _edit(before: Region, after: Region | None, moved_to: Key | None) -> Edit:
    if after is None:
        return Edit(before.tokens, [])
    if before.tokens == after.tokens and moved_to is None:
        return Edit(before.tokens, before.tokens)
    lines = touched_lines(before.tokens, before.lines, after.tokens)
    where = [] if moved_to is None else ["moved to " + ": ".join(moved_to)]
    return Edit(before.tokens, [*after.tokens, *where], lines, moved_to)


def _moves(before: Regions, after: Regions) -> dict[Key, Key]:
    """Old key to new key of definitions that are gone and came back elsewhere, the likest first."""
    gone = [key for key in before if key not in after and len(before[key].tokens) >= MOVED_LEAST_TOKENS]
    new = [key for key in after if key not in before and len(after[key].tokens) >= MOVED_LEAST_TOKENS]
    pairs = _like_pairs if len(gone) * len(new) <= _MOST_PAIRS else _equal_pairs
    moved: dict[Key, Key] = {}
    taken: set[Key] = set()
    for _, old, key in sorted(pairs(before, gone, after, new)):
        if old not in moved and key not in taken:
            moved[old] = key
            taken.add(key)
    return moved


def _like_pairs(before: Regions, gone: list[Key], after: Regions, new: list[Key]) -> Iterator[tuple[float, Key, Key]]:
    """Pairs that are like enough, with their unlikeness."""
    for old in gone:
        for key in new:
            a, b = before[old].tokens, after[key].tokens
            if min(len(a), len(b)) >= 0.4 * max(len(a), len(b)) and (like := likeness(a, b)) >= MOVED_LIKENESS:
                yield 1 - like, old, key


def _equal_pairs(before: Regions, gone: list[Key], after: Regions, new: list[Key]) -> Iterator[tuple[float, Key, Key]]:
    """Pairs that are the same, for changes with too many definitions to compare each with each."""
    by_tokens: dict[tuple[str, ...], list[Key]] = {}
    for key in sorted(new, reverse=True):
        by_tokens.setdefault(tuple(after[key].tokens), []).append(key)
    for old in sorted(gone):
        if same := by_tokens.get(tuple(before[old].tokens)):
            yield 0.0, old, same.pop()


def _homes(
    before: Regions, after: Regions, found: Mapping[Key, Edit], new: Collection[Key], other: Regions
) -> dict[Key, Key]:
    """For each new definition that is part of another edit, the definition it goes with."""
    users = _users(after, found, new)
    home: dict[Key, Key] = {}
    for key in sorted(new):
        candidates = [user for user in users.get((key[0], _own_name(key)), ()) if user != key]
        container = _container(key, before, after, new)
        if container is not None:
            home[key] = container
        elif candidates and key not in other:
            home[key] = min(candidates, key=lambda user: (user in new, _same(user, before, other), user))
    return home


def _users(after: Regions, found: Mapping[Key, Edit], new: Collection[Key]) -> dict[tuple[str, str], list[Key]]:
    """By path and name of a new definition, the edited or new definitions of that file that bring the name in."""
    users: dict[tuple[str, str], list[Key]] = {(key[0], _own_name(key)): [] for key in new}
    if not new:
        return users
    edited = [key for key, edit in found.items() if key[1] != IMPORTS and not edit.deletes]
    for key in (*edited, *new):
        added = set(after[key].tokens) if key in new else Counter(found[key].after) - Counter(found[key].before)
        for token in added:
            if (key[0], token) in users:
                users[key[0], token].append(key)
    return users


def _container(key: Key, before: Regions, after: Regions, new: Collection[Key]) -> Key | None:
    """The new class or function, or the old function, that a new definition stands in."""
    path, name = key
    parts = name.split(".")
    around = [(path, ".".join(parts[:depth])) for depth in range(1, len(parts))]
    outermost = next((one for one in around if one in new), None)
    innermost = next((one for one in reversed(around) if one in before and one in after), None)
    if outermost is None and innermost is not None and before[innermost].kind == "function":
        return innermost
    return outermost


def _root(key: Key, home: Mapping[Key, Key]) -> Key:
    """Where a definition ends up when homes have homes; two that use one another stop at the second."""
    seen = {key}
    while key in home and home[key] not in seen:
        key = home[key]
        seen.add(key)
    return key


def _own_name(key: Key) -> str:
    return key[1].rpartition(".")[2]


def _same(key: Key, before: Regions, other: Regions) -> bool:
    """True when the other side left this definition alone."""
    return key in before and key in other and before[key].tokens == other[key].tokens
