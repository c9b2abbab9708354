"""What a person who scores has before them: tickets in place of attempts, so that no page and no address names one.

It is lost with the process, and nothing with it: every score is saved at once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from crucible.store.labels import JudgedScore

MOST_OPEN = 1_000
Key = tuple[str, int | None, str | None]
"""Who scores, of which run, which dimension."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One score that somebody was asked for, since `began` on the monotonic clock."""

    number: str
    key: Key
    score: JudgedScore
    began: float = field(default_factory=monotonic)

    @property
    def seconds(self) -> float:
        """How long it has been looked at."""
        return round(monotonic() - self.began, 1)


@dataclass
class Desk:
    """Open tickets, and the labels given since the start: one can be taken back until it was revealed what it was of."""

    _open: dict[str, Ticket] = field(default_factory=dict)
    _given: dict[int, str] = field(default_factory=dict)
    _revealed: set[int] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def hand(self, key: Key, pick: Callable[[], JudgedScore | None]) -> Ticket | None:
        """The ticket that is open for somebody, so that a page loaded again asks the same; else a new one, if any is left."""
        with self._lock:
            open_one = next((ticket for ticket in self._open.values() if ticket.key == key), None)
            if open_one is not None or (score := pick()) is None:
                return open_one
            while len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            ticket = Ticket(secrets.token_urlsafe(12), key, score)
            self._open[ticket.number] = ticket
            return ticket

    def take(self, number: str, labeller: str) -> Ticket | None:
        """The ticket, once; None when it was taken, was another's, or is of an earlier start."""
        with self._lock:
            ticket = self._open.get(number)
            if ticket is None or ticket.key[0] != labeller:
                return None
            return self._open.pop(number)

    def given(self, label: int, labeller: str) -> None:
        """Somebody's label was saved."""
        with self._lock:
            self._given[label] = labeller

    def reveal(self, label: int, labeller: str) -> bool:
        """Let somebody see what their own label was of; it stands from now on."""
        with self._lock:
            mine = self._given.get(label) == labeller
            if mine:
                self._revealed.add(label)
            return mine

    def revealed(self, label: int) -> bool:
        """Whether it may be shown what a label was of."""
        with self._lock:
            return label in self._revealed

    def take_back(self, label: int, labeller: str) -> bool:
        """Whether somebody may take a label back; it is forgotten here then."""
        with self._lock:
            if self._given.get(label) != labeller or label in self._revealed:
                return False
            del self._given[label]
            return True

    def standing(self, label: int) -> bool:
        """Whether a label was given since the start, and not taken back."""
        with self._lock:
            return label in self._given
