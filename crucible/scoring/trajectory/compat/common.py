"""What the compatibility modes share: their error and their result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crucible.transcript.neutral import NeutralCall


class CompatibilityError(ValueError):
    """The library would have raised here. `name` is the name of its error class."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


@dataclass(frozen=True, slots=True)
class Scored:
    """A library's result: `score` as it gives it, None when it gives none; `passed` and `reason` where it has them.

    `parts` are the scores it is made of: of each turn, or of each expected call.
    """

    score: float | None
    passed: bool | None = None
    reason: str | None = None
    status: str | None = None
    parts: tuple[float, ...] = ()


def arguments(call: NeutralCall) -> Mapping[str, Any] | None:
    """The arguments as these libraries see them: None for none, unreadable or unknown ones alike."""
    return call.args if isinstance(call.args, Mapping) else None


def counted(items: Iterable[Any], same: Callable[[Any], bool]) -> int:
    """How many items satisfy a condition."""
    return sum(1 for item in items if same(item))
