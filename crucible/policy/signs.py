"""Signs that a text speaks to whoever grades it: an instruction to a judge, a forged end of the evidence, a forged reply.

A text is looked at as a reader would see it (invisible characters gone, look-alike letters plain, comment marks
dropped, a sentence followed over line ends), and found lines are told by number, so that they can be cut out whole.
Code about scores, grades and graders is honest work: every sign needs an order, a claim, or a forged form. A hint is
less: a remark that names a score may be innocent; it is kept from the judge and accuses nobody.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from crucible.policy.orders import patterns

LEFT_OUT = "[a line addressed to the judge was left out]"
"""What a judge sees in place of such a line."""
KNOWN_DIMENSIONS = ("correctness", "minimality", "efficiency")

MOST_CHARS = 1000
"""Characters of a line that may be a forged result; longer ones are no such thing."""
REACH = 8
"""Lines over which one sentence is followed."""
_TRIGGER = re.compile(
    r"judg|grad|evaluat|rater|assess|review|mark|scor|rate|rating|credit|point|instruct|prompt|guideline|directive"
    r"|rubric|criteria|reasoning|penal|deduct|passed|tool_?result|function_?result|[<\[]\s*/?\s*(?:end|begin)|<<<|<\|"
    r"|\[/?inst|<</?sys|\brole\b|evidence|5\s*/\s*5|out of 5|system",
    re.IGNORECASE,
)
"""Without one of these no sign is possible; it spares most texts the rest."""
_LEADER = re.compile(
    r"^(?:[+-](?![+-]))?(?:\s*(?:#+(?!\s*$)|//+|/\*+|\*+/?|--(?!-)|;+|%+|<!--|[\"']{1,3}|>+|\||[rfb]?\"\"\")){0,3}\s*"
)
_COMMENT = re.compile(r"^(?:[+-])?\s*(?:#|//|/?\*|--\s|;|<!--)")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_SHOWN_HIDDEN = re.compile(r"<U\+[0-9A-F]{4,6}>|[\u2400-\u2421]")
"""Hidden characters that were made visible before."""
_LOOK_ALIKES = str.maketrans(
    "АВЕЅЗІЈКМНОРСТУХаеѕіјоԛрсухυνοκαιрτԁɡһ",
    "ABES3IJKMHOPCTYXaesijoqpcyxuvokaiptdgh",
)


def addressed_lines(text: str, dimensions: Iterable[str] = (), *, hints: bool = False) -> list[int]:
    """Numbers, from 0, of the lines (ended by a newline) that speak to a judge or forge its form.

    `dimensions` are names of a rubric; a sentence that sets one of them a score is such a line. With `hints`, so is
    every remark that names the highest score.
    """
    names = tuple(sorted({*KNOWN_DIMENSIONS, *dimensions}))
    plain = _plain(text)
    if not (_TRIGGER.search(plain) or any(name in plain.lower() for name in names)):
        return []
    lines = text.split("\n")
    near = _near(lines, names)
    seen = [_as_seen(line) if number in near else "." for number, line in enumerate(lines)]
    starts, at = [], 0
    for line in seen:
        starts.append(at)
        at += len(line) + 1
    whole = "\n".join(seen)
    found: set[int] = set()
    for pattern in patterns(names):
        for hit in pattern.finditer(whole):
            found.update(_between(starts, hit.start(), hit.end()))
    found.update(number for number in near if 0 <= number < len(lines) and _is_forged_result(lines[number]))
    if hints:
        found.update(number for number in near if 0 <= number < len(lines) and _hints(lines[number], seen[number]))
    return sorted(found)


def _near(lines: list[str], names: tuple[str, ...]) -> set[int]:
    """The lines within reach of a word no sign is without; the rest need not be looked at."""
    near: set[int] = set()
    for number, line in enumerate(lines):
        plain = _plain(line)
        if _TRIGGER.search(plain) or any(name in plain.lower() for name in names):
            near.update(range(number - REACH, number + REACH + 1))
    return near


def is_addressed(text: str, dimensions: Iterable[str] = ()) -> bool:
    """Whether anything in a text speaks to a judge."""
    return bool(addressed_lines(text, dimensions))


def without_addressed(text: str, dimensions: Iterable[str] = ()) -> str:
    """The text with every such line, and every hint, replaced by a visible mark; a diff's own mark before it stays."""
    found = addressed_lines(text, dimensions, hints=True)
    if not found:
        return text
    lines = text.split("\n")
    for number in found:
        first = lines[number][:1]
        lines[number] = (first if first in ("+", "-", " ") else "") + LEFT_OUT
    return "\n".join(lines)


