"""Which paths nothing may write: from policies and `protected`, as a predicate and as mount points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from crucible.policy.paths import normalise, path_matches
from crucible.policy.rules import guards_path, holds
from crucible.scenario.schema import Matcher, Scenario

_ANY_NAME = "\x00any"
"""A file name no fixture has: what a rule says of it, it says of every new file in that folder."""


@dataclass(frozen=True)
class Protection:
    """The paths of one scenario that nothing may write. Rules that only warn protect nothing."""

    guards: tuple[tuple[str, Matcher], ...]
    globs: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Protection:
        """What a scenario's policies and its `protected` list protect."""
        guards = tuple(
            (policy.id, matcher)
            for policy in scenario.policies
            if policy.enforcement != "warn"
            for matcher in policy.matchers
            if guards_path(matcher)
        )
        return cls(guards, scenario.protected)

    def by(self, path: str) -> str | None:
        """Id of the policy that protects a workspace path (`protected` for the list), or None."""
        if (clean := normalise(path)) is None:
            return None
        found = (policy_id for policy_id, matcher in self.guards if holds(matcher, clean))
        listed = ("protected" for glob in self.globs if _listed(glob, clean))
        return next(found, None) or next(listed, None)

    def mounts(self, files: Sequence[str]) -> tuple[str, ...]:
        """Fewest existing paths that cover every protected file: a folder where a new file in it would be protected too."""
        tree = _Folder()
        for path in files:
            tree.add(path.split("/"), self.by(path) is not None)
        return tuple(sorted(tree.cover("", self)))


def _listed(glob: str, path: str) -> bool:
    return path_matches("glob", glob, path) or path_matches("starts_with", glob.removesuffix("/**"), path)


class _Folder:
    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}
        self.files: dict[str, bool] = {}

    def add(self, parts: Sequence[str], protected: bool) -> None:
        if len(parts) == 1:
            self.files[parts[0]] = protected
        else:
            self.folders.setdefault(parts[0], _Folder()).add(parts[1:], protected)

    @cached_property
    def whole(self) -> bool:
        return all(self.files.values()) and all(folder.whole for folder in self.folders.values())

    def cover(self, path: str, protection: Protection) -> Iterable[str]:
        prefix = f"{path}/" if path else ""
        if path and self.whole and protection.by(prefix + _ANY_NAME):
            yield path
            return
        yield from (prefix + name for name, protected in self.files.items() if protected)
        for name, folder in self.folders.items():
            yield from folder.cover(prefix + name, protection)
