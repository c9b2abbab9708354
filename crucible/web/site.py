"""What every page is given, and what a page is: a path, a function that says what is on it, a template that draws it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crucible.errors import UsageError
from crucible.settings import Settings
from crucible.store.writes import Store
from crucible.web.desk import Desk

Data = dict[str, Any]
"""What a page says; also its JSON. Dataclasses in it are written as objects."""
LARGEST_ID = 2**63 - 1


class NotFound(UsageError):  # noqa: N818 - what it says is the status, as HTTP has it
    """There is nothing at this address."""


def no_run(run_id: int) -> NotFound:
    """There is no such run."""
    return NotFound(f"there is no run {run_id} in this store", hint="the runs that are stored are listed under Runs")


@dataclass(frozen=True)
class Site:
    """One store, seen through a browser. `token` is new with every start: forms that change something carry it."""

    store: Store
    bench: Path
    settings: Settings
    read_only: bool = True
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    desk: Desk = field(default_factory=Desk, repr=False)


@dataclass(frozen=True)
class Ask:
    """What was asked for: the variable parts of the path, and the query string, of which the last value of a name counts."""

    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, what: str) -> int:
        """A number in the path. Raises NotFound: a thing with another name does not exist."""
        text = self.params[name]
        if not (text.isascii() and text.isdigit()) or int(text) > LARGEST_ID:
            raise NotFound(f"there is no {what} {text[:40]!r} in this store", hint="numbers are listed under Runs")
        return int(text)

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        """One of the known values, else the first: an old or mistyped link still opens the page."""
        said = self.query.get(name, "")
        return said if said in known else known[0]

    def rising(self, column: str, falling: Collection[str]) -> bool:
        """Whether a table sorted by `column` begins with its lowest: as `dir` says, else unless it is one of `falling`."""
        said = self.query.get("dir")
        return said == "up" if said in ("up", "down") else column not in falling

    def count(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 to `most` in the query string; anything else is the default."""
        said = self.query.get(name, "")
        whole = said.isascii() and said.isdigit() and len(said) < len(str(LARGEST_ID))
        return min(int(said), most) if whole and int(said) >= 1 else default


@dataclass(frozen=True)
class Page:
    """`path` as FastAPI writes it; `says` gives the data; `template` is a file of templates/."""

    path: str
    template: str
    says: Callable[[Site, Ask], Data]

    @property
    def json_path(self) -> str:
        """Where the same is read as JSON."""
        return "/index.json" if self.path == "/" else f"{self.path}.json"
