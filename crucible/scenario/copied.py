"""What a frozen failure holds that was copied from a report or a transcript. Ids may be copied, nothing else.

Shared runs of words, e-mail addresses, phone and card numbers, and what looks like a person's name. Everything is looked
for in single texts of the scenario (its keys and values), so that a shape that two files share is no copy.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from crucible.scenario.personal import Found, cards, emails, names, phones

RUN: Final = 5
"""So many words in a row, the same in both and ids left out, are a copy."""


class Kind(StrEnum):
    """What was copied."""

    WORDS = "words in a row"
    EMAIL = "e-mail address"
    PHONE = "phone number"
    CARD = "card number"
    NAME = "personal name"


@dataclass(frozen=True, slots=True)
class Source:
    """A text nothing may be copied from, and what it is called in messages."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Copied:
    """One thing that is in the scenario and in a source, there first in that line (from 1). `text` is as compared."""

    source: str
    line: int
    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.kind.value} copied: {self.text!r}"


def copied(scenario_text: str, sources: Iterable[Source]) -> list[Copied]:
    """All that was copied, by source and line. A scenario that is not JSON is taken paragraph by paragraph."""
    looks = {Kind.WORDS: _runs, Kind.EMAIL: emails, Kind.PHONE: phones, Kind.CARD: cards, Kind.NAME: names}
    parts = [_plain(part) for part in _parts(scenario_text)]
    found: set[Copied] = set()
    for source in sources:
        text = _plain(source.text)
        first: dict[tuple[Kind, str], int] = {}
        for kind, look in looks.items():
            for shared, at in look(parts, text):
                first.setdefault((kind, shared), at)
        found |= {Copied(source.name, text.count("\n", 0, at) + 1, *what) for what, at in first.items()}
    return sorted(found)


_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([\"/bfnrt]))")


def _parts(scenario: str) -> list[str]:
    try:
        return list(_leaves(json.loads(scenario)))
    except (ValueError, RecursionError):
        return re.split(r"\n[^\S\n]*\n", scenario)


def _leaves(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        else:
            yield str(one)


def _plain(text: str) -> str:
    """A text as it is read: without the escapes of JSON, however deep, and in one form of Unicode. Lines stay lines."""
    unescaped = _ESCAPED.sub(lambda found: _unescaped(found[1], found[2]), text)
    return unicodedata.normalize("NFKC", unescaped)


def _unescaped(code: str | None, letter: str) -> str:
    char = chr(int(code, 16)) if code else letter if letter in '"/' else " "
    return " " if char.isspace() else char


_TOKEN = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
# Scripts that put no spaces between words (kana, Han, Thai, Lao, Khmer): a character is taken for half a word.
_UNSPACED = r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
_PIECE = re.compile(rf"{_UNSPACED}|(?:(?!{_UNSPACED})[^\W_])+")


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Words, case-folded, and where they are. Ids, which hold a digit or an underscore, are left out."""
    for token in _TOKEN.finditer(text):
        if "_" not in token[0] and not any(char.isdigit() for char in token[0]):
            for piece in _PIECE.finditer(token[0]):
                yield piece[0].casefold(), token.start() + piece.start()


def _runs(parts: Sequence[str], source: str) -> Found:
    held = [[word for word, _ in _words(part)] for part in parts]
    known = _first_places({run for words in held for run in _windows(words)}, source)
    for words in held:
        begins = [at for at, run in enumerate(_windows(words)) if run in known]
        for first, last in _stretches(begins):
            run = words[first : last + RUN]
            if sum(0.5 if re.match(_UNSPACED, word) else 1 for word in run) >= RUN:
                yield " ".join(run), known[tuple(run[:RUN])]


def _windows(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def _first_places(wanted: set[tuple[str, ...]], source: str) -> dict[tuple[str, ...], int]:
    """Where each wanted run begins first in a source: the source may be long, the scenario is short."""
    found: dict[tuple[str, ...], int] = {}
    last: deque[tuple[str, int]] = deque(maxlen=RUN)
    for word in _words(source) if wanted else ():
        last.append(word)
        run = tuple(one for one, _ in last)
        if run in wanted:
            found.setdefault(run, last[0][1])
    return found


def _stretches(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each stretch of numbers whose runs touch."""
    first: int | None = None
    for at, number in enumerate(numbers):
        first = number if first is None else first
        if at + 1 == len(numbers) or numbers[at + 1] > number + RUN:
            yield first, number
            first = None
