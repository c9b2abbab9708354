"""What an answer claims to have done, read from its plain sentences.

Taken for a claim: an identifier in one phrase with the past participle of the tool's verb ("Archived T-481", "T-490 has
been archived"), in the list of such a phrase ("T-481, T-490 and T-500"), or below it as a heading. Not taken for one: a
phrase that denies, plans or excepts ("could not be archived", "except T-502"), and an identifier after a preposition
("archived duplicates of T-7"). When in doubt it is not a claim.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crucible.scoring.trajectory.identifiers import blanked, positions

_SENTENCE = re.compile(r"[.!?;](?=\s|$)|\n")
_PHRASE = re.compile(r",|\||\b(?:and|or|but|while|whereas|then)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_SAYS = re.compile(r"\w")
_BULLET = re.compile(r"\s*(?:[-*\u2022\u2013]|\d+[.)])\s+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DENIED = _words(
    "not no never none cannot nothing neither failed fails failing unable except excluding without skipped left kept "
    "already will would should could can may might must need needs be if unless instead rather locked error remains "
    "remain still open pending ignored attempted tried trying refused denied only otherwise "
    "found listed previously existing earlier"
)
_BEFORE_ANOTHER_OBJECT = _words("of from in for to on at by under with into via per after before since as than")
_NEUTRAL = _words("the both all ticket tickets item items id ids also plus as well respectively")
_IRREGULAR = {
    "send": "sent", "write": "written", "make": "made", "build": "built", "buy": "bought", "pay": "paid", "sell": "sold",
    "set": "set", "put": "put", "cut": "cut", "read": "read", "find": "found", "get": "got", "give": "given", "take": "taken",
    "undo": "undone", "do": "done", "hold": "held", "withdraw": "withdrawn", "freeze": "frozen", "reset": "reset",
}  # fmt: skip
NEAR = 12
"""Characters before a name in which a preposition belongs to it, where the verb comes later."""


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A piece of a sentence: what it names, whether it claims, and whether it is nothing but names."""

    names: list[str]
    claims: bool
    denies: bool
    bare: bool


def claimed(answer: str, tools: Iterable[str]) -> list[str]:
    """The identifiers that the answer claims were dealt with by one of the tools, in order and each once."""
    done = {form for tool in tools for form in participles(tool)}
    found: dict[str, None] = {}
    heading = False
    for sentence in _SENTENCE.split(answer):
        bullet = _BULLET.match(sentence)
        text = sentence[bullet.end() :] if bullet else sentence
        phrases = [_phrase(part, done) for part in _PHRASE.split(text) if _SAYS.search(part)]
        if text.strip().endswith(":"):
            heading = any(phrase.claims for phrase in phrases) and not any(phrase.denies for phrase in phrases)
        elif text.strip() and not bullet:
            heading = False
        found |= dict.fromkeys(_claimed_by(phrases, below_heading=bool(bullet) and heading))
    return list(found)


def _claimed_by(phrases: list[_Phrase], *, below_heading: bool) -> Iterator[str]:
    """Bare names go with the phrase before them, at the start of a sentence with the one after them."""
    waiting: list[str] = []
    claims: bool | None = True if below_heading else None
    for phrase in phrases:
        if phrase.bare and claims is None:
            waiting += phrase.names
            continue
        if not phrase.bare:
            claims = phrase.claims or (below_heading and not phrase.denies)
        if claims:
            yield from waiting
            yield from phrase.names
        waiting = []


def _phrase(text: str, done: set[str]) -> _Phrase:
    places, words = positions(text), _words_of(blanked(text))
    denies = any(word in _DENIED or word.endswith(("n't", "n\u2019t")) for _, word in words)
    verb = next((at for at, word in words if word in done), None)
    bare = bool(places) and all(word in _NEUTRAL for _, word in words)
    return _Phrase(_objects(places, words, verb), verb is not None and not denies, denies, bare)


def _words_of(text: str) -> list[tuple[int, str]]:
    return [(word.start(), word.group().lower()) for word in _WORD.finditer(text)]


def _objects(places: list[tuple[int, str]], words: list[tuple[int, str]], verb: int | None) -> list[str]:
    """The names the verb is about: no preposition leads to them, from the verb or just before them."""
    turns = [at for at, word in words if word in _BEFORE_ANOTHER_OBJECT]
    after_verb = next((at for at in turns if verb is not None and at > verb), None)
    objects = []
    for at, name in places:
        if verb is not None and verb < at:
            about = after_verb is None or at < after_verb
        else:
            before = bisect_left(turns, at)
            about = before == 0 or at - turns[before - 1] >= NEAR
        objects += [name] if about else []
    return objects


def participles(tool: str) -> set[str]:
    """The past participles of the words of a tool's name: `archive_ticket` gives archived (and ticketed, which is harmless)."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", tool)
    return {form for word in words for form in _forms(word.lower())}


def _forms(verb: str) -> set[str]:
    if verb in _IRREGULAR:
        return {_IRREGULAR[verb]}
    if verb.endswith("e"):
        return {f"{verb}d"}
    if re.search(r"[^aeiou]y$", verb):
        return {f"{verb[:-1]}ied"}
    doubled = {f"{verb}{verb[-1]}ed"} if re.search(r"[^aeiou][aeiou][^aeiouwxy]$", verb) else set()
    return {f"{verb}ed"} | doubled
