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
from itertools import pairwise
from typing import Any, Final

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
    parts = [_plain(part) for part in _parts(scenario_text)]
    found: set[Copied] = set()
    for source in sources:
        text = _plain(source.text)
        first: dict[tuple[Kind, str], int] = {}
        for look in (_runs, _emails, _phones, _cards, _names):
            for kind, shared, at in look(parts, text):
                first.setdefault((kind, shared), at)
        found |= {Copied(source.name, text.count("\n", 0, at) + 1, *what) for what, at in first.items()}
    return sorted(found)


Found = Iterator[tuple[Kind, str, int]]
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
                yield Kind.WORDS, " ".join(run), known[tuple(run[:RUN])]


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


_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def _emails(parts: Sequence[str], source: str) -> Found:
    held = {found[0].casefold() for part in parts for found in _EMAIL.finditer(part)}
    for found in _EMAIL.finditer(source):
        if found[0].casefold() in held:
            yield Kind.EMAIL, found[0].casefold(), found.start()


_NUMBER = re.compile(r"(?<![\w\-./])[+(]{0,2}\d(?:[ ().\-/]{0,3}\d){6,22}(?!\w)")
_CALLED = re.compile(r"(?:phone|tel|call|called|mobile|cell|fax|sms|whatsapp)\W{1,6}\Z", re.IGNORECASE)
# Dates, numbers that begin with a year, times, and addresses on the network: no phones.
_NO_PHONE = re.compile(
    r"(?<![\w+)-])(?:(?:19|20)\d\d[-/.]\d+(?:[-/.]\d+)?|\d{1,3}(?:\.\d{1,3}){3})(?![\w-])|\d\d?:\d\d(?::\d\d)?"
)
_LEAST_PHONE, _MOST_PHONE = 7, 15


def _phones(parts: Sequence[str], source: str) -> Found:
    """Found by any seven digits in a row: a number is written with and without its country."""
    held = {seven for part in parts for number in _NUMBER.finditer(part) for seven in _sevens(_digits(number[0]))}
    text = _NO_PHONE.sub(lambda found: "x" * len(found[0]), source)
    for number in _NUMBER.finditer(text):
        digits = _digits(number[0])
        looks = not number[0].isdigit() or _CALLED.search(text[max(0, number.start() - 20) : number.start()])
        if looks and len(digits) <= _MOST_PHONE and held & set(_sevens(digits)):
            yield Kind.PHONE, number[0].strip(), number.start()


def _sevens(digits: str) -> list[str]:
    return [digits[at : at + _LEAST_PHONE] for at in range(len(digits) - _LEAST_PHONE + 1)]


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _cards(parts: Sequence[str], source: str) -> Found:
    held = {digits for part in parts for digits, _ in _card_numbers(part)}
    for digits, at in _card_numbers(source):
        if digits in held:
            yield Kind.CARD, digits, at


_CARD = re.compile(r"(?<!\d)\d+(?:[ -]\d+)*")
_LEAST_CARD, _MOST_CARD = 13, 19


def _card_numbers(text: str) -> Iterator[tuple[str, int]]:
    """Whole groups of digits, 13 to 19 together, whose check digit is right."""
    for row in _CARD.finditer(text):
        groups = [(group[0], row.start() + group.start()) for group in re.finditer(r"\d+", row[0])]
        for first, (_, at) in enumerate(groups):
            digits = ""
            for group, _ in groups[first : first + _MOST_CARD]:
                digits += group
                if len(digits) > _MOST_CARD:
                    break
                if len(digits) >= _LEAST_CARD and is_card(digits):
                    yield digits, at


def is_card(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (Luhn), and the first one of those that cards have."""
    doubled = (sum(divmod(2 * int(one), 10)) for one in digits[-2::-2])
    return digits[0] in "23456" and (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


_NAME_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_BETWEEN = re.compile(r"\s+(?:(?:[^\W\d_]\.?|de|del|la|van|von|der|den|di|da|bin|al)\s+){0,3}|\s*-\s*")
_START = re.compile(r"(?:\A|[.!?#]|\n[^\S\n]*\n|[\"\u201c\u201d\u2018])[\s\"'\u201c\u201d\u2018*_>(-]*\Z")
_NO_NAME = re.compile(
    r"(?:an?|and|but|if|or|the|its?|he|she|we|they|you|this|that|these|those|my|our|your|in|on|at|to|of|for|from|with|"
    r"when|while|after|before|then|there|here|please|yes|no|not)\Z",
    re.IGNORECASE,
)


def _names(parts: Sequence[str], source: str) -> Found:
    """Capitalised pairs. One that begins a sentence may be none: it has to be capitalised in the scenario too."""
    adjacent: set[tuple[str, str]] = set()
    capitals: set[tuple[str, str]] = set()
    alone: set[str] = set()
    for part in parts:
        words = [found[0] for found in _NAME_WORD.finditer(part)]
        folded = [word.casefold() for word in words]
        adjacent |= set(pairwise(folded))
        capitals |= {pair for pair, _ in _pairs(part)}
        alone |= {word.casefold() for word in words if _capitalised(word)}
    for pair, at in _pairs(source):
        sure = not _START.search(source[max(0, at - 40) : at])
        if pair in capitals or (sure and (pair in adjacent or alone.issuperset(pair))):
            yield Kind.NAME, " ".join(word.capitalize() for word in pair), at


def _pairs(text: str) -> Iterator[tuple[tuple[str, str], int]]:
    """Two capitalised words in a row, case-folded, initials and particles between them left out."""
    before: re.Match[str] | None = None
    for word in _NAME_WORD.finditer(text):
        if not _capitalised(word[0]):
            continue
        if before is not None and word.start() - before.end() <= 24:
            gap = text[before.end() : word.start()]
            if gap.count("\n") <= 1 and _BETWEEN.fullmatch(gap):
                yield (before[0].casefold(), word[0].casefold()), before.start()
        before = word


def _capitalised(word: str) -> bool:
    return word[0].isupper() and any(map(str.islower, word)) and not _NO_NAME.match(word)
