"""What leads to a person: e-mail addresses, phone and card numbers, and two capitalised words in a row.

Each of the looks here takes the texts of a scenario and a source, and yields what stands in both, and where in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

Found = Iterator[tuple[str, int]]
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def emails(parts: Sequence[str], source: str) -> Found:
    """E-mail addresses, in any case of letters."""
    held = {found[0].casefold() for part in parts for found in _EMAIL.finditer(part)}
    for found in _EMAIL.finditer(source):
        if found[0].casefold() in held:
            yield found[0].casefold(), found.start()


_NUMBER = re.compile(r"(?<![\w\-./])[+(]{0,2}\d(?:[ ().\-/]{0,3}\d){6,22}(?!\w)")
_CALLED = re.compile(r"(?:phone|tel|call|called|mobile|cell|fax|sms|whatsapp)\W{1,6}\Z", re.IGNORECASE)
# Dates, numbers that begin with a year, times, and addresses on the network: no phones.
_NO_PHONE = re.compile(
    r"(?<![\w+)-])(?:(?:19|20)\d\d[-/.]\d+(?:[-/.]\d+)?|\d{1,3}(?:\.\d{1,3}){3})(?![\w-])|\d\d?:\d\d(?::\d\d)?"
)
_LEAST_PHONE, _MOST_PHONE = 7, 15


def phones(parts: Sequence[str], source: str) -> Found:
    """Found by any seven digits in a row: a number is written with and without its country."""
    held = {seven for part in parts for number in _NUMBER.finditer(part) for seven in _sevens(_digits(number[0]))}
    text = _NO_PHONE.sub(lambda found: "x" * len(found[0]), source)
    for number in _NUMBER.finditer(text):
        digits = _digits(number[0])
        looks = not number[0].isdigit() or _CALLED.search(text[max(0, number.start() - 20) : number.start()])
        if looks and len(digits) <= _MOST_PHONE and held & set(_sevens(digits)):
            yield number[0].strip(), number.start()


def _sevens(digits: str) -> list[str]:
    return [digits[at : at + _LEAST_PHONE] for at in range(len(digits) - _LEAST_PHONE + 1)]


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def cards(parts: Sequence[str], source: str) -> Found:
    """Card numbers, in groups of any size."""
    held = {digits for part in parts for digits, _ in _card_numbers(part)}
    for digits, at in _card_numbers(source):
        if digits in held:
            yield digits, at


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


def names(parts: Sequence[str], source: str) -> Found:
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
            yield " ".join(word.capitalize() for word in pair), at


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