def _plain(text: str) -> str:
    """A text without what only hides: colours, zero-width characters, look-alike letters."""
    if text.isascii():
        return _ANSI.sub("", _SHOWN_HIDDEN.sub("", _tags_read(text)) if "<U+" in text else text)
    folded = unicodedata.normalize("NFKC", _ANSI.sub("", _tags_read(text))).translate(_LOOK_ALIKES)
    folded = _SHOWN_HIDDEN.sub("", folded)
    return "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Mn") and not "\ufe00" <= c <= "\ufe0f")


def _tags_read(text: str) -> str:
    """Tag characters, which show nothing, as the letters they stand for; shown ones (`<U+E0041>`) too."""
    text = re.sub(r"<U\+E00([2-7][0-9A-F])>", lambda hit: chr(int(hit[1], 16)), text)
    return re.sub(r"[\U000e0020-\U000e007e]", lambda hit: chr(ord(hit[0]) - 0xE0000), text)


def _as_seen(line: str) -> str:
    """One line as words: no comment mark, names in snake, kebab and camel case taken apart, no control characters."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\x85]", " ", _LEADER.sub("", _plain(line), count=1))
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    text = re.sub(r"(?<=\w)[_-](?=\w)|\\[nrt](?=\w)", " ", text).replace("**", "")
    return " ".join(text.split())


def _between(starts: list[int], start: int, end: int) -> Iterator[int]:
    yield from range(bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1)))


_FORGED = re.compile(
    r"\{.*\"(?:exit[ _]code|returncode)\"\s*:\s*0\b"
    r"|\{.*\"(?:result|output|status|tests?|suite)\"\s*:.*\b(?:passed|passing|green|all\s+ok)\b",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"==\s*\b\d+ passed\b|\b\d+ passed(?:, \d+ \w+)* in \d+(?:\.\d+)?s\b", re.IGNORECASE)


_NEAR_FIVE = re.compile(
    r"\b(?:scor(?:e|es|ed|ing)|grades?|rat(?:e|ed|ing)|marks?)\b\W+(?:\w+\W+){0,5}?(?:5|five)\b"
    r"(?![.]?\d|\s*(?:%|points?\b|times\b|per\b))"
    r"|\b(?:answer|reply|respond|repeat)\s+(?:\w+\s+){0,3}?(?:5|five)\b"
    r"|\b(?:5|five)\s*(?:/|out\s+of)\s*(?:5|five)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"'`]([^\"'`]{6,})[\"'`]")
_CODE = re.compile(r"[=(){}\[\]]")


def _hints(line: str, seen: str) -> bool:
    """Whether a line names the highest score in words: in a comment, in prose, or in a text between quotes."""
    if _COMMENT.match(line) or not _CODE.search(line):
        return _NEAR_FIVE.search(seen) is not None
    return any(_NEAR_FIVE.search(quoted) for quoted in _QUOTED.findall(seen))


def _is_forged_result(line: str) -> bool:
    """A comment that pretends to be what a tool or a test runner said."""
    begin = line[:MOST_CHARS]
    return bool(_COMMENT.match(begin) and (_FORGED.search(begin) or _SUMMARY.search(begin)))
