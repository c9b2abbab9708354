"""Reading a judge's reply, strictly: what is not exactly what was asked for is refused with a reason, never mended.

Reasons name places and types but repeat nothing of the reply: they are said to the judge again, outside the delimiters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crucible.judging.blinding import visible
from crucible.judging.types import TOP_SCORE, ParsedReply

KEYS = ("evidence", "reasoning", "score")
MOST_WORDS = 80
SHORTEST_QUOTE = 3
"""Characters a quote must have beside its blanks."""
CUT_OFF = "the reply was cut off at its length limit"
"""The reason a reply is refused whose finish reason is `length`: a number in it may lack its end."""

_FENCE = re.compile(r"\s*```json[ \t]*\n(?P<body>.*)\n[ \t]*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refused:
    """A reply that cannot count, and why."""

    reason: str


class _RefusedError(ValueError):
    """Ends the reading of a reply."""


def parse(raw: str, finish_reason: str | None, shown: Sequence[str]) -> ParsedReply | Refused:
    """The reply, if it is complete, has the three keys and no other, and quotes only from the `shown` texts."""
    if finish_reason == "length":
        return Refused(CUT_OFF)
    try:
        reply = read(raw)
        _check_quotes(reply.evidence, shown)
    except _RefusedError as refusal:
        return Refused(str(refusal))
    return reply


def read(raw: str) -> ParsedReply:
    """The three fields of a reply, without asking where its quotes come from. Raises ValueError with the reason."""
    fenced = _FENCE.fullmatch(raw)
    data = _load(fenced["body"] if fenced else raw)
    if not isinstance(data, dict):
        raise _RefusedError("the reply must be one JSON object")
    if set(data) != set(KEYS):
        raise _RefusedError(f"the keys must be exactly {', '.join(KEYS)}")
    return ParsedReply(_quotes(data["evidence"]), _reasoning(data["reasoning"]), _score(data["score"]))


def normalised(text: str) -> str:
    """A text for comparison: compatible characters folded (NFKC), every run of blanks one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _load(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except _RefusedError:
        raise
    except json.JSONDecodeError as error:
        raise _RefusedError(f"the reply must be one JSON object and nothing else ({error.msg})") from None
    except (ValueError, RecursionError):
        raise _RefusedError("the reply holds a number too long or nesting too deep to be read") from None


def _no_constant(name: str) -> Any:
    raise _RefusedError(f"{name} is not a JSON number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise _RefusedError("a key stands twice in one object")
    return dict(pairs)


def _score(value: Any) -> int:
    if type(value) is not int:
        raise _RefusedError(f"score must be a JSON integer, got {_kind(value)}")
    if not 0 <= value <= TOP_SCORE:
        raise _RefusedError(f"score must be from 0 to {TOP_SCORE}")
    return value


def _reasoning(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _RefusedError("reasoning must be a text that is not empty")
    words = len(value.split())
    if words > MOST_WORDS:
        raise _RefusedError(f"reasoning must have at most {MOST_WORDS} words, got {words}")
    return visible(value)


def _quotes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _RefusedError("evidence must be a list with at least one quote")
    for number, quote in enumerate(value, start=1):
        if not isinstance(quote, str) or len("".join(normalised(quote).split())) < SHORTEST_QUOTE:
            raise _RefusedError(f"quote {number} must be a text of at least {SHORTEST_QUOTE} characters beside blanks")
    return tuple(value)


def _check_quotes(quotes: Sequence[str], shown: Sequence[str]) -> None:
    texts = [normalised(text) for text in shown]
    for number, quote in enumerate(quotes, start=1):
        if not any(normalised(quote) in text for text in texts):
            raise _RefusedError(f"quote {number} does not stand in the evidence")


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", float: "a number with a fraction or exponent", str: "a text", type(None): "null"}
    return kinds.get(type(value), "something else")
